//! A new key for the vault: every secret is sealed anew, in a directory beside, which then takes the vault's place.
//!
//! ```text
//! vault.making   being written; a crash leaves it behind, and it is thrown away
//! vault.next     complete and on disk: from here on there is only forward
//! vault.old      what the vault was, until it is gone
//! ```
//!
//! So at every instant one whole vault is there, under the old key or under the new one. [`settle`] comes before every
//! other use of the vault and finishes what was begun.

use super::{Found, LOCK_FILE, PURPOSE, SUFFIX, Vault, VaultTrouble};
use crate::keyring;
use crate::lock::{Keep, Lock, Unopened};
use crate::sealing::SealKey;
use silas_core::fail::{self, FailPoint};
use silas_core::key_service::{Ask, Protection};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The vault and what may lie beside it.
struct Places {
    vault: PathBuf,
    making: PathBuf,
    next: PathBuf,
    old: PathBuf,
}

/// Seals everything anew, kept as before: by file, keyring or the same passphrase. Only while no server runs. Gives how
/// many secrets there are.
pub fn rotate(vault: &Path, ask: Ask<'_>) -> Result<usize, VaultTrouble> {
    let places = Places::of(vault);
    let _alone = places.alone()?;
    places.settle()?;
    let none = || Unopened::Damaged("there is no vault yet. Start Silas once with `silas`.".to_owned());
    let lock = Lock::read(&vault.join(LOCK_FILE))?.ok_or_else(none)?;
    let keep = match lock.protection() {
        Protection::Permissions => Keep::File,
        Protection::Keyring => Keep::Keyring,
        Protection::Passphrase => Keep::Passphrase(ask().ok_or(Unopened::Locked)?),
    };
    let key = lock.open(PURPOSE, &mut || match &keep {
        Keep::Passphrase(said) => Some(said.clone()),
        Keep::File | Keep::Keyring => None,
    })?;
    let old = Vault { dir: vault.to_owned(), key: Mutex::new(Some(key)) };
    match places.reseal(&old, &lock, &keep) {
        Ok(n_secrets) => {
            fail::point(FailPoint::VaultResealed);
            fs::rename(&places.making, &places.next)?;
            places.sync()?;
            fail::point(FailPoint::VaultDecided);
            places.settle()?;
            Ok(n_secrets)
        }
        Err(trouble) => {
            places.discard(&places.making)?;
            Err(trouble)
        }
    }
}

/// After a crash: forward if the new vault was complete, back otherwise.
pub(super) fn settle(vault: &Path) -> Result<(), VaultTrouble> {
    let places = Places::of(vault);
    if !places.has_traces() {
        return Ok(());
    }
    let _alone = places.alone()?;
    places.settle()
}

impl Places {
    fn of(vault: &Path) -> Self {
        let beside = |what: &str| {
            let mut name = vault.file_name().unwrap_or_default().to_owned();
            name.push(what);
            vault.with_file_name(name)
        };
        Places { vault: vault.to_owned(), making: beside(".making"), next: beside(".next"), old: beside(".old") }
    }

    fn has_traces(&self) -> bool {
        [&self.making, &self.next, &self.old].iter().any(|trace| trace.exists())
    }

    /// Two of these at once would each throw away what the other makes.
    fn alone(&self) -> Result<File, VaultTrouble> {
        let parent = File::open(self.parent())?;
        match parent.try_lock() {
            Ok(()) => Ok(parent),
            Err(_) => Err(VaultTrouble::Busy),
        }
    }

    fn parent(&self) -> &Path {
        self.vault.parent().unwrap_or(Path::new("."))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(self.parent())?.sync_all()
    }

    fn reseal(&self, old: &Vault, lock: &Lock, keep: &Keep) -> Result<usize, VaultTrouble> {
        DirBuilder::new().mode(0o700).create(&self.making)?;
        let key = SealKey::random();
        let made = Lock::make(&key, PURPOSE, keep, keyring::WITH_A_QUESTION)?.numbered(lock.number() + 1);
        made.write(&self.making.join(LOCK_FILE))?;
        let new = Vault { dir: self.making.clone(), key: Mutex::new(Some(key)) };
        let listed = old.list()?;
        let mut n_files = 0;
        for entry in fs::read_dir(&old.dir)? {
            n_files += usize::from(entry?.file_name().to_string_lossy().ends_with(SUFFIX));
        }
        if n_files != listed.len() {
            let why = "the vault holds a file that is no secret of Silas. Take it out of store/vault.".to_owned();
            return Err(Unopened::Damaged(why).into());
        }
        for secret in &listed {
            let reference = &secret.reference;
            let damaged = || {
                let why =
                    format!("the secret {reference} is damaged. Set it again, or remove it with `silas secret rm`");
                VaultTrouble::Unopened(Unopened::Damaged(why))
            };
            let Found::Value(value) = old.get(reference) else { return Err(damaged()) };
            new.put(reference, &value, secret.set_at)?;
            // What is thrown away next must be readable here.
            if new.get(reference) != Found::Value(value) {
                return Err(damaged());
            }
        }
        File::open(&self.making)?.sync_all()?;
        Ok(listed.len())
    }

    fn settle(&self) -> Result<(), VaultTrouble> {
        if self.making.exists() {
            self.discard(&self.making)?;
        }
        if self.next.exists() {
            if self.vault.exists() {
                if self.old.exists() {
                    self.discard(&self.old)?;
                }
                fs::rename(&self.vault, &self.old)?;
                self.sync()?;
                fail::point(FailPoint::VaultSetAside);
            }
            fs::rename(&self.next, &self.vault)?;
            self.sync()?;
            fail::point(FailPoint::VaultInPlace);
        }
        if !self.old.exists() {
            return Ok(());
        }
        if !self.vault.exists() {
            let why = "store/vault is missing. Restore it from a backup.".to_owned();
            return Err(Unopened::Damaged(why).into());
        }
        Ok(self.discard(&self.old)?)
    }

    /// Takes a vault away that is not one any more, and its key first.
    fn discard(&self, dir: &Path) -> io::Result<()> {
        let lock = dir.join(LOCK_FILE);
        if let Ok(Some(known)) = Lock::read(&lock) {
            // What stays in the keyring opens nothing that is left.
            let _left = known.clear_away();
        }
        if let Ok(meta) = fs::metadata(&lock) {
            // As far as the file system goes along: a drive may keep what was there.
            let mut file = OpenOptions::new().write(true).open(&lock)?;
            file.write_all(&vec![0; usize::try_from(meta.len()).unwrap_or_default()])?;
            file.sync_all()?;
        }
        fs::remove_dir_all(dir)?;
        self.sync()
    }
}

#[cfg(test)]
mod tests;
