//! The access token: what a device shows at the network door besides its signature.

use silas_core::Digest;
use std::fmt;

/// A secret of the owner's configuration. It prints as `[secret]` and is compared by digests, so that a guess learns
/// nothing from the time that it takes.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    pub fn new(token: String) -> Self {
        AccessToken(token)
    }

    pub(crate) fn is(&self, shown: &str) -> bool {
        Digest::of(self.0.as_bytes()) == Digest::of(shown.as_bytes())
    }

    /// For a device that has just been paired, over an encrypted connection, and for nobody else.
    pub(crate) fn hand_over(&self) -> String {
        self.0.clone()
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
