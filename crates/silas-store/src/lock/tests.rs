//! The lock belongs to its holder, not to whoever else has the file open.

use super::Lock;
use crate::Error;

#[test]
fn one_holder_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let held = Lock::take(dir.path()).unwrap();
    assert!(matches!(Lock::take(dir.path()), Err(Error::AlreadyRunning { .. })));
    drop(held);
    Lock::take(dir.path()).unwrap();
}

/// As between fork and exec of a child that another thread starts.
#[test]
fn a_copy_of_the_descriptor_does_not_keep_it() {
    let dir = tempfile::tempdir().unwrap();
    let held = Lock::take(dir.path()).unwrap();
    let inherited = held.0.try_clone().unwrap();
    drop(held);
    Lock::take(dir.path()).unwrap();
    drop(inherited);
}
