//! The vault: the values of service secrets, one sealed file each, and the one key that opens them.
//!
//! The front holds it, open or locked, and nobody else: neither the launcher nor the key helper can read a value. What a
//! secret is called and when it was set can be listed while the vault is locked; a value comes out only by its name.
//!
//! Architecture invariant: a value is in no other file, log, ledger or database. Deliberately absent: deciding who may
//! have a value; whoever asks here was granted it.

mod rotate;

pub use rotate::rotate;

use crate::durable;
use crate::keyring;
use crate::lock::{Keep, Lock, Unopened};
use crate::sealing::SealKey;
use silas_core::Timestamp;
use silas_core::key_service::{Ask, Protection};
use silas_core::number::grouped;
use silas_core::secret::{SECRET_BYTES_MAX, Secret, SecretRef};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const LOCK_FILE: &str = "lock.json";
/// What an entry is called after its name.
const SUFFIX: &str = ".secret";
const MAGIC: &[u8; 8] = b"silas-v1";
const PURPOSE: &str = "silas vault";
/// A person has a few dozen; more is a mistake or somebody filling the disk.
pub const ENTRIES_MAX: usize = 1000;

pub struct Vault {
    dir: PathBuf,
    /// `None` while it is locked. Written by whoever unlocks or locks, read for every value.
    key: Mutex<Option<SealKey>>,
}

/// What came of asking for a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    Value(Secret),
    Unknown,
    Locked,
    Damaged,
}

/// A secret as it may be shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Listed {
    pub reference: SecretRef,
    pub set_at: Timestamp,
}

/// Why a change came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum VaultTrouble {
    #[error("The vault is locked.")]
    Locked,
    #[error(transparent)]
    Unopened(#[from] Unopened),
    #[error("The vault is full: {} secrets at most.", grouped(ENTRIES_MAX))]
    Full,
    #[error("A secret needs a value of 1 to {} bytes.", grouped(SECRET_BYTES_MAX))]
    Size,
    #[error("The vault is being changed by another command.")]
    Busy,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Vault {
    /// Opens as far as it can be without asking anybody. Made where there is none. `fetch` is called for a key that lies
    /// in the keyring, because asking for it takes a process of its own.
    pub fn open(dir: &Path, fetch: impl FnOnce() -> Option<SealKey>) -> Result<Vault, VaultTrouble> {
        rotate::settle(dir)?;
        if !dir.exists() {
            DirBuilder::new().mode(0o700).create(dir)?;
        }
        let path = dir.join(LOCK_FILE);
        let vault = |key| Vault { dir: dir.to_owned(), key: Mutex::new(key) };
        let Some(lock) = Lock::read(&path)? else {
            if has_entries(dir)? {
                let why = "vault/lock.json is missing. Restore it from a backup.".to_owned();
                return Err(Unopened::Damaged(why).into());
            }
            let key = SealKey::random();
            Lock::make(&key, PURPOSE, &Keep::File, keyring::AT_ONCE)?.write(&path)?;
            return Ok(vault(Some(key)));
        };
        Ok(vault(match lock.protection() {
            Protection::Permissions => Some(lock.open(PURPOSE, &mut || None)?),
            Protection::Keyring => fetch().filter(|key| lock.fits(PURPOSE, key)),
            Protection::Passphrase => None,
        }))
    }

    /// Opens it with its key. Refused if it is another's.
    pub fn unlock(&self, key: SealKey) -> Result<(), VaultTrouble> {
        let damaged = || Unopened::Damaged("vault/lock.json is missing. Restore it from a backup.".to_owned());
        let lock = Lock::read(&self.dir.join(LOCK_FILE))?.ok_or_else(damaged)?;
        if !lock.fits(PURPOSE, &key) {
            return Err(Unopened::WrongPassphrase.into());
        }
        *self.key() = Some(key);
        Ok(())
    }

    /// Forgets the key, if there is something to ask for it again. Whether it is locked now.
    pub fn lock(&self) -> Result<bool, VaultTrouble> {
        if protection(&self.dir)? == Protection::Permissions {
            return Ok(false);
        }
        *self.key() = None;
        Ok(true)
    }

    pub fn is_locked(&self) -> bool {
        self.key().is_none()
    }

    /// Counts the keys that this vault has had; 1 until the first is exchanged for another.
    pub fn number(&self) -> Result<u64, VaultTrouble> {
        Ok(Lock::read(&self.dir.join(LOCK_FILE))?.map_or(1, |lock| lock.number()))
    }

    pub fn get(&self, reference: &SecretRef) -> Found {
        let Some(key) = self.key().clone() else { return Found::Locked };
        let bytes = match fs::read(self.path(reference)) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Found::Unknown,
            Err(_) => return Found::Damaged,
        };
        let Some((set_at, sealed)) = split(&bytes) else { return Found::Damaged };
        match key.open(&about(reference, set_at), sealed) {
            Some(plain) => Found::Value(Secret::new(plain.to_vec())),
            None => Found::Damaged,
        }
    }

    /// Sets or replaces a value.
    pub fn put(&self, reference: &SecretRef, value: &Secret, at: Timestamp) -> Result<(), VaultTrouble> {
        let key = self.key().clone().ok_or(VaultTrouble::Locked)?;
        if value.expose().is_empty() || value.expose().len() > SECRET_BYTES_MAX {
            return Err(VaultTrouble::Size);
        }
        let path = self.path(reference);
        if !path.exists() && self.list()?.len() >= ENTRIES_MAX {
            return Err(VaultTrouble::Full);
        }
        let sealed = key.seal(&about(reference, at), value.expose());
        let sealed = sealed.ok_or_else(|| io::Error::other("sealing failed"))?;
        Ok(durable::replace(&path, &[MAGIC.as_slice(), &at.micros().to_le_bytes(), &sealed].concat())?)
    }

    /// Whether there was one. Needs no key: what is gone need not be read.
    pub fn remove(&self, reference: &SecretRef) -> Result<bool, VaultTrouble> {
        match durable::remove(&self.path(reference)) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Names and times, by name.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let reference = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)).map(SecretRef::parse);
            if let Some(Ok(reference)) = reference {
                let set_at = split(&fs::read(entry.path())?).map_or(Timestamp::EPOCH, |(at, _)| at);
                listed.push(Listed { reference, set_at });
            }
        }
        listed.sort();
        Ok(listed)
    }

    /// What the vault has written down about one secret, whether it is locked or not.
    pub fn record(&self, reference: &SecretRef) -> io::Result<Option<Listed>> {
        match fs::read(self.path(reference)) {
            Ok(bytes) => {
                let set_at = split(&bytes).map_or(Timestamp::EPOCH, |(at, _)| at);
                Ok(Some(Listed { reference: reference.clone(), set_at }))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn path(&self, reference: &SecretRef) -> PathBuf {
        self.dir.join(format!("{reference}{SUFFIX}"))
    }

    fn key(&self) -> MutexGuard<'_, Option<SealKey>> {
        // Written in one assignment, so it is whole whatever happened to whoever held it.
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the vault's key is kept.
pub fn protection(dir: &Path) -> Result<Protection, VaultTrouble> {
    rotate::settle(dir)?;
    Ok(Lock::read(&dir.join(LOCK_FILE))?.map_or(Protection::Permissions, |lock| lock.protection()))
}

/// The key of a vault, for whoever hands it to the front.
pub fn key(dir: &Path, ask: Ask<'_>) -> Result<SealKey, VaultTrouble> {
    rotate::settle(dir)?;
    let damaged = || Unopened::Damaged("there is no vault yet. Start Silas once with `silas`.".to_owned());
    let lock = Lock::read(&dir.join(LOCK_FILE))?.ok_or_else(damaged)?;
    Ok(lock.open(PURPOSE, ask)?)
}

/// Keeps the vault's key as told from now on. The key stays, and with it what a running front has open.
pub fn protect(dir: &Path, ask: Ask<'_>, keep: &Keep) -> Result<(), VaultTrouble> {
    rotate::settle(dir)?;
    let path = dir.join(LOCK_FILE);
    let old = Lock::read(&path)?;
    let key = match &old {
        Some(lock) => lock.open(PURPOSE, ask)?,
        None if dir.exists() && has_entries(dir)? => {
            return Err(Unopened::Damaged("vault/lock.json is missing. Restore it from a backup.".to_owned()).into());
        }
        None => SealKey::random(),
    };
    if !dir.exists() {
        DirBuilder::new().mode(0o700).create(dir)?;
    }
    let made = Lock::make(&key, PURPOSE, keep, keyring::WITH_A_QUESTION)?;
    made.numbered(old.as_ref().map_or(1, Lock::number)).write(&path)?;
    if let Some(old) = old {
        // What cannot be taken away now is a key to a vault that lies in this account's own files.
        let _left = old.clear_away();
    }
    Ok(())
}

/// The files of a vault, for a backup. All of them are sealed, except a lock that says otherwise.
pub fn is_part(name: &str) -> bool {
    name == LOCK_FILE || name.strip_suffix(SUFFIX).is_some_and(|reference| SecretRef::parse(reference).is_ok())
}

fn has_entries(dir: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(dir)? {
        if entry?.file_name().to_str().is_some_and(|name| name.ends_with(SUFFIX)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn split(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (at, sealed) = bytes.strip_prefix(MAGIC)?.split_at_checked(8)?;
    Some((Timestamp::from_micros(i64::from_le_bytes(at.try_into().ok()?)), sealed))
}

/// Bound to its name and its time, so that neither an entry nor an older value can take another's place unnoticed.
fn about(reference: &SecretRef, at: Timestamp) -> Vec<u8> {
    [b"silas secret\0", reference.as_str().as_bytes(), b"\0", &at.micros().to_le_bytes()].concat()
}

#[cfg(test)]
mod tests;
