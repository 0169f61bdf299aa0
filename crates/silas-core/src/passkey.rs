//! Passkeys: what is asked when one is to be one of the owner's devices, and which decisions are theirs alone.
//!
//! A passkey decides and does nothing else: it opens no session and says nothing. Where one is registered, what cannot be
//! undone needs it, and so does registering the next one; otherwise whoever holds a paired browser could lower the bar.

use crate::card::Risk;
use crate::device::{CertificateBody, DEVICE_NAME_CHARS_MAX, DeviceKind};
use crate::evidence::Refusal;
use crate::revocation::Withdrawn;
use crate::signature::{PublicKey, webauthn};
use crate::token::{Kind, Verdict};
use crate::work::WorkItem;
use crate::{InstallationId, KeyId, Timestamp, risk};
use serde::{Deserialize, Serialize};

/// Where a passkey counts, and by which name its authenticator knows it. Part of its certificate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The name in the page's address, for which alone the authenticator uses this key.
    pub rp_id: String,
    /// In base64url, as the browser gives it.
    pub credential: String,
}

/// What the owner signs to register one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyGrant {
    pub kind: DeviceGrantKind,
    pub name: String,
    pub public: PublicKey,
    pub site: Site,
}

/// Keeps the payloads of different kinds apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceGrantKind {
    Device,
}

/// The specification allows credential ids of 1,023 bytes; this is their length in base64url.
const CREDENTIAL_CHARS_MAX: usize = 1364;

impl PasskeyGrant {
    /// What is wrong with it, in words, if something is.
    pub fn check(&self) -> Result<(), &'static str> {
        if !matches!(self.public, PublicKey::P256(_)) {
            return Err("A passkey has a key on the curve P-256.");
        }
        if !webauthn::is_site(&self.site.rp_id) {
            return Err("A passkey belongs to a name, not to an address in numbers.");
        }
        let is_base64url = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let credential = &self.site.credential;
        if !(1..=CREDENTIAL_CHARS_MAX).contains(&credential.len()) || !credential.bytes().all(is_base64url) {
            return Err("The id of the passkey cannot be read.");
        }
        let n_chars = self.name.chars().count();
        if self.name.trim().is_empty() || n_chars > DEVICE_NAME_CHARS_MAX || self.name.chars().any(char::is_control) {
            return Err("A passkey needs a name of at most 60 characters.");
        }
        Ok(())
    }

    /// What the root key signs about it.
    pub fn certificate_body(&self, installation: &InstallationId, issued_at: Timestamp) -> CertificateBody {
        CertificateBody {
            v: 1,
            kind: DeviceKind::Passkey,
            installation: installation.clone(),
            name: self.name.clone(),
            key: self.public.id(),
            public: self.public,
            issued_at,
            site: Some(self.site.clone()),
        }
    }
}

/// Whether a decision of this kind about this payload is one for a passkey, where there is one.
pub fn is_for_passkey(kind: Kind, payload: &str) -> bool {
    match kind {
        Kind::Device => true,
        // One that cannot be read is refused where it is read.
        Kind::Plan | Kind::Rehearsal => {
            WorkItem::from_canonical(payload).is_ok_and(|item| risk::of_plan(item.definition()) == Risk::Irreversible)
        }
        Kind::HouseRules | Kind::Apply | Kind::Undo | Kind::Root | Kind::Step | Kind::Model | Kind::Budget => false,
    }
}

/// Whether this device may take this decision. A no needs no passkey.
pub fn may_decide(
    signer: DeviceKind,
    kind: Kind,
    payload: &str,
    verdict: Verdict,
    has_passkey: bool,
) -> Result<(), Refusal> {
    let is_missing =
        verdict == Verdict::Approved && has_passkey && signer != DeviceKind::Passkey && is_for_passkey(kind, payload);
    if is_missing { Err(Refusal::NoPasskey) } else { Ok(()) }
}

/// Whether this device may take that back: a browser cannot lower the bar by revoking a passkey. The terminal can; it is
/// the way back in when an authenticator is lost.
pub fn may_withdraw(signer: DeviceKind, what: &Withdrawn, is_passkey: impl Fn(&KeyId) -> bool) -> Result<(), Refusal> {
    match (signer, what) {
        (DeviceKind::Browser, Withdrawn::Device(key)) if is_passkey(key) => Err(Refusal::NoPasskey),
        _ => Ok(()),
    }
}

/// Whether an authenticator's count may follow on the last one that was seen. It only grows, unless it does not count.
pub fn may_follow(last: u32, next: u32) -> bool {
    next > last || last == 0 && next == 0
}

#[cfg(test)]
mod tests;
