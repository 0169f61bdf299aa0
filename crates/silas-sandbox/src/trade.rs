//! Carries out a committed journal: what is in place and what is staged change places, file by file.
//!
//! Running it again after a crash, at any point, ends in the same state: each operation looks at what is there first, and what
//! is not what it is to replace stays. Nothing is ever overwritten: if somebody's newer text came out all the same, it stays
//! where it came out to. Whether all of that goes back then is not decided here ([`crate::take_back`]). The moves are put on disk together at the end: until the journal says how they ended, any part of them may be
//! found undone and is done again.

use crate::dir::{Dir, Kind, split};
use crate::error::Doing;
use crate::journal::{Fate, Journal, NewDir, Op};
use crate::observe::{self, Seen};
use crate::stage::{Settling, Site};
use crate::syscall;
use crate::two_steps::{self, Exchanged};
use crate::{Error, tree};
use silas_core::fail::{self, FailPoint};
use silas_core::relpath::RelPath;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// `halfway` is where a test pulls the plug.
pub(crate) fn carry_out(journal: &Journal, sites: &[Site<'_>], halfway: FailPoint) -> Result<Vec<Fate>, Error> {
    make_directories(journal, sites)?;
    let mut fates = Vec::with_capacity(journal.ops.len());
    let mut settling = Settling::default();
    for (n, op) in journal.ops.iter().enumerate() {
        let site = sites.get(op.root).ok_or_else(|| Error::Damaged("a journal with too few directories".to_owned()))?;
        let fate = match (&op.there, &op.staged) {
            (Some(_), Some(_)) => exchange(op, site),
            (None, Some(_)) => move_in(op, site, &journal.new_dirs),
            (Some(_), None) => move_out(op, site),
            (None, None) => Ok(Fate::NotApplied),
        };
        fates.push(fate.doing(|| format!("Putting {} in place", named(journal, op)))?);
        settling.note(op.root, split(&op.path).0);
        if n == 0 && journal.ops.len() > 1 {
            fail::point(halfway);
        }
    }
    if journal.ops.len() <= 1 {
        fail::point(halfway);
    }
    settling.settle(sites).doing(|| "Putting the changes on disk".to_owned())?;
    Ok(fates)
}

/// The fates if nothing stood in the way. Otherwise what did, and then all of it is to go back.
pub(crate) fn all_in_place(journal: &Journal, fates: Vec<Fate>) -> Result<Vec<Fate>, Error> {
    let met = journal.ops.iter().zip(&fates).filter(|(_, fate)| **fate != Fate::InPlace);
    let paths: Vec<String> = met.map(|(op, _)| named(journal, op)).collect();
    if paths.is_empty() { Ok(fates) } else { Err(Error::Conflict { paths: tree::shortened(paths) }) }
}

/// A file as a message names it: with its directory, where there are several.
pub(crate) fn named(journal: &Journal, op: &Op) -> String {
    match (journal.places.as_slice(), journal.places.get(op.root)) {
        ([_, _, ..], Some(place)) => format!("{}/{}", place.path, op.path),
        _ => op.path.to_string(),
    }
}

fn exchange(op: &Op, site: &Site<'_>) -> io::Result<Fate> {
    let (name, stage) = (op.stage.as_bytes(), &site.stage.dir);
    let (exchanged, _lease) = if two_steps::is_begun(stage, name)? {
        let (parent, last) = match site.root.parent_of(&op.path) {
            Err(e) if observe::leads_nowhere(&e) => return Ok(Fate::NotApplied),
            found => found?,
        };
        (two_steps::go_on(stage, name, &parent, last)?, None)
    } else {
        let waiting = observe::name_in(stage, name)?;
        if !waiting.is(&op.staged) {
            return Ok(came_out(&waiting, op));
        }
        let Some((parent, last)) = reach(site.root, &op.path)? else { return Ok(Fate::NotApplied) };
        let lease = lease(&parent, last);
        if !observe::name_in(&parent, last)?.is(&op.there) {
            return Ok(Fate::NotApplied);
        }
        (two_steps::exchange(stage, name, &parent, last)?, lease)
    };
    match exchanged {
        Exchanged::Done => Ok(came_out(&observe::name_in(stage, name)?, op)),
        Exchanged::NothingThere | Exchanged::Taken => Ok(Fate::NotApplied),
    }
}

fn move_in(op: &Op, site: &Site<'_>, new_dirs: &[NewDir]) -> io::Result<Fate> {
    let (name, stage) = (op.stage.as_bytes(), &site.stage.dir);
    match observe::name_in(stage, name)? {
        Seen::Nothing => return Ok(Fate::InPlace),
        waiting if !waiting.is(&op.staged) => return Ok(Fate::NotApplied),
        Seen::State(_) | Seen::Other => {}
    }
    // They were all made before; if somebody has removed one since, it is made again, and on disk before it is used.
    let made = make_parents(op, site, new_dirs, |parent, _| parent.sync());
    let (parent, last) = match made.and_then(|()| site.root.parent_of(&op.path)) {
        Err(e) if observe::leads_nowhere(&e) => return Ok(Fate::NotApplied),
        found => found?,
    };
    match two_steps::put_in(stage, name, &parent, last) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Fate::NotApplied),
        done => done?,
    }
    Ok(Fate::InPlace)
}

fn move_out(op: &Op, site: &Site<'_>) -> io::Result<Fate> {
    let (name, stage) = (op.stage.as_bytes(), &site.stage.dir);
    let out = observe::name_in(stage, name)?;
    if out != Seen::Nothing {
        return Ok(came_out(&out, op));
    }
    let Some((parent, last)) = reach(site.root, &op.path)? else { return Ok(Fate::NotApplied) };
    let lease = lease(&parent, last);
    if !observe::name_in(&parent, last)?.is(&op.there) {
        return Ok(Fate::NotApplied);
    }
    match two_steps::take_out(&parent, last, stage, name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Fate::NotApplied),
        done => done?,
    }
    let out = observe::name_in(stage, name)?;
    drop(lease);
    Ok(came_out(&out, op))
}

fn came_out(out: &Seen, op: &Op) -> Fate {
    if out.is(&op.there) { Fate::InPlace } else { Fate::OwnersKept }
}

/// The directory in which a file or symlink of this path is now. Directories are never exchanged.
pub(crate) fn reach<'p>(root: &Dir, path: &'p RelPath) -> io::Result<Option<(Dir, &'p [u8])>> {
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
pub(crate) fn lease(parent: &Dir, name: &[u8]) -> Option<File> {
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

/// Makes the directories of all new files and puts them on disk. Only then may a file move into one: otherwise, after a
/// loss of power, it might have left the staging directory for a directory that is not there.
fn make_directories(journal: &Journal, sites: &[Site<'_>]) -> Result<(), Error> {
    let mut settling = Settling::default();
    for op in journal.ops.iter().filter(|op| op.there.is_none()) {
        let Some(site) = sites.get(op.root) else { continue };
        let doing = || format!("Making the directory of {}", op.path);
        if site.stage.dir.stat(op.stage.as_bytes()).doing(doing)?.is_none() {
            continue;
        }
        let noted = |_: &Dir, above: &[u8]| {
            settling.note(op.root, above);
            Ok(())
        };
        match make_parents(op, site, &journal.new_dirs, noted) {
            // Something else is in the way; the file will not be moved there.
            Err(e) if observe::leads_nowhere(&e) => {}
            done => done.doing(doing)?,
        }
    }
    if settling.is_empty() {
        return Ok(());
    }
    settling.settle(sites).doing(|| "Putting new directories on disk".to_owned())
}

/// Makes the directories that a new file lies in, as they are in the copy. `made` hears in which directory each was made.
pub(crate) fn make_parents(
    op: &Op,
    site: &Site<'_>,
    new_dirs: &[NewDir],
    mut made: impl FnMut(&Dir, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let bytes = op.path.as_bytes();
    for (slash, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'/') {
        let dir = RelPath::from_bytes(&bytes[..slash]).map_err(io::Error::other)?;
        let (above, last) = split(&dir);
        let (parent, _) = site.root.parent_of(&dir)?;
        if parent.stat(last)?.is_some() {
            continue;
        }
        let new = new_dirs.iter().find(|new| new.root == op.root && new.path == dir);
        // What it was stays in its place, empty; whoever removed it since took its attributes along.
        let was = new.and_then(|new| new.was.as_ref()).and_then(|was| site.root.below(was.as_bytes()).ok());
        site.stage.make_directory(&parent, last, new.map_or(0o755, |new| new.mode) | 0o700, was.as_ref())?;
        made(&parent, above)?;
    }
    Ok(())
}

/// Removes the directories that an apply made, as far as they are empty again.
pub(crate) fn remove_empty(sites: &[Site<'_>], new_dirs: &[NewDir]) -> Result<(), Error> {
    for dir in new_dirs.iter().rev() {
        let doing = || format!("Removing the empty directory {}", dir.path);
        let Some(site) = sites.get(dir.root) else { continue };
        let (parent, last) = match site.root.parent_of(&dir.path) {
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
