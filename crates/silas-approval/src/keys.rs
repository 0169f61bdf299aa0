//! The key helper: reads or makes the private keys, does one thing with one of them, and is gone.
//!
//! It runs in a process of its own that the launcher starts for one request. How the keys are kept is told by
//! [`crate::lock`]; without a lock they are protected by file permissions only, and `silas status` says so. Damaged
//! material is an error; a new key is made only where there is none.

mod files;
mod hand_over;
mod protect;
mod rotate;

pub(crate) use files::{load_or_make_plain, load_plain, make_plain};
pub use hand_over::{Pending, Vouched, close, hand_over, is_pending, pending, put_in_place};
pub use protect::{protect, protection};
pub use rotate::rotate_terminal;

use crate::durable::write_new;
use crate::keyring;
use crate::lock::{Keep, Lock, Unopened};
use crate::sealing::SealKey;
use ed25519_dalek::{Signer, SigningKey};
use files::{KeyFile, Seed};
use serde::{Deserialize, Serialize};
use silas_core::checkpoint::{ServerCertificate, ServerCertificateBody};
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::handover::{Handover, Handovers};
use silas_core::key_service::{Ask, KeyReply, KeyRequest, Protection, SignBody};
use silas_core::revocation::{RevocationBody, RevocationList};
use silas_core::signature::{PublicKey, Signature};
use silas_core::{InstallationId, Random, Timestamp, canonical};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Public facts about the keys; written last, so its presence means that the keys are complete.
const CARD_FILE: &str = "installation.json";
const ROOT_FILE: &str = "root.key";
const TERMINAL_FILE: &str = "terminal.key";
const LOCK_FILE: &str = "lock.json";
/// What the lock of the private keys is about.
const PURPOSE: &str = "silas keys";

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InstallationFile {
    installation: InstallationId,
    root: PublicKey,
    terminal: Certificate,
    /// By which earlier root keys handed over to this one, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    handovers: Vec<Handover>,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum KeyTrouble {
    #[error(transparent)]
    Unopened(#[from] Unopened),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Canonical(#[from] canonical::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Refused(String),
}

fn refuse<T>(why: &str) -> Result<T, KeyTrouble> {
    Err(KeyTrouble::Refused(why.to_owned()))
}

/// The directory of keys, and whoever can be asked for the passphrase. Asked once at most.
struct Ring<'a> {
    dir: &'a Path,
    ask: Ask<'a>,
    seal: Option<SealKey>,
}

impl Ring<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn lock(&self) -> Result<Option<Lock>, KeyTrouble> {
        Ok(Lock::read(&self.path(LOCK_FILE))?)
    }

    /// The key with which the others are sealed; `None` if there is no lock.
    fn seal(&mut self) -> Result<Option<SealKey>, KeyTrouble> {
        if self.seal.is_none()
            && let Some(lock) = self.lock()?
        {
            self.seal = Some(lock.open(PURPOSE, self.ask)?);
        }
        Ok(self.seal.clone())
    }

    fn key(&mut self, name: &str) -> Result<SigningKey, KeyTrouble> {
        let seed = match KeyFile::read(&self.path(name))? {
            KeyFile::Plain(seed) => seed,
            KeyFile::Sealed(sealed) => match self.seal()? {
                Some(seal) => sealed.open(&seal, name)?,
                None => return refuse("keys/lock.json is missing. Restore it from a backup."),
            },
        };
        Ok(seed.signing_key())
    }
}

/// Answers one request. Failures are replies too: whoever asked must be able to say what is wrong.
pub fn helper(keys: &Path, request: &KeyRequest, ask: Ask<'_>) -> KeyReply {
    let mut ring = Ring { dir: keys, ask, seal: None };
    let reply = match request {
        KeyRequest::Init { at, terminal_name, keyring } => init(&mut ring, *at, terminal_name, *keyring),
        KeyRequest::Check => check(&mut ring),
        KeyRequest::Certify { body } => certify(&mut ring, body),
        KeyRequest::CertifyServer { body } => certify_server(&mut ring, body),
        KeyRequest::Revoke { body } => revoke(&mut ring, body),
        KeyRequest::Sign { body } => sign(&mut ring, body),
    };
    reply.unwrap_or_else(|trouble| match trouble {
        KeyTrouble::Unopened(Unopened::Locked) => KeyReply::Locked,
        other => KeyReply::Refused { reason: other.to_string() },
    })
}

fn init(ring: &mut Ring<'_>, at: Timestamp, terminal_name: &str, keyring: bool) -> Result<KeyReply, KeyTrouble> {
    let keys = ring.dir;
    if !keys.exists() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(keys)?;
    }
    fs::set_permissions(keys, fs::Permissions::from_mode(0o700))?;
    if keys.join(CARD_FILE).exists() {
        rotate::settle(keys)?;
        hand_over::drop_unused(keys)?;
        let known = read_installation(keys)?;
        return Ok(ready(known, false, protection(keys)?));
    }
    let is_untouched = !keys.join(ROOT_FILE).exists() && !keys.join(LOCK_FILE).exists();
    if keyring && is_untouched {
        // No keyring, or one that is closed: then files alone, and whoever asks how they are kept is told so.
        let seal = SealKey::random();
        if let Ok(lock) = Lock::make(&seal, PURPOSE, &Keep::Keyring, keyring::AT_ONCE) {
            lock.write(&keys.join(LOCK_FILE))?;
            ring.seal = Some(seal);
        }
    }
    let root = load_or_make(ring, ROOT_FILE)?;
    let terminal = load_or_make(ring, TERMINAL_FILE)?;
    let installation = InstallationId::new(&OsRandom);
    let body = terminal_body(&terminal, &installation, terminal_name, at);
    let root_public = PublicKey::from_bytes(root.verifying_key().to_bytes());
    let terminal = sign_certificate(&root, body)?;
    let known = InstallationFile { installation, root: root_public, terminal, handovers: Vec::new() };
    let text = serde_json::to_string_pretty(&known)?;
    write_new(&keys.join(CARD_FILE), text.as_bytes())?;
    File::open(keys)?.sync_all()?;
    Ok(ready(known, true, protection(keys)?))
}

fn load_or_make(ring: &mut Ring<'_>, name: &str) -> Result<SigningKey, KeyTrouble> {
    if ring.path(name).exists() {
        return ring.key(name);
    }
    let seed = Seed::random();
    let bytes = match ring.seal()? {
        Some(seal) => seed.sealed(&seal, name)?,
        None => seed.plain(),
    };
    write_new(&ring.path(name), &bytes)?;
    Ok(seed.signing_key())
}

fn terminal_body(key: &SigningKey, installation: &InstallationId, name: &str, issued_at: Timestamp) -> CertificateBody {
    let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
    CertificateBody {
        v: 1,
        kind: DeviceKind::Terminal,
        installation: installation.clone(),
        name: name.to_owned(),
        key: public.id(),
        public,
        issued_at,
        site: None,
    }
}

fn ready(known: InstallationFile, is_new: bool, protection: Protection) -> KeyReply {
    let InstallationFile { installation, root, terminal, handovers: _ } = known;
    KeyReply::Ready { installation, root, terminal, is_new, protection }
}

/// Opens the root key and closes it again.
fn check(ring: &mut Ring<'_>) -> Result<KeyReply, KeyTrouble> {
    ring.key(ROOT_FILE)?;
    Ok(KeyReply::Checked)
}

fn certify(ring: &mut Ring<'_>, body: &CertificateBody) -> Result<KeyReply, KeyTrouble> {
    let known = read_installation(ring.dir)?;
    // A key in an authenticator counts at one site; a browser's counts by itself.
    let has_its_kind = match (body.kind, &body.site, &body.public) {
        (DeviceKind::Browser, None, _) | (DeviceKind::Passkey, Some(_), PublicKey::P256(_)) => true,
        (DeviceKind::Browser | DeviceKind::Terminal | DeviceKind::Passkey, ..) => false,
    };
    let sound = body.v == 1 && has_its_kind && body.key == body.public.id() && body.installation == known.installation;
    if !sound {
        return refuse("the certificate that was asked for does not fit this installation");
    }
    let root = ring.key(ROOT_FILE)?;
    Ok(KeyReply::Certified { certificate: sign_certificate(&root, body.clone())? })
}

/// Says of the server key that it may vouch for the ledger; the type of what is signed can say nothing more.
fn certify_server(ring: &mut Ring<'_>, body: &ServerCertificateBody) -> Result<KeyReply, KeyTrouble> {
    let known = read_installation(ring.dir)?;
    if body.check(&known.installation).is_err() {
        return refuse("the certificate that was asked for does not fit this installation");
    }
    // A key that decides must not be one that lies where the server reads.
    if body.key == known.terminal.body.key || body.public == known.root {
        return refuse("a key that decides cannot be the server's");
    }
    let root = ring.key(ROOT_FILE)?;
    let signature = sign_text(&root, &body.message()?);
    Ok(KeyReply::ServerCertified { certificate: ServerCertificate { body: body.clone(), signature } })
}

fn revoke(ring: &mut Ring<'_>, body: &RevocationBody) -> Result<KeyReply, KeyTrouble> {
    let known = read_installation(ring.dir)?;
    let sound = body.v == RevocationBody::VERSION && body.number > 0 && body.installation == known.installation;
    if !sound {
        return refuse("the list that was asked for does not fit this installation");
    }
    if !body.is_within_bounds() {
        return refuse("the list of what is revoked is full");
    }
    // Without it nobody could pair a device again, or decide anything when all others are gone.
    if body.devices.contains(&known.terminal.body.key) {
        return refuse("the terminal of this machine cannot be revoked; it is the way back in");
    }
    let root = ring.key(ROOT_FILE)?;
    let signature = sign_text(&root, &body.message()?);
    Ok(KeyReply::Revoked { list: RevocationList { body: body.clone(), signature } })
}

fn sign(ring: &mut Ring<'_>, body: &SignBody) -> Result<KeyReply, KeyTrouble> {
    let message = match body {
        SignBody::Token(token) if !token.offer.is_within_bounds() => {
            return refuse("the request allows more uses or more time than its kind may");
        }
        SignBody::Token(token) => token.message()?,
        SignBody::Message(message) => message.message()?,
        SignBody::Withdrawal(withdrawal) => withdrawal.message()?,
    };
    let terminal = ring.key(TERMINAL_FILE)?;
    Ok(KeyReply::Signed { signature: sign_text(&terminal, &message) })
}

fn sign_certificate(root: &SigningKey, body: CertificateBody) -> Result<Certificate, KeyTrouble> {
    let signature = sign_text(root, &canonical::text(&body)?);
    Ok(Certificate { body, signature })
}

pub(crate) fn sign_text(key: &SigningKey, message: &str) -> Signature {
    let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
    Signature::ed25519(public.id(), key.sign(message.as_bytes()).to_bytes())
}

/// The public facts, held against what the key files say of themselves. Nothing is opened for it.
fn read_installation(keys: &Path) -> Result<InstallationFile, KeyTrouble> {
    let text = fs::read_to_string(keys.join(CARD_FILE))?;
    let known: InstallationFile = serde_json::from_str(&text)
        .map_err(|e| KeyTrouble::Refused(format!("keys/{CARD_FILE} is damaged ({e}). Restore it from a backup.")))?;
    let root = KeyFile::read(&keys.join(ROOT_FILE))?.public();
    let terminal = KeyFile::read(&keys.join(TERMINAL_FILE))?.public();
    let fits = root == known.root
        && terminal == known.terminal.body.public
        && known.terminal.verifies(&known.root, &known.installation)
        && Handovers::checked(known.handovers.clone(), &known.root, &known.installation).is_ok();
    if fits { Ok(known) } else { refuse("the keys do not fit together. Restore keys/ from a backup.") }
}

/// The operating system's generator, for ids.
struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        crate::sealing::fill(bytes);
    }
}

#[cfg(test)]
mod tests;
