//! What a file is right now, in the words of a changeset.

use crate::dir::{Dir, Kind, split};
use crate::error::Doing;
use crate::fixed::{self, FixedBy};
use crate::lifeline::{Awaited, Lifeline};
use crate::{Error, syscall};
use sha2::{Digest as _, Sha256};
use silas_core::Digest;
use silas_core::changeset::FileState;
use silas_core::relpath::{self, RelPath};
use std::fs::{File, FileTimes, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

/// What is found at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Nothing,
    State(FileState),
    /// A directory, a device: nothing that a changeset can name.
    Other,
}

impl Seen {
    pub(crate) fn is(&self, expected: &Option<FileState>) -> bool {
        match (self, expected) {
            (Seen::Nothing, None) => true,
            (Seen::State(state), Some(expected)) => state == expected,
            (Seen::Nothing | Seen::State(_) | Seen::Other, _) => false,
        }
    }

    pub(crate) fn state(self) -> Option<FileState> {
        match self {
            Seen::State(state) => Some(state),
            Seen::Nothing | Seen::Other => None,
        }
    }
}

pub(crate) fn name_in(dir: &Dir, name: &[u8]) -> io::Result<Seen> {
    name_with(dir, name, |file| pour(file, &mut io::sink(), u64::MAX))
}

/// The same, as long as somebody waits for it.
pub(crate) fn name_while(dir: &Dir, name: &[u8], lifeline: Lifeline<'_>) -> io::Result<Seen> {
    name_with(dir, name, |file| pour(&mut Awaited { file: file.try_clone()?, lifeline }, &mut io::sink(), u64::MAX))
}

fn name_with(dir: &Dir, name: &[u8], read: impl Fn(&mut File) -> io::Result<(Digest, u64)>) -> io::Result<Seen> {
    let Some(stat) = dir.stat(name)? else { return Ok(Seen::Nothing) };
    match stat.kind {
        Kind::File => {
            let (hash, _) = read(&mut dir.read(name)?)?;
            Ok(Seen::State(FileState::File { hash, mode: stat.mode }))
        }
        Kind::Link => Ok(Seen::State(link(&dir.read_link(name)?))),
        Kind::Directory | Kind::Special(_) => Ok(Seen::Other),
    }
}

/// What is at a path below a directory. A way there that is missing or leads through a symlink means that nothing is.
pub(crate) fn path_below(root: &Dir, path: &RelPath) -> io::Result<Seen> {
    path_with(root, path, name_in)
}

/// The same, as long as somebody waits for it.
pub(crate) fn path_while(root: &Dir, path: &RelPath, lifeline: Lifeline<'_>) -> io::Result<Seen> {
    path_with(root, path, |dir, name| name_while(dir, name, lifeline))
}

fn path_with(root: &Dir, path: &RelPath, look: impl Fn(&Dir, &[u8]) -> io::Result<Seen>) -> io::Result<Seen> {
    match root.parent_of(path) {
        Ok((parent, name)) => look(&parent, name),
        Err(e) if leads_nowhere(&e) => Ok(Seen::Nothing),
        Err(e) => Err(e),
    }
}

/// Refuses by name, before anything is touched, what could not be put in place because its directory is read-only.
pub(crate) fn may_rename(root: &Dir, path: &RelPath, shown: &str) -> Result<(), Error> {
    let mut dir = split(path).0;
    loop {
        match root.below(dir) {
            // It is made later, in the nearest directory that is there.
            Err(e) if leads_nowhere(&e) && !dir.is_empty() => {
                dir = dir.iter().rposition(|b| *b == b'/').map_or(b"".as_slice(), |slash| &dir[..slash]);
            }
            found => {
                let doing = || format!("Looking at {shown}");
                let found = found.doing(doing)?;
                if fixed::only_grows(&found).doing(doing)? {
                    return Err(FixedBy::AppendOnly.refusal(shown));
                }
                return match syscall::may_write(found.as_fd()) {
                    Err(e) if matches!(e.raw_os_error(), Some(libc::EACCES | libc::EROFS | libc::EPERM)) => {
                        Err(Error::ReadOnly { path: shown.to_owned() })
                    }
                    done => done.doing(doing),
                };
            }
        }
    }
}

/// Whether an error of opening a parent means that the path is not there, as opposed to that looking failed.
pub(crate) fn leads_nowhere(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EXDEV))
}

pub(crate) fn link(target: &[u8]) -> FileState {
    FileState::Link { target: relpath::escape(target) }
}

/// Copies a file or symlink with its mode and time. Whoever calls this copies what is small, or cannot be stopped any more.
pub(crate) fn copy_name(from: &Dir, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
    let Some(stat) = from.stat(name)? else { return Err(io::Error::from(io::ErrorKind::NotFound)) };
    let read = |file: File, copy: &mut File| pour(&mut { file }, copy, u64::MAX);
    copy(from, name, to, to_name, stat.modified, read, |_| Ok(())).map(drop)
}

/// Copies a file or symlink with its mode, as long as somebody waits for it, and says what was copied; a file gets this time.
pub(crate) fn copy_name_at(
    from: &Dir,
    name: &[u8],
    to: &Dir,
    time: SystemTime,
    lifeline: Lifeline<'_>,
) -> io::Result<FileState> {
    copy_name_with((from, name), (to, name), time, lifeline, |_| Ok(()))
}

/// Like [`copy_name_at`]; `dress` gives a file what else it is to have, before a mode is set that forbids it.
pub(crate) fn copy_name_with(
    (from, name): (&Dir, &[u8]),
    (to, to_name): (&Dir, &[u8]),
    time: SystemTime,
    lifeline: Lifeline<'_>,
    dress: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<FileState> {
    let read = |file: File, copy: &mut File| pour(&mut Awaited { file, lifeline }, copy, u64::MAX);
    copy(from, name, to, to_name, time, read, dress)
}

fn copy(
    from: &Dir,
    name: &[u8],
    to: &Dir,
    to_name: &[u8],
    time: SystemTime,
    read: impl FnOnce(File, &mut File) -> io::Result<(Digest, u64)>,
    dress: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<FileState> {
    let Some(stat) = from.stat(name)? else { return Err(io::Error::from(io::ErrorKind::NotFound)) };
    if stat.kind == Kind::Link {
        let target = from.read_link(name)?;
        to.symlink(to_name, &target)?;
        return Ok(link(&target));
    }
    let mut copy = to.create(to_name)?;
    let (hash, _) = read(from.read(name)?, &mut copy)?;
    dress(&copy)?;
    copy.set_permissions(Permissions::from_mode(stat.mode))?;
    copy.set_times(FileTimes::new().set_modified(time).set_accessed(time))?;
    Ok(FileState::File { hash, mode: stat.mode })
}

/// Copies and hashes at once, so that the hash is of exactly the bytes that were copied.
pub(crate) fn pour(from: &mut impl Read, to: &mut impl Write, bytes_max: u64) -> io::Result<(Digest, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0u8; 128 << 10];
    let mut total = 0u64;
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok((Digest::from_bytes(hasher.finalize().into()), total)),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        total += u64::try_from(n).unwrap_or(u64::MAX);
        if total > bytes_max {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        hasher.update(&buffer[..n]);
        to.write_all(&buffer[..n])?;
    }
}
