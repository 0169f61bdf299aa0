//! The pairing code: whoever can prove that they saw it may have one device certified, within five minutes.
//!
//! The code is made and checked in the launcher. The front only passes the proof on and cannot ask for another code.

use crate::Error;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use silas_core::device::{CertificateBody, DEVICE_NAME_CHARS_MAX, DeviceKind};
use silas_core::evidence::Anchor;
use std::time::{Duration, Instant};

pub(crate) struct PairingCode {
    text: String,
    made: Instant,
    /// Proofs that did not fit.
    n_wrong: u32,
}

const VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// A code of 128 bits is not guessed; whoever tries so often is no person who mistyped, and the owner should notice.
const WRONG_MAX: u32 = 20;

impl PairingCode {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut bits = [0u8; 16];
        getrandom::fill(&mut bits)
            .map_err(|e| Error::Io { doing: "Making a pairing code".to_owned(), cause: e.to_string() })?;
        Ok(PairingCode { text: URL_SAFE_NO_PAD.encode(bits), made: Instant::now(), n_wrong: 0 })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Takes the code if the proof fits it: HMAC-SHA256 with the code as key, over `silas-pair ` and the device's public key,
/// in base64url. A wrong proof leaves the code for whoever really saw it, up to [`WRONG_MAX`].
pub(crate) fn take(
    code: &mut Option<PairingCode>,
    body: &CertificateBody,
    proof: &str,
    anchor: &Anchor,
) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Pairing(why.to_owned()));
    let name = body.name.trim();
    if body.kind != DeviceKind::Browser || body.v != 1 || body.key != body.public.id() {
        return refuse("only a browser with its own key can be paired");
    }
    if body.installation != anchor.installation {
        return refuse("the device was made for another installation");
    }
    if name.is_empty() || name.chars().count() > DEVICE_NAME_CHARS_MAX || name.chars().any(char::is_control) {
        return refuse("the device needs a name of at most 60 characters");
    }
    let Some(current) = code.as_mut().filter(|code| code.made.elapsed() < VALID_FOR) else {
        *code = None;
        return refuse("there is no pairing code that is still valid. Ask for a new one in the terminal");
    };
    let message = format!("silas-pair {}", String::from(body.public));
    let proof = URL_SAFE_NO_PAD.decode(proof).unwrap_or_default();
    let mac = Hmac::<Sha256>::new_from_slice(current.text.as_bytes())
        .map_err(|e| Error::Pairing(e.to_string()))?
        .chain_update(message.as_bytes());
    if mac.verify_slice(&proof).is_err() {
        current.n_wrong += 1;
        if current.n_wrong >= WRONG_MAX {
            *code = None;
            return refuse(
                "the code is wrong, and it was the last of too many: this code is void. Ask for a new one in the terminal",
            );
        }
        return refuse("the code is wrong");
    }
    *code = None;
    Ok(())
}
