//! Texts beside the chain: how an entry names one. Which event names which is in the catalogue.

use crate::Digest;
use serde::{Deserialize, Serialize};

/// A text kept beside the chain; the entry holds only its salted digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(pub Digest);

/// The salt of a text: enough that equal texts cannot be recognised and short ones cannot be guessed.
pub const SALT_BYTES: usize = 16;

impl Text {
    /// The digest by which an entry names a text. The salt's length is fixed, or its end could pass for the text's
    /// beginning.
    pub fn of(salt: &[u8; SALT_BYTES], text: &str) -> Self {
        Text(Digest::of(&[salt, text.as_bytes()].concat()))
    }

    /// The salt as it is written: hexadecimal digits of exactly its length.
    pub fn read_salt(hex: &str) -> Option<[u8; SALT_BYTES]> {
        if hex.len() != 2 * SALT_BYTES || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut salt = [0u8; SALT_BYTES];
        for (n, byte) in salt.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).ok()?;
        }
        Some(salt)
    }
}
