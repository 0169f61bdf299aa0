//! The root key hands over to a new one, which vouches in the same step for everything that the old one vouched for.
//!
//! More files change than one step can: the keys, the launcher's memory, the database, the server's certificates. So
//! everything that has to be signed is signed first and written into one file, `keys/handover.json`. When that file is
//! there it is decided, and whoever comes next, with no key in hand, carries it out: each part can be done twice. When all
//! are done the file goes. Without it a new key that lies there was never used, and goes too.

use super::files::{KeyFile, Seed};
use super::protect::alone;
use super::{CARD_FILE, InstallationFile, KeyTrouble, ROOT_FILE, Ring, read_installation, refuse, rotate, sign_text};
use crate::durable;
use serde::{Deserialize, Serialize};
use silas_core::checkpoint::ServerCertificate;
use silas_core::device::Certificate;
use silas_core::fail::{self, FailPoint};
use silas_core::handover::{HANDOVERS_MAX, Handover, HandoverBody, Handovers};
use silas_core::key_service::Ask;
use silas_core::revocation::{RevocationBody, RevocationList};
use silas_core::signature::PublicKey;
use silas_core::{Timestamp, canonical};
use std::fs;
use std::io;
use std::path::Path;

const NEXT_FILE: &str = "root.next";
const PENDING_FILE: &str = "handover.json";

/// What the old key vouched for.
pub struct Vouched {
    /// Of devices, those that were revoked included: decisions of the past name them.
    pub certificates: Vec<Certificate>,
    /// Of server keys, oldest first.
    pub servers: Vec<ServerCertificate>,
    /// The list that is in force.
    pub revocations: Option<RevocationList>,
}

/// A hand-over that is decided: everything that the new key signed, for whoever carries it out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    pub handover: Handover,
    terminal: Certificate,
    pub certificates: Vec<Certificate>,
    pub servers: Vec<ServerCertificate>,
    /// The same as was in force, under the next number.
    pub revocations: Option<RevocationList>,
}

/// Makes the new key, has it vouch for everything, and decides. Only while no server runs; [`put_in_place`] comes next.
pub fn hand_over(keys: &Path, ask: Ask<'_>, at: Timestamp, vouched: &Vouched) -> Result<Pending, KeyTrouble> {
    let _alone = alone(keys)?;
    rotate::settle(keys)?;
    if is_pending(keys) {
        return refuse("an earlier hand-over is not finished. Start Silas once");
    }
    drop_unused(keys)?;
    let known = read_installation(keys)?;
    if known.handovers.len() >= HANDOVERS_MAX {
        return refuse("the root key was handed over too often");
    }
    let mut ring = Ring { dir: keys, ask, seal: None };
    let old = ring.key(ROOT_FILE)?;
    let seed = Seed::random();
    let new = seed.signing_key();
    let anew = |text: Result<String, canonical::Error>| Ok::<_, KeyTrouble>(sign_text(&new, &text?));
    let certify = |certificate: &Certificate| {
        let body = certificate.body.clone();
        Ok::<_, KeyTrouble>(Certificate { signature: anew(canonical::text(&body))?, body })
    };
    // What the old key did not sign never counted, and the new one does not make it count.
    let certificates =
        vouched.certificates.iter().filter(|known_one| known_one.verifies(&known.root, &known.installation));
    let certificates = certificates.map(certify).collect::<Result<Vec<_>, _>>()?;
    let mut servers = Vec::new();
    for ServerCertificate { body, signature } in &vouched.servers {
        let signed = ServerCertificate { body: body.clone(), signature: signature.clone() };
        if let Err(mismatch) = signed.check(&known.root, &known.installation) {
            return refuse(&format!("the certificate of a server key does not count: {mismatch}"));
        }
        servers.push(ServerCertificate { signature: anew(body.message())?, body: body.clone() });
    }
    let revocations = match &vouched.revocations {
        None => None,
        Some(list) => {
            if let Err(mismatch) = list.check(&known.root, &known.installation) {
                return refuse(&format!("the list of what is revoked does not count: {mismatch}"));
            }
            let body = RevocationBody { number: list.body.number + 1, issued_at: at, ..list.body.clone() };
            Some(RevocationList { signature: anew(body.message())?, body })
        }
    };
    let body = HandoverBody {
        v: HandoverBody::VERSION,
        installation: known.installation.clone(),
        number: known.handovers.len() as u64 + 1,
        from: known.root,
        to: PublicKey::from_bytes(new.verifying_key().to_bytes()),
        revocations: revocations.as_ref().map_or(0, |list| list.body.number),
        at,
    };
    let message = body.message()?;
    let handover = Handover { signature: sign_text(&old, &message), accepted: sign_text(&new, &message), body };
    let pending = Pending { handover, terminal: certify(&known.terminal)?, certificates, servers, revocations };
    // Sealed under the name that it is going to have.
    let bytes = match ring.seal()? {
        Some(seal) => seed.sealed(&seal, ROOT_FILE)?,
        None => seed.plain(),
    };
    durable::replace(&keys.join(NEXT_FILE), &bytes)?;
    fail::point(FailPoint::RootKeyMade);
    durable::replace(&keys.join(PENDING_FILE), &serde_json::to_vec(&pending)?)?;
    fail::point(FailPoint::RootDecided);
    Ok(pending)
}

pub fn is_pending(keys: &Path) -> bool {
    keys.join(PENDING_FILE).exists()
}

/// The hand-over that is decided and not carried out, if there is one. One that cannot be read is an error: without it
/// nobody knows which key holds.
pub fn pending(keys: &Path) -> Result<Option<Pending>, KeyTrouble> {
    let bytes = match fs::read(keys.join(PENDING_FILE)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let damaged = |why: String| KeyTrouble::Refused(format!("keys/{PENDING_FILE} {why}. Restore keys/ from a backup."));
    let pending: Pending = serde_json::from_slice(&bytes).map_err(|e| damaged(format!("is damaged ({e})")))?;
    let body = &pending.handover.body;
    let signed = pending.handover.check(&body.installation, body.number);
    signed.map_err(|mismatch| damaged(format!("does not count: {mismatch}")))?;
    Ok(Some(pending))
}

/// The keys' own part of a hand-over: the public facts first, which decide, then the name of the file. Gives every
/// hand-over up to this one.
pub fn put_in_place(keys: &Path, pending: &Pending) -> Result<Handovers, KeyTrouble> {
    let _alone = alone(keys)?;
    let text = fs::read_to_string(keys.join(CARD_FILE))?;
    let known: InstallationFile = serde_json::from_str(&text)
        .map_err(|e| KeyTrouble::Refused(format!("keys/{CARD_FILE} is damaged ({e}). Restore it from a backup.")))?;
    let body = &pending.handover.body;
    let next = keys.join(NEXT_FILE);
    if known.root == body.from {
        if KeyFile::read(&next)?.public() != body.to {
            return refuse("the new root key is not the one that was handed over to. Restore keys/ from a backup.");
        }
        let (root, terminal) = (body.to, pending.terminal.clone());
        let mut handovers = known.handovers.clone();
        handovers.push(pending.handover.clone());
        let text = serde_json::to_string_pretty(&InstallationFile { root, terminal, handovers, ..known })?;
        durable::replace(&keys.join(CARD_FILE), text.as_bytes())?;
    } else if known.root != body.to {
        return refuse("the hand-over is about another root key. Restore keys/ from a backup.");
    }
    if next.exists() && KeyFile::read(&next)?.public() == body.to {
        durable::rename(&next, &keys.join(ROOT_FILE))?;
    }
    let known = read_installation(keys)?;
    fail::point(FailPoint::RootKeysChanged);
    Handovers::checked(known.handovers, &known.root, &known.installation)
        .map_err(|mismatch| KeyTrouble::Refused(format!("the hand-overs in keys/ do not count: {mismatch}")))
}

/// Everything is done.
pub fn close(keys: &Path) -> Result<(), KeyTrouble> {
    Ok(durable::remove(&keys.join(PENDING_FILE))?)
}

/// A new key that was made and never decided about.
pub(super) fn drop_unused(keys: &Path) -> Result<(), KeyTrouble> {
    let next = keys.join(NEXT_FILE);
    if next.exists() && !is_pending(keys) {
        durable::remove(&next)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
