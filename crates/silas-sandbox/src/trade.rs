//! Carries out a committed journal: what is in place and what is staged change places, file by file.
//!
//! Running it again after a crash, at any point, ends in the same state: each operation looks at what is there first.
//! Nothing is ever overwritten, and nothing is swapped back: if somebody's newer text came out, it stays where it came
//! out to.

use crate::Error;
use crate::dir::{Dir, Kind, Move, split};
use crate::error::Doing;
use crate::journal::{Fate, Journal, NewDir, Op};
use crate::observe::{self, Seen};
use crate::stage::Stage;
use crate::syscall;
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// `halfway` is where a test pulls the plug.
pub(crate) fn carry_out(journal: &Journal, root: &Dir, stage: &Stage, halfway: FailPoint) -> Result<Vec<Fate>, Error> {
    let mut fates = Vec::with_capacity(journal.ops.len());
    for (n, op) in journal.ops.iter().enumerate() {
        let fate = match (&op.there, &op.staged) {
            (Some(_), Some(_)) => exchange(op, root, &stage.dir),
            (None, Some(_)) => move_in(op, root, stage, &journal.new_dirs),
            (Some(_), None) => move_out(op, root, &stage.dir),
            (None, None) => Ok(Fate::NotApplied),
        };
        fates.push(fate.doing(|| format!("Putting {} in place", op.path))?);
        if n == 0 && journal.ops.len() > 1 {
            fail::point(halfway);
        }
    }
    if journal.ops.len() <= 1 {
        fail::point(halfway);
    }
    stage.dir.sync().doing(|| "Putting the changes on disk".to_owned())?;
    Ok(fates)
}

fn exchange(op: &Op, root: &Dir, stage: &Dir) -> io::Result<Fate> {
    let name = op.stage.as_bytes();
    let waiting = observe::name_in(stage, name)?;
    if !waiting.is(&op.staged) {
        return Ok(came_out(&waiting, op));
    }
    let Some((parent, last)) = reach(root, &op.path)? else { return Ok(Fate::NotApplied) };
    let lease = lease(&parent, last);
    match stage.rename(name, &parent, last, Move::Exchange) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Fate::NotApplied),
        done => done?,
    }
    parent.sync()?;
    let out = observe::name_in(stage, name)?;
    drop(lease);
    Ok(came_out(&out, op))
}

fn move_in(op: &Op, root: &Dir, stage: &Stage, new_dirs: &[NewDir]) -> io::Result<Fate> {
    let name = op.stage.as_bytes();
    match observe::name_in(&stage.dir, name)? {
        Seen::Nothing => return Ok(Fate::InPlace),
        waiting if !waiting.is(&op.staged) => return Ok(Fate::NotApplied),
        Seen::State(_) | Seen::Other => {}
    }
    let (parent, last) = match make_parents(root, stage, &op.path, new_dirs).and_then(|()| root.parent_of(&op.path)) {
        Err(e) if observe::leads_nowhere(&e) => return Ok(Fate::NotApplied),
        found => found?,
    };
    match stage.dir.rename(name, &parent, last, Move::NoReplace) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Fate::NotApplied),
        done => done?,
    }
    parent.sync()?;
    Ok(Fate::InPlace)
}

fn move_out(op: &Op, root: &Dir, stage: &Dir) -> io::Result<Fate> {
    let name = op.stage.as_bytes();
    let out = observe::name_in(stage, name)?;
    if out != Seen::Nothing {
        return Ok(came_out(&out, op));
    }
    let Some((parent, last)) = reach(root, &op.path)? else { return Ok(Fate::NotApplied) };
    let lease = lease(&parent, last);
    match parent.rename(last, stage, name, Move::NoReplace) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Fate::NotApplied),
        done => done?,
    }
    parent.sync()?;
    let out = observe::name_in(stage, name)?;
    drop(lease);
    Ok(came_out(&out, op))
}

fn came_out(out: &Seen, op: &Op) -> Fate {
    if out.is(&op.there) { Fate::InPlace } else { Fate::OwnersKept }
}

/// The directory in which a file or symlink of this path is now. Directories are never exchanged.
fn reach<'p>(root: &Dir, path: &'p RelPath) -> io::Result<Option<(Dir, &'p [u8])>> {
    let (parent, last) = match root.parent_of(path) {
        Err(e) if observe::leads_nowhere(&e) => return Ok(None),
        found => found?,
    };
    match parent.stat(last)?.map(|stat| stat.kind) {
        Some(Kind::File | Kind::Link) => Ok(Some((parent, last))),
        Some(Kind::Directory | Kind::Special(_)) | None => Ok(None),
    }
}

/// Together half a second: long enough for an editor to finish saving.
const LEASE_TRIES: u32 = 25;
const LEASE_PAUSE: Duration = Duration::from_millis(20);

/// Waits until nobody has the file open for writing, and keeps it so while it is held. Where no lease can be had (another
/// owner, a file system without them, somebody who does not close it) the hash of what came out tells.
fn lease(parent: &Dir, name: &[u8]) -> Option<File> {
    // A symlink cannot be opened for reading here and needs no lease: it is replaced, never written.
    let file = parent.read(name).ok()?;
    for _ in 0..LEASE_TRIES {
        match syscall::lease_for_reading(file.as_fd()) {
            Ok(()) => return Some(file),
            Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => std::thread::sleep(LEASE_PAUSE),
            Err(_) => return None,
        }
    }
    None
}

/// Makes the directories that a new file lies in, as they are in the copy.
fn make_parents(root: &Dir, stage: &Stage, path: &RelPath, new_dirs: &[NewDir]) -> io::Result<()> {
    let bytes = path.as_bytes();
    for (slash, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'/') {
        let dir = RelPath::from_bytes(&bytes[..slash]).map_err(io::Error::other)?;
        let (_, last) = split(&dir);
        let (parent, _) = root.parent_of(&dir)?;
        if parent.stat(last)?.is_some() {
            continue;
        }
        let mode = new_dirs.iter().find(|new| new.path == dir).map_or(0o755, |new| new.mode);
        parent.mkdir(last, mode | 0o700)?;
        stage.give_to_owner(&parent, last)?;
        parent.sync()?;
    }
    Ok(())
}

/// Removes the directories that an apply made, as far as they are empty again.
pub(crate) fn remove_empty(root: &Dir, new_dirs: &[NewDir]) -> Result<(), Error> {
    for dir in new_dirs.iter().rev() {
        let doing = || format!("Removing the empty directory {}", dir.path);
        let (parent, last) = match root.parent_of(&dir.path) {
            Err(e) if observe::leads_nowhere(&e) => continue,
            found => found.doing(doing)?,
        };
        match parent.rmdir(last) {
            Ok(()) => parent.sync().doing(doing)?,
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOTEMPTY | libc::EEXIST)) => {}
            Err(e) if observe::leads_nowhere(&e) => {}
            Err(e) => return Err(e).doing(doing),
        }
    }
    Ok(())
}
