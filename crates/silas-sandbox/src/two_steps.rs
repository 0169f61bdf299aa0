//! How names move where a file system cannot exchange two files in one step, or does not promise to replace nothing.
//!
//! Exchanging is done in two steps then: what is in place comes out under a name beside the new content, then that goes
//! in, unless somebody has put something there. Between the two, for an instant or until the recovery after a crash, the
//! file is missing. It could be replaced without that gap, by a link to the old and a rename over it, but whatever an
//! editor saved between these would be lost. Each step is on disk before the next, and looks at what is there first.

use crate::dir::{Dir, Move};
use crate::observe::{self, Seen};
use crate::syscall;
use std::io;

/// The file system does not know this way of renaming.
fn is_unknown(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP))
}

/// How an exchange went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exchanged {
    /// What was in place is now under the staged name.
    Done,
    /// Nothing is in place to exchange with.
    NothingThere,
    /// Somebody put something in place after the first step. It stays, and so does what was staged.
    Taken,
}

/// Where what came out waits until the new content is in.
pub(crate) fn out_of(name: &str) -> String {
    format!("{name}.out")
}

fn out_name(name: &[u8]) -> Vec<u8> {
    [name, b".out"].concat()
}

/// Whether an exchange in two steps was begun and is not over.
pub(crate) fn is_begun(stage: &Dir, name: &[u8]) -> io::Result<bool> {
    Ok(stage.stat(&out_name(name))?.is_some())
}

/// Exchanges what is staged with what is in place, in one step or, where that cannot be, in two.
pub(crate) fn exchange(stage: &Dir, name: &[u8], parent: &Dir, last: &[u8]) -> io::Result<Exchanged> {
    match stage.rename(name, parent, last, Move::Exchange) {
        Ok(()) => Ok(Exchanged::Done),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Exchanged::NothingThere),
        Err(e) if is_unknown(&e) => {
            match take_out(parent, last, stage, &out_name(name)) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Exchanged::NothingThere),
                done => done?,
            }
            stage.sync()?;
            parent.sync()?;
            go_on(stage, name, parent, last)
        }
        Err(e) => Err(e),
    }
}

/// The second step, and making it look like an exchange. Also after a crash, from wherever it was.
pub(crate) fn go_on(stage: &Dir, name: &[u8], parent: &Dir, last: &[u8]) -> io::Result<Exchanged> {
    if stage.stat(name)?.is_some() {
        match put_in(stage, name, parent, last) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Exchanged::Taken),
            done => done?,
        }
        parent.sync()?;
        stage.sync()?;
    }
    take_out(stage, &out_name(name), stage, name)?;
    Ok(Exchanged::Done)
}

/// Takes the first step of an exchange in two back. If the second was done too, what came out only gets the name that it has
/// after an exchange, and can go back like after any other.
pub(crate) fn go_back(stage: &Dir, name: &[u8], parent: &Dir, last: &[u8]) -> io::Result<()> {
    let out = out_name(name);
    if stage.stat(name)?.is_none() {
        return take_out(stage, &out, stage, name);
    }
    match put_in(stage, &out, parent, last) {
        // Somebody put something there meanwhile; it stays, and so does what came out.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Moves a staged file to its place, unless something is there.
pub(crate) fn put_in(stage: &Dir, name: &[u8], parent: &Dir, last: &[u8]) -> io::Result<()> {
    match stage.rename(name, parent, last, Move::NoReplace) {
        Err(e) if is_unknown(&e) => {}
        done => return done,
    }
    match stage.link(name, parent, last) {
        // A crash came between the link and what follows, or what is there says the same.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && are_same(stage, name, parent, last)? => {}
        done => done?,
    }
    parent.sync()?;
    stage.unlink(name)
}

/// Moves a file to a name in our own directory that is free.
pub(crate) fn take_out(parent: &Dir, last: &[u8], stage: &Dir, name: &[u8]) -> io::Result<()> {
    match parent.rename(last, stage, name, Move::NoReplace) {
        Err(e) if is_unknown(&e) => {}
        done => return done,
    }
    if stage.stat(name)?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    parent.rename(last, stage, name, Move::ToFreeName)
}

fn are_same(stage: &Dir, name: &[u8], parent: &Dir, last: &[u8]) -> io::Result<bool> {
    match observe::name_in(stage, name)? {
        Seen::Nothing | Seen::Other => Ok(false),
        staged @ Seen::State(_) => Ok(staged == observe::name_in(parent, last)?),
    }
}

/// File systems that exchange two files in one step, by what `statfs` calls them: the ext family, btrfs, XFS, tmpfs,
/// overlay, F2FS, bcachefs. Others may or may not, by their version or by what is behind them.
const EXCHANGING: [u32; 7] = [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630, 0xf2f5_2010, 0xca45_1a4e];

/// What is to be expected of the file system that a directory is on. Nothing is written for this: nobody has allowed
/// anything yet when it is asked. Whether it is so shows when work is put in place.
pub fn is_expected_at(directory: &std::path::Path) -> bool {
    syscall::file_system(directory.as_os_str().as_encoded_bytes()).is_ok_and(|kind| !EXCHANGING.contains(&kind))
}

/// Whether two files can be exchanged in one step in this directory of ours.
pub(crate) fn can_exchange(stage: &Dir) -> io::Result<bool> {
    let (a, b) = (b"probe-a".as_slice(), b"probe-b".as_slice());
    stage.create(a)?;
    stage.create(b)?;
    let exchanged = stage.rename(a, stage, b, Move::Exchange);
    stage.unlink(a).and_then(|()| stage.unlink(b))?;
    match exchanged {
        Ok(()) => Ok(true),
        Err(e) if is_unknown(&e) => Ok(false),
        Err(e) => Err(e),
    }
}
