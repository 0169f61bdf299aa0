//! A place is new, for nobody else, and under no name that could be known before.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_temporary_place_is_new_private_and_unforeseeable() {
    let (one, other) = (Place::temporary("test").unwrap(), Place::temporary("test").unwrap());
    assert_ne!(one.path, other.path);
    assert_eq!(fs::metadata(&one.path).unwrap().mode() & 0o777, 0o700);
    assert!(!one.path.to_string_lossy().contains(&std::process::id().to_string()));
    // What is there already is never taken, whoever made it and wherever it leads.
    assert!(make(&one.path).is_err());
    let link = one.path.join("link");
    symlink(&other.path, &link).unwrap();
    assert!(make(&link).is_err());
    let path = one.path.clone();
    drop(one);
    assert!(!path.exists());
}

#[test]
fn a_place_to_keep_is_nobody_elses() {
    let place = Place::temporary("test").unwrap();
    let new = Place::kept(&place.path.join("more/new")).unwrap();
    assert_eq!(fs::metadata(&new.path).unwrap().mode() & 0o777, 0o700);
    // An empty directory of one's own will do, as long as nobody else can write there.
    Place::kept(&new.path).unwrap();
    fs::set_permissions(&new.path, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Place::kept(&new.path).is_err());
    fs::set_permissions(&new.path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = place.path.join("link");
    symlink(&new.path, &link).unwrap();
    assert!(Place::kept(&link).is_err());
    fs::write(new.path.join("file"), "").unwrap();
    assert!(Place::kept(&new.path).is_err());
}
