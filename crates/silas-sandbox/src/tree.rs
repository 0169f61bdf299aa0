//! Walks a directory and writes down every file in it, copying it on the way if a copy is wanted.
//!
//! Files, symlinks and directories only; anything else is refused by its name. Mount points are refused too: files cannot
//! be exchanged across them. What Silas itself keeps there is passed over.

use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::{Error, observe};
use silas_core::changeset::FileState;
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::fs::{FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

/// What a directory held.
#[derive(Clone, Default, Debug)]
pub(crate) struct Manifest {
    pub(crate) files: BTreeMap<RelPath, FileState>,
    /// With their permission bits.
    pub(crate) dirs: BTreeMap<RelPath, u32>,
    pub(crate) bytes: u64,
}

/// What is done with `.git` at the top.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    record(from, Some(to), git, lifeline)
}

pub(crate) fn snapshot(of: &Dir, git: Git, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
    record(of, None, git, lifeline)
}

fn record(from: &Dir, to: Option<&Dir>, git: Git, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
    let mut manifest = Manifest::default();
    walk(from, git, &mut |dir, path, stat| {
        lifeline.holds()?;
        if manifest.files.len() + manifest.dirs.len() >= ENTRIES_MAX {
            return Err(Error::TooLarge(format!(
                "The directory has more than {ENTRIES_MAX} files. Choose a smaller one."
            )));
        }
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
                let room = BYTES_MAX - manifest.bytes;
                let (state, bytes) = match file(dir, name, stat, to.as_ref(), room) {
                    Err(e) if e.kind() == io::ErrorKind::FileTooLarge => {
                        return Err(Error::TooLarge(
                            "The directory holds more than 4 GiB. Choose a smaller one.".to_owned(),
                        ));
                    }
                    done => done.doing(|| format!("Reading {path}"))?,
                };
                manifest.bytes += bytes;
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

type Visit<'v> = &'v mut dyn FnMut(&Dir, RelPath, &Stat) -> Result<(), Error>;

/// Parents come before what is in them.
fn walk(root: &Dir, git: Git, visit: Visit<'_>) -> Result<(), Error> {
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
    let is_stage = stat.kind == Kind::Directory && name.starts_with(b".silas-exec-");
    is_repository || is_stage
}

impl Manifest {
    /// The paths at which two differ, as they are shown; at most as many as a person would read.
    pub(crate) fn differences(&self, other: &BTreeMap<RelPath, FileState>) -> Vec<String> {
        let gone_or_changed = self.files.iter().filter(|(path, state)| other.get(path) != Some(state));
        let new = other.iter().filter(|(path, _)| !self.files.contains_key(path));
        let mut paths: Vec<String> = gone_or_changed.chain(new).map(|(path, _)| path.to_string()).collect();
        paths.sort();
        shortened(paths)
    }
}

/// Paths that are named in a message.
const PATHS_NAMED_MAX: usize = 20;

pub(crate) fn shortened(mut paths: Vec<String>) -> Vec<String> {
    let n_more = paths.len().saturating_sub(PATHS_NAMED_MAX);
    paths.truncate(PATHS_NAMED_MAX);
    if n_more > 0 {
        paths.push(format!("and {n_more} more"));
    }
    paths
}
