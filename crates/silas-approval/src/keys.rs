//! The key helper: reads or makes the private keys, does one thing with one of them, and is gone.
//!
//! It runs in a process of its own that the launcher starts for one request. Without a passphrase the keys are protected
//! by file permissions only, and `silas status` says so. Damaged material is an error; a new key is made only where
//! there is none.

use ed25519_dalek::{Signer, SigningKey};
use serde::{Deserialize, Serialize};
use silas_core::checkpoint::{ServerCertificate, ServerCertificateBody};
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::key_service::{KeyReply, KeyRequest, SignBody};
use silas_core::revocation::{RevocationBody, RevocationList};
use silas_core::signature::{PublicKey, Signature};
use silas_core::{InstallationId, Random, Timestamp, canonical};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use zeroize::{Zeroize, Zeroizing};

/// Public facts about the keys; written last, so its presence means that the keys are complete.
const CARD_FILE: &str = "installation.json";
const ROOT_FILE: &str = "root.key";
const TERMINAL_FILE: &str = "terminal.key";
/// What a key file starts with, so that a damaged or foreign file is noticed.
const MAGIC: &[u8; 8] = b"silas-k1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InstallationFile {
    installation: InstallationId,
    root: PublicKey,
    terminal: Certificate,
}

/// Answers one request. Failures are replies too: whoever asked must be able to say what is wrong.
pub fn helper(keys: &Path, request: &KeyRequest) -> KeyReply {
    let reply = match request {
        KeyRequest::Init { at, terminal_name } => init(keys, *at, terminal_name),
        KeyRequest::Certify { body } => certify(keys, body),
        KeyRequest::CertifyServer { body } => certify_server(keys, body),
        KeyRequest::Revoke { body } => revoke(keys, body),
        KeyRequest::Sign { body } => sign(keys, body),
    };
    reply.unwrap_or_else(|e| KeyReply::Refused { reason: e.to_string() })
}

fn init(keys: &Path, at: Timestamp, terminal_name: &str) -> io::Result<KeyReply> {
    if !keys.exists() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(keys)?;
    }
    fs::set_permissions(keys, fs::Permissions::from_mode(0o700))?;
    if keys.join(CARD_FILE).exists() {
        let known = read_installation(keys)?;
        return Ok(ready(known, false));
    }
    let root = load_or_make(&keys.join(ROOT_FILE))?;
    let terminal = load_or_make(&keys.join(TERMINAL_FILE))?;
    let installation = InstallationId::new(&OsRandom);
    let public = PublicKey::from_bytes(terminal.verifying_key().to_bytes());
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Terminal,
        installation: installation.clone(),
        name: terminal_name.to_owned(),
        key: public.id(),
        public,
        issued_at: at,
    };
    let root_public = PublicKey::from_bytes(root.verifying_key().to_bytes());
    let known = InstallationFile { installation, root: root_public, terminal: sign_certificate(&root, body)? };
    let text = serde_json::to_string_pretty(&known)?;
    write_new(&keys.join(CARD_FILE), text.as_bytes())?;
    File::open(keys)?.sync_all()?;
    Ok(ready(known, true))
}

fn ready(known: InstallationFile, is_new: bool) -> KeyReply {
    KeyReply::Ready { installation: known.installation, root: known.root, terminal: known.terminal, is_new }
}

fn certify(keys: &Path, body: &CertificateBody) -> io::Result<KeyReply> {
    let known = read_installation(keys)?;
    let sound = body.v == 1
        && body.kind == DeviceKind::Browser
        && body.key == body.public.id()
        && body.installation == known.installation;
    if !sound {
        return Err(io::Error::other("the certificate that was asked for does not fit this installation"));
    }
    let root = load(&keys.join(ROOT_FILE))?;
    Ok(KeyReply::Certified { certificate: sign_certificate(&root, body.clone())? })
}

/// Says of the server key that it may vouch for the ledger; the type of what is signed can say nothing more.
fn certify_server(keys: &Path, body: &ServerCertificateBody) -> io::Result<KeyReply> {
    let known = read_installation(keys)?;
    let unfit = |_| io::Error::other("the certificate that was asked for does not fit this installation");
    body.check(&known.installation).map_err(unfit)?;
    // A key that decides must not be one that lies where the server reads.
    if body.key == known.terminal.body.key || body.public == known.root {
        return Err(io::Error::other("a key that decides cannot be the server's"));
    }
    let root = load(&keys.join(ROOT_FILE))?;
    let signature = sign_text(&root, &body.message().map_err(io::Error::other)?);
    Ok(KeyReply::ServerCertified { certificate: ServerCertificate { body: body.clone(), signature } })
}

fn revoke(keys: &Path, body: &RevocationBody) -> io::Result<KeyReply> {
    let known = read_installation(keys)?;
    let sound = body.v == RevocationBody::VERSION && body.number > 0 && body.installation == known.installation;
    if !sound {
        return Err(io::Error::other("the list that was asked for does not fit this installation"));
    }
    if !body.is_within_bounds() {
        return Err(io::Error::other("the list of what is revoked is full"));
    }
    // Without it nobody could pair a device again, or decide anything when all others are gone.
    if body.devices.contains(&known.terminal.body.key) {
        return Err(io::Error::other("the terminal of this machine cannot be revoked; it is the way back in"));
    }
    let root = load(&keys.join(ROOT_FILE))?;
    let signature = sign_text(&root, &body.message().map_err(io::Error::other)?);
    Ok(KeyReply::Revoked { list: RevocationList { body: body.clone(), signature } })
}

fn sign(keys: &Path, body: &SignBody) -> io::Result<KeyReply> {
    let terminal = load(&keys.join(TERMINAL_FILE))?;
    let message = match body {
        SignBody::Token(token) if !token.offer.is_within_bounds() => {
            return Err(io::Error::other("the request allows more uses or more time than its kind may"));
        }
        SignBody::Token(token) => token.message(),
        SignBody::Message(message) => message.message(),
        SignBody::Withdrawal(withdrawal) => withdrawal.message(),
    };
    Ok(KeyReply::Signed { signature: sign_text(&terminal, &message.map_err(io::Error::other)?) })
}

fn sign_certificate(root: &SigningKey, body: CertificateBody) -> io::Result<Certificate> {
    let message = canonical::text(&body).map_err(io::Error::other)?;
    let signature = sign_text(root, &message);
    Ok(Certificate { body, signature })
}

pub(crate) fn sign_text(key: &SigningKey, message: &str) -> Signature {
    let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
    Signature::ed25519(public.id(), key.sign(message.as_bytes()).to_bytes())
}

fn read_installation(keys: &Path) -> io::Result<InstallationFile> {
    let text = fs::read_to_string(keys.join(CARD_FILE))?;
    let known: InstallationFile = serde_json::from_str(&text)
        .map_err(|e| io::Error::other(format!("keys/{CARD_FILE} is damaged ({e}). Restore it from a backup.")))?;
    let root = load(&keys.join(ROOT_FILE))?;
    let fits = PublicKey::from_bytes(root.verifying_key().to_bytes()) == known.root
        && known.terminal.verifies(&known.root, &known.installation);
    if fits { Ok(known) } else { Err(io::Error::other("the keys do not fit together. Restore keys/ from a backup.")) }
}

pub(crate) fn load_or_make(path: &Path) -> io::Result<SigningKey> {
    if path.exists() {
        return load(path);
    }
    let mut seed = Zeroizing::new([0u8; 32]);
    OsRandom.fill(seed.as_mut());
    let mut bytes = Zeroizing::new(MAGIC.to_vec());
    bytes.extend_from_slice(seed.as_ref());
    write_new(path, &bytes)?;
    Ok(SigningKey::from_bytes(&seed))
}

pub(crate) fn load(path: &Path) -> io::Result<SigningKey> {
    let part = |path: Option<&Path>| path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("{}/{}", part(path.parent()), part(Some(path)));
    let damaged = || io::Error::other(format!("{name} is damaged. Restore it from a backup."));
    let mut file = File::open(path).map_err(|e| io::Error::new(e.kind(), format!("{name} cannot be read: {e}")))?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::other(format!("{name} is readable by others. Run `chmod 600` on it.")));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(64));
    Read::take(&mut file, 64).read_to_end(&mut bytes)?;
    let seed = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
    let mut seed: [u8; 32] = seed.try_into().map_err(|_| damaged())?;
    let key = SigningKey::from_bytes(&seed);
    seed.zeroize();
    Ok(key)
}

/// Written beside, synced, then linked into place: a crash leaves the whole file or none, never an existing one replaced.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    if beside.exists() {
        fs::remove_file(&beside)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::hard_link(&beside, path)?;
    fs::remove_file(&beside)
}

/// The operating system's generator. A process that cannot get random bytes must not make keys.
struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        if getrandom::fill(bytes).is_err() {
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests;
