//! Public keys and signatures. Checking lives here, signing does not: keys belong to the trust kernel and to devices.

use crate::KeyId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// Which rules a signature follows. WebAuthn and ES256 enter with the devices that need them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    Ed25519,
}

/// An Ed25519 public key; base64url without padding on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct PublicKey([u8; 32]);

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    pub alg: Algorithm,
    /// Whose signature this claims to be. The signed body names the key as well; both must agree.
    pub key: KeyId,
    pub sig: SignatureBytes,
}

/// The 64 bytes of an Ed25519 signature; base64url without padding on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct SignatureBytes([u8; 64]);

impl PublicKey {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        PublicKey(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn id(&self) -> KeyId {
        KeyId::of(&self.0)
    }

    /// Strict verification: small-order keys and malleable signatures do not pass.
    pub fn verifies(&self, message: &[u8], signature: &Signature) -> bool {
        let Algorithm::Ed25519 = signature.alg;
        if signature.key != self.id() {
            return false;
        }
        let Ok(key) = ed25519_dalek::VerifyingKey::from_bytes(&self.0) else {
            return false;
        };
        key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(&signature.sig.0)).is_ok()
    }
}

impl Signature {
    pub fn ed25519(key: KeyId, bytes: [u8; 64]) -> Self {
        Signature { alg: Algorithm::Ed25519, key, sig: SignatureBytes(bytes) }
    }
}

fn decode<const N: usize>(text: &str, what: &str) -> Result<[u8; N], String> {
    let bad = || format!("{what} is {N} bytes in base64url without padding");
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    bytes.try_into().map_err(|_| bad())
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> String {
        URL_SAFE_NO_PAD.encode(key.0)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        decode(&text, "a public key").map(PublicKey)
    }
}

impl From<SignatureBytes> for String {
    fn from(sig: SignatureBytes) -> String {
        URL_SAFE_NO_PAD.encode(sig.0)
    }
}

impl TryFrom<String> for SignatureBytes {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        decode(&text, "a signature").map(SignatureBytes)
    }
}

#[cfg(test)]
mod tests;
