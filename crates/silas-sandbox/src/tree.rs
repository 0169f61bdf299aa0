//! Walks a directory and writes down every file in it, copying it on the way if a copy is wanted.
//!
//! Files, symlinks and directories only; anything else is refused by its name. Mount points are refused too: files cannot
//! be exchanged across them. What Silas itself keeps there is passed over.

use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::extent::{Extent, READ_BYTES_MAX};
use crate::lifeline::{Awaited, Lifeline, TOLD_EVERY};
use crate::{Error, attributes, observe};
use serde::{Deserialize, Serialize};
use silas_core::Digest;
use silas_core::changeset::FileState;
use silas_core::number::grouped;
use silas_core::relpath::RelPath;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{FileTimes, Permissions};
use std::io;
use std::ops::Bound;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
    pub(crate) is_fresh: bool,
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

/// Staging directories begin with this; see [`crate::stage`].
pub(crate) const STAGE_PREFIX: &str = ".silas-";
pub(crate) const GIT: &[u8] = b".git";

/// Copies everything from one directory into another, empty one, and says what it was; what is ignored is copied too.
pub(crate) fn copy(from: &Dir, to: &Dir, extent: &Extent<'_>) -> Result<Manifest, Error> {
    record(from, Some(to), None, extent)
}

pub(crate) fn snapshot(of: &Dir, extent: &Extent<'_>) -> Result<Manifest, Error> {
    record(of, None, None, extent)
}

/// Like [`snapshot`], but reads only files that do not look exactly as they did when they were known.
pub(crate) fn look_again(of: &Dir, known: &Manifest, extent: &Extent<'_>) -> Result<Manifest, Error> {
    record(of, None, Some(known), extent)
}

fn record(from: &Dir, to: Option<&Dir>, known: Option<&Manifest>, extent: &Extent<'_>) -> Result<Manifest, Error> {
    let mut manifest = Manifest::default();
    // Of both together: what is ignored takes room in a copy too.
    let (held, ignored_bytes) = (Cell::new(0u64), Cell::new(0u64));
    let room = || extent.bytes_max().saturating_sub(held.get());
    let owner = from.own_stat().doing(|| "Reading the directory".to_owned())?;
    let mut told = Instant::now();
    let mut visit = |dir: &Dir, path: RelPath, stat: &Stat| {
        extent.lifeline.holds()?;
        if to.is_some() && told.elapsed() >= TOLD_EVERY {
            told = Instant::now();
            extent.lifeline.copied(manifest.files.len(), manifest.bytes);
        }
        manifest.has_room(extent)?;
        manifest.is_mixed |= !stat.belongs_like(&owner);
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
                let seen = known.and_then(|known| known.unless_touched(&path, &stamp, stat.mode));
                // What was read once is compared by what is in it.
                let is_known = known.is_some_and(|known| known.files.contains_key(&path));
                let unread = || if is_known { None } else { extent.unread(&stamp, stat) };
                let (state, bytes) = match seen.or_else(unread) {
                    Some(state) => (state, stat.size),
                    None => read_file(dir, name, stat, to.as_ref(), Room { extent, bytes: room(), path: &path })?,
                };
                manifest.bytes += bytes;
                held.set(held.get() + bytes);
                manifest.stamps.insert(path.clone(), stamp);
                manifest.files.insert(path, state);
            }
            Kind::Special(kind) => return Err(extent.no_file(kind, &path)),
        }
        Ok(())
    };
    let mut leave = |dir: &Dir, path: RelPath, stat: &Stat| {
        extent.lifeline.holds()?;
        let Some(to) = to else { return Ok(()) };
        let (parent, name) = split(&path);
        let doing = || format!("Copying {path}");
        let to = to.below(parent).doing(doing)?;
        let bytes = copy_unseen(dir, name, stat, &to, Room { extent, bytes: room(), path: &path })?;
        ignored_bytes.set(ignored_bytes.get() + bytes);
        held.set(held.get() + bytes);
        Ok(())
    };
    walk_by(from, extent, &mut visit, &mut leave)?;
    manifest.bytes += ignored_bytes.get();
    Ok(manifest)
}

/// How much still fits into a copy, and where it belongs.
#[derive(Clone, Copy)]
pub(crate) struct Room<'a> {
    pub(crate) extent: &'a Extent<'a>,
    pub(crate) bytes: u64,
    /// What a message names.
    pub(crate) path: &'a RelPath,
}

/// Copies what is no work product, so that it can be used; special files and other file systems are left behind. What does
/// not fit is not begun with, and whoever stops it does not wait for the rest.
pub(crate) fn copy_unseen(dir: &Dir, name: &[u8], stat: &Stat, to: &Dir, room: Room<'_>) -> Result<u64, Error> {
    let doing = || format!("Copying {}", room.path);
    room.extent.lifeline.holds()?;
    match stat.kind {
        Kind::Special(_) => Ok(0),
        Kind::Link => observe::copy_name(dir, name, to, name).doing(doing).map(|()| stat.size),
        Kind::File => read_file(dir, name, stat, Some(to), room).map(|(_, bytes)| bytes),
        Kind::Directory => {
            let from = match dir.below(name) {
                Err(e) if e.raw_os_error() == Some(libc::EXDEV) => return Ok(0),
                opened => opened.doing(doing)?,
            };
            to.mkdir(name, stat.mode | 0o700).doing(doing)?;
            let to = to.below(name).doing(doing)?;
            let mut bytes = 0;
            for name in from.names(usize::MAX).doing(doing)? {
                if let Some(stat) = from.stat(&name).doing(doing)? {
                    let left = Room { bytes: room.bytes.saturating_sub(bytes), ..room };
                    bytes += copy_unseen(&from, &name, &stat, &to, left)?;
                }
            }
            Ok(bytes)
        }
    }
}

/// Reads a file, copying it on the way if a copy is wanted. One that cannot fit is not begun with.
pub(crate) fn read_file(
    dir: &Dir,
    name: &[u8],
    stat: &Stat,
    to: Option<&Dir>,
    room: Room<'_>,
) -> Result<(FileState, u64), Error> {
    if stat.size > room.bytes {
        return Err(room.extent.too_much());
    }
    file(dir, name, stat, to, room).map_err(|why| room.extent.too_large(&why, room.path))
}

fn file(dir: &Dir, name: &[u8], stat: &Stat, to: Option<&Dir>, room: Room<'_>) -> io::Result<(FileState, u64)> {
    let mut from = Awaited { file: dir.read(name)?, lifeline: room.extent.lifeline };
    let (hash, bytes) = match to {
        None => observe::pour(&mut from, &mut io::sink(), room.bytes)?,
        Some(to) => {
            let mut copy = to.create(name)?;
            let poured = observe::pour(&mut from, &mut copy, room.bytes)?;
            attributes::show_like(&from.file, &copy)?;
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

    pub(crate) fn is_large(&self) -> bool {
        self.size > READ_BYTES_MAX
    }

    /// Stands for the content of a file that is not read.
    pub(crate) fn digest(&self) -> Digest {
        let time = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let (modified, changed) = (time(self.modified), time(self.changed));
        Digest::of(format!("not read: {} {} {modified} {changed}", self.inode, self.size).as_bytes())
    }

    pub(crate) fn is_same_file(&self, other: &Stamp) -> bool {
        let seen = |s: &Stamp| (s.inode, s.size, s.modified, s.changed);
        seen(self) == seen(other)
    }
}

/// A time of a file as seconds and nanoseconds; files may be older than the epoch.
pub(crate) mod instant {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        let (is_after, span) = match time.duration_since(UNIX_EPOCH) {
            Ok(span) => (true, span),
            Err(before) => (false, before.duration()),
        };
        (is_after, span.as_secs(), span.subsec_nanos()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let (is_after, secs, nanos) = <(bool, u64, u32)>::deserialize(from)?;
        let span = Duration::new(secs, nanos.min(999_999_999));
        let time = if is_after { UNIX_EPOCH.checked_add(span) } else { UNIX_EPOCH.checked_sub(span) };
        time.ok_or_else(|| de::Error::custom("a time that cannot be"))
    }
}

pub(crate) type Visit<'v> = &'v mut dyn FnMut(&Dir, RelPath, &Stat) -> Result<(), Error>;

/// Everything, whatever git ignores. Parents come before what is in them.
pub(crate) fn walk(root: &Dir, git: Git, lifeline: Lifeline<'_>, visit: Visit<'_>) -> Result<(), Error> {
    walk_by(root, &Extent::all(git, lifeline), visit, &mut |_, _, _| Ok(()))
}

/// `visit` is told what counts, `leave` the outermost of what does not.
pub(crate) fn walk_by(root: &Dir, extent: &Extent<'_>, visit: Visit<'_>, leave: Visit<'_>) -> Result<(), Error> {
    let device = root.own_stat().doing(|| "Reading the directory".to_owned())?.device;
    // With each directory, whether it is ignored, and gone through only for what is tracked in it.
    let mut pending = vec![(Vec::new(), false)];
    while let Some((at, is_inside_ignored)) = pending.pop() {
        let shown = || String::from_utf8_lossy(&at).into_owned();
        let dir = match root.below(&at) {
            Err(e) if e.raw_os_error() == Some(libc::EXDEV) => {
                return Err(mount_point(shown()));
            }
            opened => opened.doing(|| format!("Reading {}", shown()))?,
        };
        if let Some(ignoring) = extent.ignoring {
            ignoring.learn(&at, &dir).doing(|| format!("Reading {}", shown()))?;
        }
        // A repository that is not left out is judged by its own rules, wherever it lies.
        let is_inside_ignored = is_inside_ignored && !extent.ignoring.is_some_and(|ignoring| ignoring.is_top(&at));
        for name in dir.names(extent.entries_max().saturating_add(1)).doing(|| format!("Reading {}", shown()))? {
            // What vanished between listing and looking is as if it had never been listed.
            let Some(stat) = dir.stat(&name).doing(|| format!("Reading {}", shown()))? else { continue };
            if is_passed_over(&at, &name, &stat, extent.git) {
                continue;
            }
            let bytes = if at.is_empty() { name } else { [at.as_slice(), b"/", &name].concat() };
            let is_dir = stat.kind == Kind::Directory;
            let is_ignored =
                extent.ignoring.is_some_and(|ignoring| is_inside_ignored || ignoring.matches(&bytes, is_dir));
            let is_left = is_ignored && extent.ignoring.is_some_and(|ignoring| !ignoring.is_tracked(&bytes, is_dir));
            let path = match RelPath::from_bytes(&bytes) {
                Err(_) if is_left => continue,
                path => path.map_err(io::Error::other).doing(|| format!("Reading {}", shown()))?,
            };
            if is_left {
                leave(&dir, path, &stat)?;
                continue;
            }
            if is_dir && stat.device != device {
                return Err(mount_point(path));
            }
            visit(&dir, path, &stat)?;
            if is_dir {
                pending.push((bytes, is_ignored));
            }
        }
    }
    Ok(())
}

fn mount_point(path: impl ToString) -> Error {
    let kind = "a mount point, and other file systems are not copied";
    Error::unsupported_with(kind, path, "Choose a directory without one.")
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
    pub(crate) fn has_room(&self, extent: &Extent<'_>) -> Result<(), Error> {
        if self.files.len() + self.dirs.len() < extent.entries_max() {
            return Ok(());
        }
        Err(extent.too_many())
    }

    pub(crate) fn size_of(&self, path: &RelPath) -> Option<u64> {
        self.stamps.get(path).map(|stamp| stamp.size)
    }

    /// Files of which only the looks are known.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &RelPath> {
        let is_unread = |path: &RelPath, stamp: &Stamp| matches!(self.files.get(path), Some(FileState::File { hash, .. }) if *hash == stamp.digest());
        self.stamps.iter().filter(move |(path, stamp)| stamp.is_large() && is_unread(path, stamp)).map(|(path, _)| path)
    }

    pub(crate) fn looks_like(&self, path: &RelPath, stat: &Stat) -> bool {
        self.stamps.get(path).is_some_and(|stamp| stamp.is_same_file(&Stamp::of(stat)))
    }

    /// The names of each file that has several here, as far as one of `changed` is among them.
    pub(crate) fn names_of(&self, changed: &BTreeSet<&RelPath>) -> Vec<Vec<&RelPath>> {
        let inode = |path: &&RelPath| self.stamps.get(*path).map(|stamp| stamp.inode);
        let touched: BTreeSet<u64> = changed.iter().filter_map(inode).collect();
        let mut names: BTreeMap<u64, Vec<&RelPath>> = BTreeMap::new();
        for (path, stamp) in self.stamps.iter().filter(|(_, stamp)| touched.contains(&stamp.inode)) {
            names.entry(stamp.inode).or_default().push(path);
        }
        names.into_values().filter(|names| names.len() > 1).collect()
    }

    /// When a file was last written to.
    pub(crate) fn modified(&self, path: &RelPath) -> Option<SystemTime> {
        self.stamps.get(path).map(|stamp| stamp.modified)
    }

    /// When anything was last written to.
    pub(crate) fn newest(&self) -> Option<SystemTime> {
        self.stamps.values().map(|stamp| stamp.modified).max()
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

#[cfg(test)]
mod tests;
