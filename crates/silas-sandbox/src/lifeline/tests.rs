//! A lifeline breaks when, and only when, its last holder is gone.

use super::*;
use crate::dir::Dir;
use crate::error::Doing;
use crate::extent::Extent;
use crate::observe::{self, Seen};
use crate::tree::{self, Git};
use silas_core::relpath::RelPath;
use std::time::SystemTime;

#[test]
fn a_front_that_is_gone_ends_what_was_asked_for() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("file"), "x").unwrap();
    let root = Dir::open(&std::fs::canonicalize(home.path()).unwrap()).unwrap();
    let (front, workshop) = UnixStream::pair().unwrap();
    let lifeline = Lifeline::of(&workshop);
    lifeline.holds().unwrap();
    assert_eq!(tree::snapshot(&root, &Extent::all(Git::Visit, lifeline)).unwrap().files.len(), 1);
    drop(front);
    assert_eq!(lifeline.holds(), Err(Error::Cancelled));
    assert!(matches!(tree::snapshot(&root, &Extent::all(Git::Visit, lifeline)), Err(Error::Cancelled)));
}

/// One file may be so large that it takes minutes, so it is not enough to look between two.
#[test]
fn a_file_is_copied_and_read_only_as_long_as_somebody_waits() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("file"), "x").unwrap();
    let root = Dir::open(&std::fs::canonicalize(home.path()).unwrap()).unwrap();
    root.mkdir(b"to", 0o700).unwrap();
    let (to, path) = (root.below(b"to").unwrap(), RelPath::from_bytes(b"file").unwrap());
    let (front, workshop) = UnixStream::pair().unwrap();
    let lifeline = Lifeline::of(&workshop);
    let copy = || observe::copy_name_at(&root, b"file", &to, SystemTime::now(), lifeline).doing(String::new);
    let look = || observe::path_while(&root, &path, lifeline).doing(String::new);
    copy().unwrap();
    assert!(matches!(look(), Ok(Seen::State(_))));
    to.unlink(b"file").unwrap();
    drop(front);
    assert_eq!((copy().map(drop), look().map(drop)), (Err(Error::Cancelled), Err(Error::Cancelled)));
}

/// Only who asked for it hears how far a copy is, and a front that does not listen holds nobody up.
#[test]
fn a_front_hears_how_far_a_copy_is() {
    let (mut front, workshop) = UnixStream::pair().unwrap();
    Lifeline::of(&workshop).copied(1, 2);
    Lifeline::of(&workshop).telling().copied(3, 4);
    let heard = frame::receive::<WorkshopSays<()>>(&mut front).unwrap();
    assert!(matches!(heard, Some(WorkshopSays::Copying { files: 3, bytes: 4 })), "{heard:?}");
    for n in 0..100_000 {
        Lifeline::of(&workshop).telling().copied(n, 0);
    }
    assert!(frame::receive::<WorkshopSays<()>>(&mut front).unwrap().is_some());
}
