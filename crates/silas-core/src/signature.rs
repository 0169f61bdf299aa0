//! Public keys and signatures. Checking lives here, signing does not: keys belong to the trust kernel and to devices.
//!
//! Which rules a key follows is part of the key: 32 bytes are Ed25519, 65 are a point of P-256. A passkey's signature is
//! no signature over a message but an [`webauthn::Assertion`] about one; only [`crate::device::Certificate`] reads it,
//! because what it must be about (a site) is in the certificate.

pub mod webauthn;

use crate::KeyId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Verifier as _;
use serde::{Deserialize, Serialize};
use webauthn::Assertion;

/// Which rules a signature follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    Ed25519,
    /// ECDSA on P-256 with SHA-256, as browsers have it that make no Ed25519 keys.
    Es256,
    /// The same by an authenticator, which asked its owner first.
    WebauthnEs256,
}

/// A public key: Ed25519, or a P-256 point in its uncompressed form; base64url without padding on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub enum PublicKey {
    Ed25519([u8; 32]),
    P256([u8; 65]),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    pub alg: Algorithm,
    /// Whose signature this claims to be. The signed body names the key as well; both must agree.
    pub key: KeyId,
    pub sig: SignatureBytes,
}

/// The 64 bytes of a signature, in base64url without padding; of a passkey, its whole assertion, with dots between.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub enum SignatureBytes {
    Plain(Box<[u8; 64]>),
    Assertion(Box<Assertion>),
}

impl PublicKey {
    /// An Ed25519 key.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        PublicKey::Ed25519(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        match self {
            PublicKey::Ed25519(bytes) => bytes,
            PublicKey::P256(bytes) => bytes,
        }
    }

    pub fn id(&self) -> KeyId {
        KeyId::of(self.as_bytes())
    }

    /// Strict verification: small-order keys and malleable signatures of Ed25519 do not pass. What a passkey says is
    /// never accepted here; see [`crate::device::Certificate::vouches_for`].
    pub fn verifies(&self, message: &[u8], signature: &Signature) -> bool {
        if signature.key != self.id() {
            return false;
        }
        match (self, signature.alg, &signature.sig) {
            (PublicKey::Ed25519(key), Algorithm::Ed25519, SignatureBytes::Plain(bytes)) => {
                ed25519_dalek::VerifyingKey::from_bytes(key)
                    .is_ok_and(|key| key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(bytes)).is_ok())
            }
            (PublicKey::P256(_), Algorithm::Es256, SignatureBytes::Plain(bytes)) => {
                let signature = p256::ecdsa::Signature::from_slice(bytes.as_slice());
                signature.is_ok_and(|signature| self.verifies_es256(message, &signature))
            }
            _ => false,
        }
    }

    fn verifies_es256(&self, message: &[u8], signature: &p256::ecdsa::Signature) -> bool {
        let PublicKey::P256(point) = self else { return false };
        // Refuses what is not on the curve.
        p256::ecdsa::VerifyingKey::from_sec1_bytes(point).is_ok_and(|key| key.verify(message, signature).is_ok())
    }
}

impl Signature {
    pub fn ed25519(key: KeyId, bytes: [u8; 64]) -> Self {
        Signature { alg: Algorithm::Ed25519, key, sig: SignatureBytes::Plain(Box::new(bytes)) }
    }

    pub fn es256(key: KeyId, bytes: [u8; 64]) -> Self {
        Signature { alg: Algorithm::Es256, key, sig: SignatureBytes::Plain(Box::new(bytes)) }
    }

    pub fn webauthn(key: KeyId, assertion: Assertion) -> Self {
        Signature { alg: Algorithm::WebauthnEs256, key, sig: SignatureBytes::Assertion(Box::new(assertion)) }
    }

    /// Whether a page of one of these origins had it made, as far as an authenticator was asked; other keys have no page.
    pub fn is_made_at(&self, origins: &[String]) -> bool {
        match &self.sig {
            SignatureBytes::Plain(_) => true,
            SignatureBytes::Assertion(assertion) => assertion.is_made_at(origins),
        }
    }

    /// How often the authenticator says that it has signed, if one did.
    pub fn sign_count(&self) -> Option<u32> {
        match &self.sig {
            SignatureBytes::Plain(_) => None,
            SignatureBytes::Assertion(assertion) => Some(assertion.sign_count()),
        }
    }
}

fn bad(what: &str) -> String {
    format!("{what} is not what it should be in base64url without padding")
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> String {
        URL_SAFE_NO_PAD.encode(key.as_bytes())
    }
}

impl TryFrom<String> for PublicKey {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad("a public key"))?;
        if let Ok(key) = <[u8; 32]>::try_from(bytes.as_slice()) {
            return Ok(PublicKey::Ed25519(key));
        }
        // One form only, so that a key has one id.
        let point = <[u8; 65]>::try_from(bytes).ok().filter(|point| point[0] == 0x04);
        point.map(PublicKey::P256).ok_or_else(|| bad("a public key"))
    }
}

impl From<SignatureBytes> for String {
    fn from(sig: SignatureBytes) -> String {
        match sig {
            SignatureBytes::Plain(bytes) => URL_SAFE_NO_PAD.encode(*bytes),
            SignatureBytes::Assertion(assertion) => assertion.to_text(),
        }
    }
}

impl TryFrom<String> for SignatureBytes {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if text.contains('.') {
            return Assertion::from_text(&text).map(Box::new).map(SignatureBytes::Assertion);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad("a signature"))?;
        <[u8; 64]>::try_from(bytes).map(Box::new).map(SignatureBytes::Plain).map_err(|_| bad("a signature"))
    }
}

#[cfg(test)]
mod tests;
