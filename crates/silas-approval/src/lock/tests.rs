//! Locks: what opens them, what does not, and that a damaged one is an error.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn said(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn nobody() -> Option<Secret> {
    None
}

#[test]
fn a_passphrase_opens_and_nothing_else_does() {
    let key = SealKey::random();
    let lock = Lock::make(&key, "keys", &Keep::Passphrase(said("correct horse")), keyring::AT_ONCE).unwrap();
    assert_eq!(lock.protection(), Protection::Passphrase);
    assert_eq!(lock.open("keys", &mut || Some(said("correct horse"))), Ok(key));
    assert_eq!(lock.open("keys", &mut || Some(said("correct horsf"))), Err(Unopened::WrongPassphrase));
    assert_eq!(lock.open("vault", &mut || Some(said("correct horse"))), Err(Unopened::WrongPassphrase));
    assert_eq!(lock.open("keys", &mut nobody), Err(Unopened::Locked));
}

#[test]
fn what_a_lock_file_holds_is_not_the_key_unless_it_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock.json");
    let key = SealKey::random();
    let spelled = STANDARD.encode(key.expose());
    for (keep, is_there) in [(Keep::File, true), (Keep::Passphrase(said("correct horse")), false)] {
        Lock::make(&key, "keys", &keep, keyring::AT_ONCE).unwrap().write(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().contains(&spelled), is_there);
        let lock = Lock::read(&path).unwrap().unwrap();
        assert_eq!(lock.open("keys", &mut || Some(said("correct horse"))), Ok(key.clone()));
    }
}

#[test]
fn damage_is_an_error_and_so_is_a_foreign_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock.json");
    assert_eq!(Lock::read(&path), Ok(None));
    let lock = Lock::make(&SealKey::random(), "keys", &Keep::File, keyring::AT_ONCE).unwrap();
    lock.write(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for damage in [text.replace("\"v\": 1", "\"v\": 2"), text[..text.len() / 2].to_owned(), String::new()] {
        fs::write(&path, damage).unwrap();
        assert!(matches!(Lock::read(&path), Err(Unopened::Damaged(_))));
    }
    let foreign =
        Lock { check: Lock::make(&SealKey::random(), "keys", &Keep::File, keyring::AT_ONCE).unwrap().check, ..lock };
    assert!(matches!(foreign.open("keys", &mut nobody), Err(Unopened::Damaged(_))));
    foreign.write(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(Lock::read(&path), Err(Unopened::Damaged(why)) if why.contains("readable by others")));
}
