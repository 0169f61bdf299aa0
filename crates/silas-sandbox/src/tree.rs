//! Walks a directory and writes down every file in it, copying it on the way if a copy is wanted.
//!
//! Files, symlinks and directories only; anything else is refused by its name. Mount points are refused too: files cannot
//! be exchanged across them. What Silas itself keeps there is passed over.

use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::{Error, observe};
use serde::{Deserialize, Serialize};
use silas_core::changeset::FileState;
use silas_core::number::grouped;
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::fs::{FileTimes, Permissions};
use std::io;
use std::ops::Bound;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

/// What a directory held.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) files: BTreeMap<RelPath, FileState>,
    /// With their permission bits.
    pub(crate) dirs: BTreeMap<RelPath, u32>,
    pub(crate) bytes: u64,
    /// How each file looked from outside when it was read.
    pub(crate) stamps: BTreeMap<RelPath, Stamp>,
    /// Whether something in it belongs to somebody else than the directory itself.
    pub(crate) is_mixed: bool,
}

/// A file that was written to has another stamp: nobody can set the time of the last change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    #[serde(with = "instant")]
    modified: SystemTime,
    #[serde(with = "instant")]
    changed: SystemTime,
    /// Whether the last change was so recent when the file was read that another could have got the same time.
    is_fresh: bool,
}

/// What is done with `.git` at the top.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Git {
    /// It is the owner's repository: shown to the work read-only from its own place, never copied.
    PassOver,
    /// There was none; if there is one now, the work made it.
    Visit,
}

/// More than the source trees that people have, less than what copying would make them wait for.
const ENTRIES_MAX: usize = 200_000;
const BYTES_MAX: u64 = 4 << 30;

/// Staging directories begin with this; see [`crate::stage`].
pub(crate) const STAGE_PREFIX: &str = ".silas-";
pub(crate) const GIT: &[u8] = b".git";

/// Copies everything from one directory into another, empty one, and says what it was.
pub(crate) fn copy(from: &Dir, to: &Dir, git: Git, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
    record(from, Some(to), git, None, lifeline)
}

pub(crate) fn snapshot(of: &Dir, git: Git, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
    record(of, None, git, None, lifeline)
}

/// Like [`snapshot`], but reads only files that do not look exactly as they did when they were known.
pub(crate) fn look_again(of: &Dir, git: Git, known: &Manifest, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
    record(of, None, git, Some(known), lifeline)
}

fn record(
    from: &Dir,
    to: Option<&Dir>,
    git: Git,
    known: Option<&Manifest>,
    lifeline: Lifeline<'_>,
) -> Result<Manifest, Error> {
    let mut manifest = Manifest::default();
    let owner = from.own_stat().doing(|| "Reading the directory".to_owned())?;
    walk(from, git, &mut |dir, path, stat| {
        lifeline.holds()?;
        manifest.has_room()?;
        manifest.is_mixed |= (stat.uid, stat.gid) != (owner.uid, owner.gid);
        let (parent, name) = split(&path);
        let to = to.map(|to| to.below(parent)).transpose().doing(|| format!("Copying {path}"))?;
        match stat.kind {
            Kind::Directory => {
                if let Some(to) = to {
                    to.mkdir(name, stat.mode | 0o700).doing(|| format!("Copying {path}"))?;
                }
                manifest.dirs.insert(path, stat.mode);
            }
            Kind::Link => {
                let target = dir.read_link(name).doing(|| format!("Reading {path}"))?;
                if let Some(to) = to {
                    to.symlink(name, &target).doing(|| format!("Copying {path}"))?;
                }
                manifest.files.insert(path, observe::link(&target));
            }
            Kind::File => {
                let stamp = Stamp::of(stat);
                let state = match known.and_then(|known| known.unless_touched(&path, &stamp, stat.mode)) {
                    Some(state) => {
                        manifest.bytes += stat.size;
                        state
                    }
                    None => manifest.read_file(dir, name, stat, to.as_ref(), &path)?,
                };
                manifest.stamps.insert(path.clone(), stamp);
                manifest.files.insert(path, state);
            }
            Kind::Special(kind) => return Err(Error::unsupported(kind, path)),
        }
        Ok(())
    })?;
    Ok(manifest)
}

fn file(dir: &Dir, name: &[u8], stat: &Stat, to: Option<&Dir>, room: u64) -> io::Result<(FileState, u64)> {
    let mut from = dir.read(name)?;
    let (hash, bytes) = match to {
        None => observe::pour(&mut from, &mut io::sink(), room)?,
        Some(to) => {
            let mut copy = to.create(name)?;
            let poured = observe::pour(&mut from, &mut copy, room)?;
            copy.set_permissions(Permissions::from_mode(stat.mode))?;
            // Build tools compare times; a copy in which everything is new would be rebuilt, or worse, not.
            copy.set_times(FileTimes::new().set_modified(stat.modified))?;
            poured
        }
    };
    Ok((FileState::File { hash, mode: stat.mode }, bytes))
}

/// Coarser than the clock of any file system that matters.
const FRESH: Duration = Duration::from_secs(2);

impl Stamp {
    fn of(stat: &Stat) -> Stamp {
        let age = SystemTime::now().duration_since(stat.changed).unwrap_or_default();
        Stamp {
            inode: stat.inode,
            size: stat.size,
            modified: stat.modified,
            changed: stat.changed,
            is_fresh: age < FRESH,
        }
    }

    pub(crate) fn is_same_file(&self, other: &Stamp) -> bool {
        let seen = |s: &Stamp| (s.inode, s.size, s.modified, s.changed);
        seen(self) == seen(other)
    }
}

/// A time of a file as seconds and nanoseconds; files may be older than the epoch.
mod instant {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    pub(super) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        let (is_after, span) = match time.duration_since(UNIX_EPOCH) {
            Ok(span) => (true, span),
            Err(before) => (false, before.duration()),
        };
        (is_after, span.as_secs(), span.subsec_nanos()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let (is_after, secs, nanos) = <(bool, u64, u32)>::deserialize(from)?;
        let span = Duration::new(secs, nanos.min(999_999_999));
        let time = if is_after { UNIX_EPOCH.checked_add(span) } else { UNIX_EPOCH.checked_sub(span) };
        time.ok_or_else(|| de::Error::custom("a time that cannot be"))
    }
}

pub(crate) type Visit<'v> = &'v mut dyn FnMut(&Dir, RelPath, &Stat) -> Result<(), Error>;

/// Parents come before what is in them.
pub(crate) fn walk(root: &Dir, git: Git, visit: Visit<'_>) -> Result<(), Error> {
    let device = root.own_stat().doing(|| "Reading the directory".to_owned())?.device;
    let mut pending = vec![Vec::new()];
    while let Some(at) = pending.pop() {
        let shown = || String::from_utf8_lossy(&at).into_owned();
        let dir = match root.below(&at) {
            Err(e) if e.raw_os_error() == Some(libc::EXDEV) => {
                return Err(Error::unsupported("a mount point", shown()));
            }
            opened => opened.doing(|| format!("Reading {}", shown()))?,
        };
        for name in dir.names(ENTRIES_MAX + 1).doing(|| format!("Reading {}", shown()))? {
            // What vanished between listing and looking is as if it had never been listed.
            let Some(stat) = dir.stat(&name).doing(|| format!("Reading {}", shown()))? else { continue };
            if is_passed_over(&at, &name, &stat, git) {
                continue;
            }
            let bytes = if at.is_empty() { name } else { [at.as_slice(), b"/", &name].concat() };
            let path = RelPath::from_bytes(&bytes).map_err(|e| Error::unsupported("a name", e))?;
            if stat.kind == Kind::Directory && stat.device != device {
                return Err(Error::unsupported("a mount point", path));
            }
            visit(&dir, path, &stat)?;
            if stat.kind == Kind::Directory {
                pending.push(bytes);
            }
        }
    }
    Ok(())
}

fn is_passed_over(at: &[u8], name: &[u8], stat: &Stat, git: Git) -> bool {
    let is_repository = git == Git::PassOver && at.is_empty() && name == GIT && stat.kind != Kind::Link;
    is_repository || stat.kind == Kind::Directory && is_stage(name) || stat.is_whiteout && is_stage(name)
}

/// What Silas itself keeps in a directory while something can be undone.
pub(crate) fn is_stage(name: &[u8]) -> bool {
    name.starts_with(b".silas-exec-")
}

impl Manifest {
    pub(crate) fn has_room(&self) -> Result<(), Error> {
        if self.files.len() + self.dirs.len() < ENTRIES_MAX {
            return Ok(());
        }
        Err(Error::TooLarge(format!(
            "The directory has more than {} files. Choose a smaller one.",
            grouped(ENTRIES_MAX)
        )))
    }

    /// Reads a file, copying it on the way if a copy is wanted, and counts its bytes.
    pub(crate) fn read_file(
        &mut self,
        dir: &Dir,
        name: &[u8],
        stat: &Stat,
        to: Option<&Dir>,
        path: &RelPath,
    ) -> Result<FileState, Error> {
        let room = BYTES_MAX.saturating_sub(self.bytes);
        match file(dir, name, stat, to, room) {
            Err(e) if e.kind() == io::ErrorKind::FileTooLarge => {
                Err(Error::TooLarge("The directory holds more than 4 GiB. Choose a smaller one.".to_owned()))
            }
            read => {
                let (state, bytes) = read.doing(|| format!("Reading {path}"))?;
                self.bytes += bytes;
                Ok(state)
            }
        }
    }

    pub(crate) fn size_of(&self, path: &RelPath) -> Option<u64> {
        self.stamps.get(path).map(|stamp| stamp.size)
    }

    /// What a file was known to be, if it cannot have been written to since.
    fn unless_touched(&self, path: &RelPath, now: &Stamp, mode: u32) -> Option<FileState> {
        let stamp = self.stamps.get(path)?;
        let state = self.files.get(path)?;
        let is_mode = matches!(state, FileState::File { mode: known, .. } if *known == mode);
        (is_mode && !stamp.is_fresh && stamp.is_same_file(now)).then(|| state.clone())
    }

    /// Puts a file where there was a file, a directory or nothing.
    pub(crate) fn replace(&mut self, path: RelPath, state: FileState) {
        if self.dirs.remove(&path).is_some() {
            self.remove_below(&path);
        }
        self.files.insert(path, state);
    }

    pub(crate) fn remove_below(&mut self, path: &RelPath) {
        let inside = |map: Vec<&RelPath>| map.into_iter().cloned().collect::<Vec<_>>();
        for gone in inside(below(&self.files, path).collect()) {
            self.files.remove(&gone);
        }
        for gone in inside(below(&self.dirs, path).collect()) {
            self.dirs.remove(&gone);
        }
    }

    pub(crate) fn has_files_below(&self, path: &RelPath) -> bool {
        below(&self.files, path).next().is_some()
    }

    /// Whether nobody has written here since `earlier`, as far as looking from outside can tell.
    pub(crate) fn is_untouched_since(&self, earlier: &Manifest) -> bool {
        let is_same = |path: &RelPath, stamp: &Stamp| earlier.stamps.get(path).is_some_and(|s| s.is_same_file(stamp));
        self.files == earlier.files && self.stamps.iter().all(|(path, stamp)| is_same(path, stamp))
    }

    /// The paths at which two differ, as they are shown; at most as many as a person would read.
    pub(crate) fn differences(&self, other: &BTreeMap<RelPath, FileState>) -> Vec<String> {
        let gone_or_changed = self.files.iter().filter(|(path, state)| other.get(path) != Some(state));
        let new = other.iter().filter(|(path, _)| !self.files.contains_key(path));
        let mut paths: Vec<String> = gone_or_changed.chain(new).map(|(path, _)| path.to_string()).collect();
        paths.sort();
        shortened(paths)
    }

    /// The paths at which two differ, with what is there now.
    pub(crate) fn moved_since<'m>(&'m self, earlier: &'m Manifest) -> BTreeMap<&'m RelPath, Option<&'m FileState>> {
        let changed = self.files.iter().filter(|(path, state)| earlier.files.get(path) != Some(state));
        let gone = earlier.files.keys().filter(|path| !self.files.contains_key(path));
        changed.map(|(path, state)| (path, Some(state))).chain(gone.map(|path| (path, None))).collect()
    }
}

/// Whether a path lies inside a directory of that path.
pub(crate) fn lies_below(path: &RelPath, dir: &RelPath) -> bool {
    path.as_bytes().strip_prefix(dir.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

/// Names that continue the last part of the path, such as `a-b` for `a`, sort between it and what is in it.
fn below<'m, T>(map: &'m BTreeMap<RelPath, T>, path: &RelPath) -> impl Iterator<Item = &'m RelPath> {
    let dir = path.clone();
    let from = (Bound::Excluded(path.clone()), Bound::Unbounded);
    let near = map.range(from).map(|(at, _)| at);
    let prefix = dir.clone();
    near.take_while(move |at| at.as_bytes().starts_with(prefix.as_bytes())).filter(move |at| lies_below(at, &dir))
}

/// Paths that are named in a message.
const PATHS_NAMED_MAX: usize = 20;

pub(crate) fn shortened(mut paths: Vec<String>) -> Vec<String> {
    let n_more = paths.len().saturating_sub(PATHS_NAMED_MAX);
    paths.truncate(PATHS_NAMED_MAX);
    if n_more > 0 {
        paths.push(format!("and {} more", grouped(n_more)));
    }
    paths
}

/// Whether this is what [`shortened`] says of the paths that it left out.
pub(crate) fn is_rest(path: &str) -> bool {
    let n_more = path.strip_prefix("and ").and_then(|rest| rest.strip_suffix(" more"));
    n_more.is_some_and(|n| n.parse::<usize>().is_ok())
}
