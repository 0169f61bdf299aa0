//! The head of the ledger that this account has seen last, kept outside the data directory.
//!
//! A chain cannot show that its end was cut off, and an old copy of a data directory looks like a data directory. Against
//! this file both show: what was seen once must still be there, in the same place. It lies in
//! `~/.local/state/silas/INSTALLATION.head` and is written by commands in the terminal, never by the server, which is
//! confined to its data directory. `silas demo` is not part of anybody's history and leaves no trace here.
//!
//! What it cannot show: anything that happened since the last command, and anything at all to whoever can write both
//! places.

use crate::home::Home;
use crate::world::SystemClock;
use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use silas_core::checkpoint::Head;
use silas_core::{Clock, InstallationId, Timestamp};
use silas_store::{Reader, Store, ledger};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownHead {
    pub installation: InstallationId,
    /// Counts restores; a new one begins a new line.
    pub epoch: u64,
    pub head: Head,
    pub seen_at: Timestamp,
}

/// Compares the ledger with what this account has seen, and remembers its head. Fails loudly if it does not continue it.
pub(crate) fn follow(home: &Home) -> Result<()> {
    let reader = Store::open_read_only(&home.store())?;
    let installation = home.installation()?;
    let (epoch, head) = (home.epoch()?, reader.read(ledger::head).wait()?);
    let Some((seq, hash)) = head else { return Ok(()) };
    let Some(place) = Place::open(&installation)? else { return Ok(()) };
    if let Some(known) = place.read()? {
        known.check(epoch, &reader).with_context(|| format!("What was seen is kept in {}.", place.path.display()))?;
    }
    place.write(&KnownHead { installation, epoch, head: Head { seq, hash }, seen_at: SystemClock.now() })
}

/// A restore begins a new line on purpose. What was known before stays beside, under its epoch. Gives the old head.
pub(crate) fn begin_anew(installation: &InstallationId, epoch: u64, head: Head) -> Result<Option<Head>> {
    let Some(place) = Place::open(installation)? else { return Ok(None) };
    let known = place.read()?;
    if let Some(known) = &known {
        fs::rename(&place.path, place.path.with_extension(format!("head.{}", known.epoch)))?;
    }
    place.write(&KnownHead { installation: installation.clone(), epoch, head, seen_at: SystemClock.now() })?;
    Ok(known.map(|known| known.head))
}

/// The highest epoch that this account has seen of an installation.
pub(crate) fn epoch(installation: &InstallationId) -> Result<u64> {
    let Some(place) = Place::open(installation)? else { return Ok(0) };
    Ok(place.read()?.map_or(0, |known| known.epoch))
}

/// Keeps a small note about an installation beside its head, and gives the one that was there.
pub(crate) fn exchange_note<T: Serialize + DeserializeOwned>(
    installation: &InstallationId,
    name: &str,
    note: &T,
) -> Result<Option<T>> {
    let Some(place) = Place::open(installation)? else { return Ok(None) };
    let path = place.path.with_extension(name);
    // A note that cannot be read is no note; it is only a convenience.
    let last = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
    place.replace(&path, &serde_json::to_string(note)?)?;
    Ok(last)
}

impl KnownHead {
    /// One that was kept elsewhere.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read.", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a head of a ledger.", path.display()))
    }

    /// Whether the ledger continues this head.
    pub(crate) fn check(&self, epoch: u64, reader: &Reader) -> Result<()> {
        let Head { seq, hash } = self.head;
        let entry = reader.read(move |tx| Ok(ledger::entries(tx, seq, 1)?.into_iter().next())).wait()?;
        let last = reader.read(ledger::head).wait()?.map_or(0, |(seq, _)| seq);
        if epoch > self.epoch {
            bail!(
                "THE LEDGER DOES NOT CONTINUE WHAT WAS SEEN. It was restored from a backup, but not here. If you did \
                 that, move the file with what was seen away. If you did not, keep everything as it is and find out."
            );
        }
        if epoch < self.epoch || entry.as_ref().is_none_or(|entry| entry.seq != seq) {
            bail!(
                "THE LEDGER DOES NOT CONTINUE WHAT WAS SEEN. Entry {seq} was seen on {}, and the ledger now ends at entry \
                 {last}. Its end was cut off, or this is an old copy of the data directory. Keep everything as it is and \
                 find out; `silas restore` is the way to go back that loses nothing unnoticed.",
                self.seen_at
            );
        }
        ensure!(
            entry.is_some_and(|entry| entry.hash == hash),
            "THE LEDGER DOES NOT CONTINUE WHAT WAS SEEN. Entry {seq} is not the entry {seq} that was seen on {}. The ledger \
             was written anew. Keep everything as it is and find out.",
            self.seen_at
        );
        Ok(())
    }
}

/// The file of one installation, locked against other commands.
struct Place {
    path: PathBuf,
    _lock: File,
}

impl Place {
    /// `None` for an account without a home.
    fn open(installation: &InstallationId) -> Result<Option<Self>> {
        let Some(dir) = state_dir() else { return Ok(None) };
        let cannot = || format!("{} cannot be used to remember the head of the ledger.", dir.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).with_context(cannot)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(dir.join("lock"))
            .with_context(cannot)?;
        lock.lock().with_context(cannot)?;
        Ok(Some(Place { path: dir.join(format!("{installation}.head")), _lock: lock }))
    }

    fn read(&self) -> Result<Option<KnownHead>> {
        if !self.path.exists() {
            return Ok(None);
        }
        KnownHead::load(&self.path).map(Some)
    }

    fn write(&self, known: &KnownHead) -> Result<()> {
        self.replace(&self.path, &serde_json::to_string_pretty(known)?)
    }

    fn replace(&self, path: &Path, text: &str) -> Result<()> {
        let draft = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        Ok(fs::rename(&draft, path)?)
    }
}

pub(crate) fn state_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(base.join("silas"))
}
