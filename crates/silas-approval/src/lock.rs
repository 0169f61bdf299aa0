//! How a key that seals is itself kept: in a file of its own, in the system's keyring, or sealed with a passphrase.
//!
//! One lock file for the private keys (`keys/lock.json`) and one for the vault (`store/vault/lock.json`): the front opens
//! the second and can never open the first. Changing a lock keeps the key behind it, so that one file changes, in one
//! step. A file that cannot be read, or a key that does not fit, is an error; a new key is made only where there is none.

use crate::durable;
use crate::keyring;
use crate::sealing::{SealKey, Stretch};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use silas_core::key_service::{Ask, Protection};
use silas_core::secret::Secret;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// Shorter ones can be guessed whatever is done to them.
pub const PASSPHRASE_CHARS_MIN: usize = 8;
/// Longer than anybody types; bounds what is read.
pub const PASSPHRASE_BYTES_MAX: usize = 1024;

/// What a lock file says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    v: u8,
    /// Opens with the right key only; shows that a key fits before it is used.
    check: String,
    key: Kept,
    /// Counts the keys that were kept here, one after the other.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    number: u64,
}

fn first() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_first(number: &u64) -> bool {
    *number == first()
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Kept {
    /// Here. Whoever can read this file has it.
    File { key: String },
    /// In the system's keyring, under this name.
    Keyring { account: String },
    /// Here, sealed.
    Passphrase { stretch: Stretch, sealed: String },
}

/// How a key is to be kept from now on.
pub enum Keep {
    File,
    Keyring,
    Passphrase(Secret),
}

/// Why a lock did not open. An answer, not a failure: the key behind it is as safe as before.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unopened {
    #[error("it is locked with your passphrase")]
    Locked,
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    #[error("{0}")]
    Keyring(String),
    #[error("{0}")]
    Damaged(String),
}

const VERSION: u8 = 1;

impl Lock {
    /// Keeps `key` as told. `purpose` names what it opens and is part of what is sealed.
    pub(crate) fn make(key: &SealKey, purpose: &str, keep: &Keep, patience: Duration) -> Result<Lock, Unopened> {
        let sealed = |with: &SealKey, about: &str, what: &[u8]| {
            let sealed = with.seal(about.as_bytes(), what);
            sealed.map(|sealed| STANDARD.encode(sealed)).ok_or_else(|| Unopened::Damaged("sealing failed".to_owned()))
        };
        let kept = match keep {
            Keep::File => Kept::File { key: STANDARD.encode(key.expose()) },
            Keep::Keyring => {
                // Its own name for each: two installations of one user must not meet there.
                let mut id = [0; 8];
                crate::sealing::fill(&mut id);
                let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                let account = format!("{purpose}-{id}");
                keyring::set(&account, key, patience).map_err(Unopened::Keyring)?;
                Kept::Keyring { account }
            }
            Keep::Passphrase(passphrase) => {
                let stretch = Stretch::new();
                let with = stretch.key(passphrase).ok_or_else(|| Unopened::Damaged("stretching failed".to_owned()))?;
                Kept::Passphrase { sealed: sealed(&with, purpose, key.expose())?, stretch }
            }
        };
        Ok(Lock { v: VERSION, check: sealed(key, &check(purpose), b"")?, key: kept, number: first() })
    }

    pub(crate) fn numbered(self, number: u64) -> Lock {
        Lock { number, ..self }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// `None` if there is no such file.
    pub fn read(path: &Path) -> Result<Option<Lock>, Unopened> {
        let name = name(path);
        let damaged = |why: String| Unopened::Damaged(format!("{name} {why}. Restore it from a backup."));
        let text = match fs::read_to_string(path) {
            Ok(text) => Zeroizing::new(text),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(damaged(format!("cannot be read ({e})"))),
        };
        if durable::is_open_to_others(path).unwrap_or(true) {
            return Err(Unopened::Damaged(format!("{name} is readable by others. Run `chmod 600` on it.")));
        }
        let lock: Lock = serde_json::from_str(&text).map_err(|e| damaged(format!("is damaged ({e})")))?;
        if lock.v == VERSION { Ok(Some(lock)) } else { Err(damaged("is of another version".to_owned())) }
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let text = Zeroizing::new(serde_json::to_string_pretty(self)?);
        durable::replace(path, text.as_bytes())
    }

    pub fn protection(&self) -> Protection {
        match &self.key {
            Kept::File { .. } => Protection::Permissions,
            Kept::Keyring { .. } => Protection::Keyring,
            Kept::Passphrase { .. } => Protection::Passphrase,
        }
    }

    /// The key behind the lock. Somebody is asked only where it takes a passphrase.
    pub fn open(&self, purpose: &str, ask: Ask<'_>) -> Result<SealKey, Unopened> {
        let damaged = || Unopened::Damaged("the lock of the keys is damaged. Restore it from a backup.".to_owned());
        let bytes = |text: &str| STANDARD.decode(text).map(Zeroizing::new).map_err(|_| damaged());
        let key = match &self.key {
            Kept::File { key } => SealKey::from_slice(&bytes(key)?).ok_or_else(damaged)?,
            Kept::Keyring { account } => keyring::get(account).map_err(Unopened::Keyring)?,
            Kept::Passphrase { stretch, sealed } => {
                let passphrase = ask().ok_or(Unopened::Locked)?;
                let with = stretch.key(&passphrase).ok_or_else(damaged)?;
                let key = with.open(purpose.as_bytes(), &bytes(sealed)?).ok_or(Unopened::WrongPassphrase)?;
                SealKey::from_slice(&key).ok_or_else(damaged)?
            }
        };
        if self.fits(purpose, &key) { Ok(key) } else { Err(damaged()) }
    }

    /// Whether this is the key that the lock is about.
    pub(crate) fn fits(&self, purpose: &str, key: &SealKey) -> bool {
        let sealed = STANDARD.decode(&self.check).unwrap_or_default();
        key.open(check(purpose).as_bytes(), &sealed).is_some()
    }

    /// Takes what this lock left elsewhere away. Whether it worked: a key that stays behind there opens nothing any more
    /// once what it sealed is kept otherwise, but it is not gone either.
    pub(crate) fn clear_away(&self) -> bool {
        match &self.key {
            Kept::Keyring { account } => keyring::forget(account).is_ok(),
            Kept::File { .. } | Kept::Passphrase { .. } => true,
        }
    }
}

fn check(purpose: &str) -> String {
    format!("{purpose} check")
}

/// The file as it is called in the data directory.
fn name(path: &Path) -> String {
    let part = |path: Option<&Path>| path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    format!("{}/{}", part(path.parent()), part(Some(path)))
}

#[cfg(test)]
mod tests;
