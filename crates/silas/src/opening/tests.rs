//! The file is the owner's alone, leads where it should, and does not stay.

use super::*;
use std::os::unix::fs::MetadataExt;

#[test]
fn the_file_is_private_and_goes() {
    let dir = tempfile::tempdir().unwrap();
    let address = "http://localhost:8420/#pair=AbC-_9";
    // Whatever lies there is replaced, not written through.
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "untouched").unwrap();
    std::os::unix::fs::symlink(&elsewhere, dir.path().join(FILE)).unwrap();
    let opening = Opening::write(dir.path(), address).unwrap();
    let meta = fs::symlink_metadata(&opening.0).unwrap();
    assert!(meta.is_file() && meta.mode() & 0o777 == 0o600);
    assert!(fs::read_to_string(&opening.0).unwrap().contains(&format!("content=\"0; url={address}\"")));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
    drop(opening);
    assert!(!dir.path().join(FILE).exists());
    sweep(dir.path()).unwrap();
}

#[test]
fn where_browsers_may_be_snaps_there_is_no_file_that_they_could_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let (address, snaps) = ("http://localhost:8420/#pair=AbC-_9", dir.path().join("bin"));
    assert!(leading(dir.path(), None, &snaps).is_none(), "nothing to lead to");
    let opening = leading(dir.path(), Some(address), &snaps).unwrap();
    assert!(opening.0.exists());
    drop(opening);
    fs::create_dir(&snaps).unwrap();
    assert!(leading(dir.path(), Some(address), &snaps).is_none() && !dir.path().join(FILE).exists());
}
