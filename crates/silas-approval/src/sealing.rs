//! Sealing: XChaCha20-Poly1305 under a key of 32 bytes, and a passphrase stretched into such a key with argon2id.
//!
//! What is sealed is bound to what it is by associated data, so that one sealed thing cannot pass for another.
//! Deliberately absent: where keys come from and where sealed bytes lie.

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use silas_core::secret::Secret;
use std::fmt;
use zeroize::Zeroizing;

pub const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
const SALT_BYTES: usize = 16;

/// A key that seals. It prints as `[secret]` and is wiped when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey(Zeroizing<[u8; KEY_BYTES]>);

impl SealKey {
    pub(crate) fn random() -> Self {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        fill(bytes.as_mut());
        SealKey(bytes)
    }

    /// `None` if it is not of the length of a key.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        Some(SealKey(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// The key itself. Every caller of this is a place to look at.
    pub fn expose(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// A nonce and what it sealed.
    pub(crate) fn seal(&self, about: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        let mut sealed = vec![0; NONCE_BYTES];
        fill(&mut sealed);
        let nonce = XNonce::try_from(sealed.as_slice()).ok()?;
        let cipher = XChaCha20Poly1305::new(&(*self.0).into());
        sealed.extend(cipher.encrypt(&nonce, Payload { msg: plain, aad: about }).ok()?);
        Some(sealed)
    }

    /// `None` if it was sealed with another key or about something else, or is damaged.
    pub(crate) fn open(&self, about: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
        let nonce = XNonce::try_from(nonce).ok()?;
        let cipher = XChaCha20Poly1305::new(&(*self.0).into());
        cipher.decrypt(&nonce, Payload { msg: sealed, aad: about }).ok().map(Zeroizing::new)
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// How a passphrase becomes a key. Kept beside what it opens, so that later versions may ask for more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stretch {
    salt: String,
    memory_kib: u32,
    passes: u32,
}

/// A guess costs this much memory and about a tenth of a second.
const MEMORY_KIB: u32 = 64 << 10;
const PASSES: u32 = 3;
/// A file that asks for more is damaged, or made to keep us busy.
const MEMORY_KIB_MAX: u32 = 1 << 20;
const PASSES_MAX: u32 = 32;

impl Stretch {
    pub(crate) fn new() -> Self {
        let mut salt = [0; SALT_BYTES];
        fill(&mut salt);
        Stretch { salt: STANDARD.encode(salt), memory_kib: MEMORY_KIB, passes: PASSES }
    }

    /// `None` if the numbers cannot be right.
    pub(crate) fn key(&self, passphrase: &Secret) -> Option<SealKey> {
        if self.memory_kib > MEMORY_KIB_MAX || self.passes > PASSES_MAX {
            return None;
        }
        let salt = STANDARD.decode(&self.salt).ok().filter(|salt| salt.len() == SALT_BYTES)?;
        let params = Params::new(self.memory_kib, self.passes, 1, Some(KEY_BYTES)).ok()?;
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_into(passphrase.expose(), &salt, key.as_mut()).ok()?;
        Some(SealKey(key))
    }
}

/// The operating system's generator. A process that cannot get random bytes must not make keys.
pub(crate) fn fill(bytes: &mut [u8]) {
    if getrandom::fill(bytes).is_err() {
        std::process::abort();
    }
}

#[cfg(test)]
mod tests;
