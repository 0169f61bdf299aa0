//! Secrets by reference: the name that a plan, a card and the ledger use, and the value that none of them ever holds.

use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// Secrets that one plan may name.
pub const SECRETS_MAX: usize = 16;
/// Largest value; a key or a certificate chain, not a file.
pub const SECRET_BYTES_MAX: usize = 64 << 10;

const REF_CHARS_MAX: usize = 80;

/// What a secret is called. Says nothing about its value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct SecretRef(String);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{given}` is not the name of a secret: letters, digits, `-`, `_`, `.` and `:`, 80 at most, a letter or digit first"
)]
pub struct BadSecretRef {
    given: String,
}

/// The value of a secret. It prints as `[secret]`, is not serialised by itself and is wiped when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub fn new(value: Vec<u8>) -> Self {
        Secret(Zeroizing::new(value))
    }

    /// The value itself. Every caller of this is a place to look at.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl SecretRef {
    pub fn parse(text: &str) -> Result<Self, BadSecretRef> {
        let fits = text.len() <= REF_CHARS_MAX
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b));
        if fits {
            Ok(SecretRef(text.to_owned()))
        } else {
            Err(BadSecretRef { given: text.chars().filter(|c| !c.is_control()).take(40).collect() })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<SecretRef> for String {
    fn from(reference: SecretRef) -> String {
        reference.0
    }
}

impl TryFrom<String> for SecretRef {
    type Error = BadSecretRef;
    fn try_from(text: String) -> Result<Self, BadSecretRef> {
        SecretRef::parse(&text)
    }
}

#[cfg(test)]
mod tests;
