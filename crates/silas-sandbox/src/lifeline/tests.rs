//! A lifeline breaks when, and only when, its last holder is gone.

use super::*;
use crate::dir::Dir;
use crate::tree::{self, Git};

#[test]
fn a_front_that_is_gone_ends_what_was_asked_for() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("file"), "x").unwrap();
    let root = Dir::open(&std::fs::canonicalize(home.path()).unwrap()).unwrap();
    let (front, workshop) = UnixStream::pair().unwrap();
    let lifeline = Lifeline::of(&workshop);
    lifeline.holds().unwrap();
    assert_eq!(tree::snapshot(&root, Git::Visit, lifeline).unwrap().files.len(), 1);
    drop(front);
    assert_eq!(lifeline.holds(), Err(Error::Cancelled));
    assert!(matches!(tree::snapshot(&root, Git::Visit, lifeline), Err(Error::Cancelled)));
}
