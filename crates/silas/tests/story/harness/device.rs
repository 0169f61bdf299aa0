//! A browser, as far as the server can tell.

use super::{OsRandom, message_body, now};
use crate::http;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use silas_core::message::SignedMessage;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Offer, Token, TokenBody, Verdict};
use silas_core::{InstallationId, KeyId, Random};
use std::net::{Ipv4Addr, SocketAddr};

/// A browser, as far as the server can tell.
pub(crate) struct Device {
    key: SigningKey,
}

impl Device {
    pub(crate) fn new() -> Self {
        let mut seed = [0; 32];
        OsRandom.fill(&mut seed);
        Device::from_seed(seed)
    }

    pub(crate) fn from_seed(seed: [u8; 32]) -> Self {
        Device { key: SigningKey::from_bytes(&seed) }
    }

    pub(crate) fn public(&self) -> PublicKey {
        PublicKey::from_bytes(self.key.verifying_key().to_bytes())
    }

    pub(crate) fn id(&self) -> KeyId {
        self.public().id()
    }

    pub(crate) fn sign(&self, text: &str) -> Signature {
        Signature::ed25519(self.id(), self.key.sign(text.as_bytes()).to_bytes())
    }

    pub(crate) fn answer(&self, offer: &Offer, verdict: Verdict) -> Token {
        self.token(offer.answered(self.id(), verdict))
    }

    pub(crate) fn token(&self, body: TokenBody) -> Token {
        let signature = self.sign(&body.message().unwrap());
        Token { body, signature }
    }

    pub(crate) fn message(&self, text: &str, installation: &InstallationId) -> SignedMessage {
        let body = message_body(text, installation.clone(), now());
        let signature = self.sign(&body.message().unwrap());
        SignedMessage { body, signature }
    }

    /// The answer to a challenge, naming what the page has if it was here before.
    pub(crate) fn auth(&self, hello: &Value, resume: Option<&Value>) -> Value {
        let (challenge, installation, key) = (&hello["challenge"], &hello["installation"], self.id());
        let proof = json!({ "kind": "session", "challenge": challenge, "installation": installation, "key": key });
        let signature = self.sign(&silas_core::canonical::text(&proof).unwrap());
        json!({ "type": "auth", "key": key, "signature": signature, "resume": resume })
    }

    pub(crate) fn pair(&self, port: u16, code: &str) -> (u16, String) {
        self.pair_at((Ipv4Addr::LOCALHOST, port).into(), code)
    }

    pub(crate) fn pair_at(&self, at: SocketAddr, code: &str) -> (u16, String) {
        http::post_at(at, "/pair", &self.pair_request(at, code))
    }

    /// What a browser sends that wants to be paired and agrees to the house rules.
    pub(crate) fn pair_request(&self, at: SocketAddr, code: &str) -> String {
        let (status, screen) = http::get_at(at, "/pair");
        assert_eq!(status, 200, "{screen}");
        let screen: Value = serde_json::from_str(&screen).unwrap();
        let rules: Option<Offer> = serde_json::from_value(screen["house_rules"]["offer"].clone()).ok();
        let house_rules = rules.map(|offer| self.answer(&offer, Verdict::Approved));
        let public = String::from(self.public());
        json!({ "public": public, "name": "test browser", "proof": proof(code, &public), "house_rules": house_rules })
            .to_string()
    }
}

/// What a browser computes from the code in the address.
pub(crate) fn proof(code: &str, public: &str) -> String {
    use base64::Engine as _;
    use hmac::{KeyInit, Mac};
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(code.as_bytes()).unwrap();
    mac.update(format!("silas-pair {public}").as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}
