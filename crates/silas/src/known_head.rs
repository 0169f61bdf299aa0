//! The head of the ledger that this account has seen last, kept outside the data directory.
//!
//! A chain cannot show that its end was cut off, and an old copy of a data directory looks like a data directory. Against
//! what is kept here both show. It lies in `~/.local/state/silas` and is written by commands in the terminal, never by the
//! server, which is confined to its data directory. `silas demo` is not part of anybody's history and leaves no trace here.
//!
//! Two things are kept, because they answer two questions. `INSTALLATION.EPOCH.head` is the head of one *line*: every restore
//! begins a new one, and a directory of that line must continue it, wherever it lies. `INSTALLATION.places` says which line
//! lies *where*: a directory that is of an older line than the one seen at its place was put back past a restore. So a
//! backup that is tried out elsewhere is a line of its own and disturbs nobody, and a directory that is moved keeps its line.
//!
//! What it cannot show: anything that happened since the last command, and anything at all to whoever can write both
//! places.

mod places;

use crate::exit::Unreadable;
use crate::home::Home;
use crate::named_file;
use crate::same_silas;
use crate::wall_clock::minute;
use crate::world::SystemClock;
use anyhow::{Context, Result, bail, ensure};
use places::Places;
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

/// More than any head has.
const HEAD_BYTES_MAX: u64 = 64 << 10;
/// The way out for an owner who knows why. It is never taken unasked.
const WAY_OUT: &str = "If you put this data there yourself and know why, `silas audit accept` shows what differs and, with \
                       `--yes`, goes on from what is there; what was seen before is kept.";

/// Compares the ledger with what this account has seen, and remembers its head. Fails loudly if it does not continue it.
pub(crate) fn follow(home: &Home) -> Result<()> {
    let reader = Store::open_read_only(&home.store())?;
    let installation = home.installation()?;
    let (epoch, head) = (home.epoch()?, reader.read(ledger::head).wait()?);
    let Some((seq, hash)) = head else { return Ok(()) };
    let Some(memory) = Memory::open(&installation)? else { return Ok(()) };
    if let Some(known) = memory.about(&home.path, epoch)? {
        known.check(epoch, &reader).context_last(WAY_OUT)?;
    }
    let now = KnownHead { installation, epoch, head: Head { seq, hash }, seen_at: SystemClock.now() };
    memory.remember(&home.path, &now)
}

/// The owner knows why the ledger does not continue what was seen: from here on it is compared with what is there. What was
/// seen is kept beside. Gives what was known, if anything was.
pub(crate) fn accept(home: &Home) -> Result<Option<KnownHead>> {
    let reader = Store::open_read_only(&home.store())?;
    let (installation, epoch) = (home.installation()?, home.epoch()?);
    let head = reader
        .read(ledger::head)
        .wait()?
        .with_context(|| format!("There is no ledger yet. Start Silas once with `{}`.", same_silas::start()))?;
    let Some(memory) = Memory::open(&installation)? else { return Ok(None) };
    let known = memory.about(&home.path, epoch)?;
    memory.put_aside(epoch)?;
    let now = KnownHead { installation, epoch, head: Head { seq: head.0, hash: head.1 }, seen_at: SystemClock.now() };
    memory.remember(&home.path, &now)?;
    Ok(known)
}

/// What this account knows of the data directory, for whoever finds its databases gone.
pub(crate) fn known_of(home: &Home) -> Result<Option<KnownHead>> {
    let Some(memory) = Memory::open(&home.installation()?)? else { return Ok(None) };
    memory.about(&home.path, home.epoch()?)
}

/// A restore begins a new line on purpose. Those from before stay. Gives the head that was known of what lay there.
pub(crate) fn begin_anew(path: &Path, installation: &InstallationId, epoch: u64, head: Head) -> Result<Option<Head>> {
    let Some(memory) = Memory::open(installation)? else { return Ok(None) };
    let known = memory.at(path)?;
    let now = KnownHead { installation: installation.clone(), epoch, head, seen_at: SystemClock.now() };
    memory.remember(path, &now)?;
    Ok(known.map(|known| known.head))
}

/// The highest epoch that this account has seen of an installation.
pub(crate) fn epoch(installation: &InstallationId) -> Result<u64> {
    let Some(memory) = Memory::open(installation)? else { return Ok(0) };
    memory.highest_epoch()
}

/// Keeps a small note about an installation beside its head, and gives the one that was there.
pub(crate) fn exchange_note<T: Serialize + DeserializeOwned>(
    installation: &InstallationId,
    name: &str,
    note: &T,
) -> Result<Option<T>> {
    let Some(memory) = Memory::open(installation)? else { return Ok(None) };
    let path = memory.file(name);
    // A note that cannot be read is no note; it is only a convenience.
    let last = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
    memory.replace(&path, &serde_json::to_string(note)?)?;
    Ok(last)
}

/// Said after the trouble itself, not before it.
trait ContextLast {
    fn context_last(self, words: &str) -> Result<()>;
}

impl ContextLast for Result<()> {
    fn context_last(self, words: &str) -> Result<()> {
        self.map_err(|cause| anyhow::anyhow!("{} {words}", crate::exit::sentences(&cause)))
    }
}

impl KnownHead {
    /// One that was kept elsewhere.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let bytes = named_file::read(path, HEAD_BYTES_MAX).map_err(|cause| Unreadable::new(path, &cause))?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} is not a head of a ledger.", path.display()))
    }

    /// Whether the ledger continues this head.
    pub(crate) fn check(&self, epoch: u64, reader: &Reader) -> Result<()> {
        let Head { seq, hash } = self.head;
        let entry = reader.read(move |tx| Ok(ledger::entries(tx, seq, 1)?.into_iter().next())).wait()?;
        let last = reader.read(ledger::head).wait()?.map_or(0, |(seq, _)| seq);
        if epoch > self.epoch {
            bail!(
                "THE LEDGER DOES NOT CONTINUE WHAT WAS SEEN. It was restored from a backup, but not by this account. If you \
                 did not do that, keep everything as it is and find out."
            );
        }
        if epoch < self.epoch || entry.as_ref().is_none_or(|entry| entry.seq != seq) {
            bail!(
                "THE LEDGER DOES NOT CONTINUE WHAT WAS SEEN. Entry {seq} was seen on {}, and the ledger now ends at entry \
                 {last}. Its end was cut off, or this is an old copy of the data directory. Keep everything as it is and \
                 find out; `silas restore` is the way to go back that loses nothing unnoticed.",
                minute(self.seen_at)
            );
        }
        ensure!(
            entry.is_some_and(|entry| entry.hash == hash),
            "THE LEDGER DOES NOT CONTINUE WHAT WAS SEEN. Entry {seq} is not the entry {seq} that was seen on {}. The ledger \
             was written anew. Keep everything as it is and find out.",
            minute(self.seen_at)
        );
        Ok(())
    }
}

/// What is kept of one installation, locked against other commands.
struct Memory {
    dir: PathBuf,
    installation: InstallationId,
    _lock: File,
}

impl Memory {
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
        Ok(Some(Memory { dir, installation: installation.clone(), _lock: lock }))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{}.{name}", self.installation))
    }

    fn line(&self, epoch: u64) -> PathBuf {
        self.file(&format!("{epoch}.head"))
    }

    /// Earlier versions kept one head for an installation, wherever it lay. It counts until a place is known.
    fn only(&self) -> PathBuf {
        self.file("head")
    }

    /// What a directory at this place and of this line must continue: what lay there, else what was seen of its line.
    fn about(&self, path: &Path, epoch: u64) -> Result<Option<KnownHead>> {
        match Places::read(&self.file("places"))?.epoch_at(path) {
            // The line of the place, not that of the directory: if the two differ, that is what has to be found out.
            Some(there) if there != epoch => {
                let line = load(&self.line(there))?;
                Ok(Some(line.context("What was seen of this data directory is missing from ~/.local/state/silas.")?))
            }
            Some(_) => load(&self.line(epoch)),
            None => Ok(load(&self.line(epoch))?.or(load(&self.only())?)),
        }
    }

    /// What was last seen at this place.
    fn at(&self, path: &Path) -> Result<Option<KnownHead>> {
        match Places::read(&self.file("places"))?.epoch_at(path) {
            Some(epoch) => load(&self.line(epoch)),
            None => load(&self.only()),
        }
    }

    fn highest_epoch(&self) -> Result<u64> {
        let mut highest = load(&self.only())?.map_or(0, |known| known.epoch);
        let prefix = format!("{}.", self.installation);
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let epoch = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".head"));
            highest = highest.max(epoch.and_then(|epoch| epoch.parse().ok()).unwrap_or(0));
        }
        Ok(highest)
    }

    /// The line first: cut off in between, the place still names a line that is known.
    fn remember(&self, path: &Path, now: &KnownHead) -> Result<()> {
        self.replace(&self.line(now.epoch), &serde_json::to_string_pretty(now)?)?;
        let file = self.file("places");
        let mut places = Places::read(&file)?;
        if places.put(path, now.epoch) {
            self.replace(&file, &serde_json::to_string_pretty(&places)?)?;
        }
        // Said by the line from here on, if it was about this one.
        if load(&self.only())?.is_some_and(|only| only.epoch == now.epoch) {
            fs::remove_file(self.only())?;
        }
        Ok(())
    }

    /// Keeps what was seen of a line, and of an installation by earlier versions, under another name.
    fn put_aside(&self, epoch: u64) -> Result<()> {
        let stamp = SystemClock.now().micros();
        for path in [self.line(epoch), self.only()] {
            if path.exists() {
                let mut aside = path.clone().into_os_string();
                aside.push(format!(".{stamp}"));
                fs::rename(&path, aside)?;
            }
        }
        Ok(())
    }

    fn replace(&self, path: &Path, text: &str) -> Result<()> {
        let draft = self.file("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        Ok(fs::rename(&draft, path)?)
    }
}

fn load(path: &Path) -> Result<Option<KnownHead>> {
    if !path.exists() {
        return Ok(None);
    }
    KnownHead::load(path).map(Some)
}

pub(crate) fn state_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(base.join("silas"))
}
