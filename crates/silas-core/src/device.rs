//! Devices of the owner and the certificates by which the root key vouches for them.

use crate::canonical::Digest;
use crate::passkey::Site;
use crate::signature::{Algorithm, PublicKey, Signature, SignatureBytes};
use crate::{InstallationId, KeyId, Timestamp, canonical};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A paired browser; its key never leaves it.
    Browser,
    /// The terminal of the owner's account on this machine.
    Terminal,
    /// A key in an authenticator, which asks for a finger, a face or a PIN each time.
    Passkey,
}

/// What the root key signs about a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateBody {
    pub v: u32,
    pub kind: DeviceKind,
    pub installation: InstallationId,
    /// What the owner calls the device; shown beside decisions taken on it.
    pub name: String,
    pub key: KeyId,
    pub public: PublicKey,
    pub issued_at: Timestamp,
    /// Where a passkey counts; other devices have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    pub body: CertificateBody,
    pub signature: Signature,
}

/// Longest name of a device, in characters.
pub const DEVICE_NAME_CHARS_MAX: usize = 60;

/// Six digits by which a person recognises a key: the page shows them before it is paired, the terminal afterwards.
///
/// Both compute them from the key itself, so another key shows others. They are for eyes: whoever can try a million keys
/// finds one with the same digits, and nothing is decided by them.
pub fn digits(public: &PublicKey, installation: &InstallationId) -> String {
    let text = format!(r#"["v1","device-digits","{installation}","{}"]"#, String::from(*public));
    let hash = Digest::of(text.as_bytes());
    // Six bytes are exact in a browser's numbers too.
    let number = hash.as_bytes().iter().take(6).fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte)) % 1_000_000;
    format!("{:03} {:03}", number / 1000, number % 1000)
}

/// Why something that the root key should have signed does not count. Each names the one thing that did not match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mismatch {
    #[error("its version is not known")]
    Version,
    #[error("it names another key than the one it carries")]
    Key,
    #[error("it was made for another installation")]
    Installation,
    #[error("a newer one is known")]
    Number,
    #[error("it does not follow the one before it")]
    Order,
    #[error("it leads to another root key than the one that holds")]
    Successor,
    #[error("the new key has not signed it")]
    Unaccepted,
    #[error("it was not signed by this installation's root key")]
    Signature,
}

impl Certificate {
    /// Whether the root key vouches for this device at this installation; otherwise what does not fit.
    pub fn check(&self, root: &PublicKey, installation: &InstallationId) -> Result<(), Mismatch> {
        if self.body.v != 1 {
            return Err(Mismatch::Version);
        }
        if self.body.key != self.body.public.id() {
            return Err(Mismatch::Key);
        }
        if self.body.installation != *installation {
            return Err(Mismatch::Installation);
        }
        let message = canonical::text(&self.body).map_err(|_| Mismatch::Signature)?;
        if root.verifies(message.as_bytes(), &self.signature) { Ok(()) } else { Err(Mismatch::Signature) }
    }

    /// Whether this device signed that, by the rules of its kind: a passkey only by an assertion on a page of its site,
    /// everything else never by one. Says nothing about the certificate itself.
    pub fn vouches_for(&self, message: &[u8], signature: &Signature) -> bool {
        let body = &self.body;
        match (body.kind, &body.site, signature.alg, &signature.sig) {
            (DeviceKind::Passkey, Some(site), Algorithm::WebauthnEs256, SignatureBytes::Assertion(assertion)) => {
                signature.key == body.key && assertion.is_about(message, &body.public, &site.rp_id)
            }
            (DeviceKind::Browser | DeviceKind::Terminal, None, ..) => body.public.verifies(message, signature),
            _ => false,
        }
    }

    pub fn verifies(&self, root: &PublicKey, installation: &InstallationId) -> bool {
        self.check(root, installation).is_ok()
    }
}

#[cfg(test)]
mod tests;
