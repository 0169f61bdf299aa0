//! What a passkey says: an assertion of WebAuthn (level 2, section 7.2), reduced to what Silas asks for.
//!
//! The challenge is the SHA-256 of what is approved, so the authenticator signs that and nothing else. Read strictly: the
//! authenticator's part has no extensions and no attested key, the person was verified and not only present, and the page
//! was one of the site that the key belongs to. Deliberately absent: attestation (which make of authenticator it is plays
//! no part), other algorithms, and memory; whoever keeps decisions compares the counters.

use super::PublicKey;
use crate::Digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use std::net::IpAddr;

/// The site's hash, flags and counter; nothing was asked for that would make it longer.
const AUTHENTICATOR_DATA_LEN: usize = 37;
/// What a browser writes is 100 to 300 bytes; it may add fields, and a long name of a site.
const CLIENT_DATA_BYTES_MAX: usize = 1024;
/// An ECDSA signature on P-256 in DER is at most this long.
const DER_BYTES_MAX: usize = 72;

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
/// Every flag that may be set; the others announce data that must not be there, or are reserved.
const FLAGS: u8 = USER_PRESENT | USER_VERIFIED | BACKUP_ELIGIBLE | BACKED_UP;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assertion {
    authenticator_data: [u8; AUTHENTICATOR_DATA_LEN],
    /// As the browser wrote it: its bytes are hashed.
    client_data: Vec<u8>,
    /// In DER.
    signature: Vec<u8>,
}

/// The part of the client data that is looked at. A browser may add fields, and they are covered by the signature.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

impl Assertion {
    pub fn new(authenticator_data: &[u8], client_data: &[u8], signature: &[u8]) -> Option<Self> {
        let fits = client_data.len() <= CLIENT_DATA_BYTES_MAX && signature.len() <= DER_BYTES_MAX;
        let authenticator_data = authenticator_data.try_into().ok().filter(|_| fits)?;
        Some(Assertion { authenticator_data, client_data: client_data.to_vec(), signature: signature.to_vec() })
    }

    /// Three parts in base64url with dots between them: authenticator data, client data, signature.
    pub(super) fn from_text(text: &str) -> Result<Self, String> {
        let bad = || "a passkey's signature is three parts in base64url with dots between them".to_owned();
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| bad());
        let mut parts = text.splitn(4, '.');
        let (Some(data), Some(client), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad());
        };
        Assertion::new(&decode(data)?, &decode(client)?, &decode(signature)?).ok_or_else(bad)
    }

    pub(super) fn to_text(&self) -> String {
        [self.authenticator_data.as_slice(), &self.client_data, &self.signature]
            .map(|part| URL_SAFE_NO_PAD.encode(part))
            .join(".")
    }

    /// How often the authenticator has signed, by its own count; passkeys that travel between devices always say 0.
    pub fn sign_count(&self) -> u32 {
        let [.., a, b, c, d] = self.authenticator_data;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Whether the browser says that the page was at one of these origins, with exactly this port. [`Assertion::is_about`]
    /// knows only the name, because that is what a key belongs to; which port is ours, only the door knows.
    pub fn is_made_at(&self, origins: &[String]) -> bool {
        serde_json::from_slice::<ClientData>(&self.client_data).is_ok_and(|client| origins.contains(&client.origin))
    }

    /// Whether the owner of this key, verified, approved `message` on a page of the site `rp_id`.
    pub fn is_about(&self, message: &[u8], public: &PublicKey, rp_id: &str) -> bool {
        let flags = self.authenticator_data[32];
        let was_verified = flags & (USER_PRESENT | USER_VERIFIED) == USER_PRESENT | USER_VERIFIED;
        // A key that cannot be backed up cannot be backed up.
        let is_sound = flags & !FLAGS == 0 && (flags & BACKED_UP == 0 || flags & BACKUP_ELIGIBLE != 0);
        let is_site = self.authenticator_data[..32] == *Digest::of(rp_id.as_bytes()).as_bytes();
        was_verified && is_sound && is_site && self.client_says(message, rp_id) && self.is_signed_by(public)
    }

    fn client_says(&self, message: &[u8], rp_id: &str) -> bool {
        let Ok(client) = serde_json::from_slice::<ClientData>(&self.client_data) else { return false };
        let challenge = URL_SAFE_NO_PAD.encode(Digest::of(message).as_bytes());
        client.kind == "webauthn.get"
            && client.challenge == challenge
            && !client.cross_origin
            && is_of_site(&client.origin, rp_id)
    }

    fn is_signed_by(&self, public: &PublicKey) -> bool {
        let Ok(signature) = p256::ecdsa::Signature::from_der(&self.signature) else { return false };
        let signed = [self.authenticator_data.as_slice(), Digest::of(&self.client_data).as_bytes()].concat();
        public.verifies_es256(&signed, &signature)
    }
}

/// Whether passkeys can belong to this name: a domain in lower case, or `localhost`. Browsers refuse addresses in numbers.
pub fn is_site(rp_id: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    rp_id.len() <= 253 && rp_id.parse::<IpAddr>().is_err() && rp_id.split('.').all(is_label)
}

/// Whether a page at this origin may use keys of the site: over TLS, or on this machine itself.
fn is_of_site(origin: &str, rp_id: &str) -> bool {
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    let (host, port) = rest.split_once(':').unwrap_or((rest, "0"));
    let is_host = host == rp_id || host.strip_suffix(rp_id).is_some_and(|before| before.ends_with('.'));
    let is_safe = scheme == "https" || scheme == "http" && host == "localhost";
    is_safe && is_host && is_site(host) && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests;
