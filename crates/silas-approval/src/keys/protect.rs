//! Changing what protects the private keys. The key that seals them stays, so the step that counts is one file.
//!
//! Keys that were never sealed are sealed after the lock is written: a crash in between leaves one that is still plain, the
//! protection is then told as what it is, and the next change goes on from there.

use super::files::KeyFile;
use super::{KeyTrouble, LOCK_FILE, PURPOSE, ROOT_FILE, Ring, TERMINAL_FILE, read_installation};
use crate::durable;
use crate::keyring;
use crate::lock::{Keep, Lock};
use crate::sealing::SealKey;
use silas_core::key_service::{Ask, Protection};
use std::path::Path;

/// How the keys are kept. Those of one that is still plain count for all.
pub fn protection(keys: &Path) -> Result<Protection, KeyTrouble> {
    for name in [ROOT_FILE, TERMINAL_FILE] {
        if matches!(KeyFile::read(&keys.join(name))?, KeyFile::Plain(_)) {
            return Ok(Protection::Permissions);
        }
    }
    match Lock::read(&keys.join(LOCK_FILE))? {
        Some(lock) => Ok(lock.protection()),
        None => super::refuse("keys/lock.json is missing. Restore it from a backup."),
    }
}

/// Keeps the keys as told from now on. `ask` is asked for the passphrase that holds until then, where there is one.
pub fn protect(keys: &Path, ask: Ask<'_>, keep: &Keep) -> Result<Protection, KeyTrouble> {
    // Two of these at once would each believe in their own key.
    let _alone = alone(keys)?;
    read_installation(keys)?;
    let mut ring = Ring { dir: keys, ask, seal: None };
    let old = ring.lock()?;
    let seal = match ring.seal()? {
        Some(seal) => seal,
        None => SealKey::random(),
    };
    Lock::make(&seal, PURPOSE, keep, keyring::WITH_A_QUESTION)?.write(&keys.join(LOCK_FILE))?;
    for name in [ROOT_FILE, TERMINAL_FILE] {
        if let KeyFile::Plain(seed) = KeyFile::read(&keys.join(name))? {
            durable::replace(&keys.join(name), &seed.sealed(&seal, name)?)?;
        }
    }
    if let Some(old) = old {
        // What cannot be taken away now opens nothing by itself: the sealed keys are still needed beside it.
        let _left = old.clear_away();
    }
    protection(keys)
}

pub(super) fn alone(keys: &Path) -> Result<std::fs::File, KeyTrouble> {
    let file = std::fs::File::open(keys)?;
    file.try_lock().map_err(|_| KeyTrouble::Refused("the keys are being changed already".to_owned()))?;
    Ok(file)
}
