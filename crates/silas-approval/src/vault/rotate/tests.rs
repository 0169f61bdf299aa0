//! A new key for the vault, from every state in which a crash can leave the old and the new one.

use super::*;
use crate::vault::{key, protect, protection};
use silas_core::Timestamp;
use silas_core::secret::{Secret, SecretRef};

const CANARY: &str = "canary-value";

fn name(text: &str) -> SecretRef {
    SecretRef::parse(text).unwrap()
}

fn value(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

/// A vault with two secrets, in a directory of its own.
fn vault() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vault");
    let vault = Vault::open(&path, || None).unwrap();
    vault.put(&name("mail"), &value(CANARY), Timestamp::from_micros(1)).unwrap();
    vault.put(&name("acme:key"), &value("other"), Timestamp::from_micros(2)).unwrap();
    (dir, path)
}

#[track_caller]
fn assert_whole(path: &Path) {
    let vault = Vault::open(path, || None).unwrap();
    assert_eq!(vault.get(&name("mail")), Found::Value(value(CANARY)));
    assert_eq!(vault.get(&name("acme:key")), Found::Value(value("other")));
    let times: Vec<i64> = vault.list().unwrap().into_iter().map(|listed| listed.set_at.micros()).collect();
    assert_eq!(times, [2, 1], "when they were set does not change");
    assert!(!Places::of(path).has_traces());
}

fn copy(from: &Path, to: &Path) {
    DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn every_secret_is_sealed_anew_and_none_is_in_the_clear() {
    let (dir, path) = vault();
    let before = fs::read(path.join("mail.secret")).unwrap();
    let old = key(&path, &mut || None).unwrap();
    assert_eq!(rotate(&path, &mut || None).unwrap(), 2);
    assert_whole(&path);
    assert_ne!(fs::read(path.join("mail.secret")).unwrap(), before);
    let vault = Vault::open(&path, || None).unwrap();
    assert_eq!(vault.number().unwrap(), 2);
    assert!(vault.unlock(old.clone()).is_err(), "the old key opens nothing");
    let stale = Vault { dir: path.clone(), key: Mutex::new(Some(old)) };
    assert_eq!(stale.get(&name("mail")), Found::Damaged);
    for place in [dir.path(), &path] {
        for entry in fs::read_dir(place).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            let bytes = fs::read(entry.path()).unwrap();
            assert!(!bytes.windows(6).any(|part| part == b"canary"), "{:?}", entry.path());
        }
    }
    rotate(&path, &mut || None).unwrap();
    assert_eq!(Vault::open(&path, || None).unwrap().number().unwrap(), 3);
    assert_whole(&path);
}

#[test]
fn the_same_passphrase_opens_it_and_a_wrong_one_changes_nothing() {
    let (_dir, path) = vault();
    protect(&path, &mut || None, &Keep::Passphrase(value("correct horse"))).unwrap();
    let lock = fs::read(path.join(LOCK_FILE)).unwrap();
    for bad in [None, Some(value("wrong horse"))] {
        assert!(rotate(&path, &mut || bad.clone()).is_err());
        assert_eq!(fs::read(path.join(LOCK_FILE)).unwrap(), lock);
        assert!(!Places::of(&path).has_traces());
    }
    rotate(&path, &mut || Some(value("correct horse"))).unwrap();
    assert_eq!(protection(&path).unwrap(), Protection::Passphrase);
    let vault = Vault::open(&path, || None).unwrap();
    assert!(vault.is_locked());
    vault.unlock(key(&path, &mut || Some(value("correct horse"))).unwrap()).unwrap();
    assert_eq!(vault.get(&name("mail")), Found::Value(value(CANARY)));
    // A changed passphrase keeps the number of the key.
    protect(&path, &mut || Some(value("correct horse")), &Keep::File).unwrap();
    assert_eq!(Vault::open(&path, || None).unwrap().number().unwrap(), 2);
    assert_whole(&path);
}

#[test]
fn a_damaged_or_foreign_file_is_named_and_nothing_changes() {
    let (_dir, path) = vault();
    let good = fs::read(path.join("mail.secret")).unwrap();
    fs::write(path.join("mail.secret"), &good[..good.len() - 1]).unwrap();
    let refused = rotate(&path, &mut || None).unwrap_err().to_string();
    assert!(refused.contains("secret mail is damaged"), "{refused}");
    fs::write(path.join("mail.secret"), &good).unwrap();
    fs::write(path.join("not a name!.secret"), b"x").unwrap();
    assert!(rotate(&path, &mut || None).unwrap_err().to_string().contains("no secret of Silas"));
    fs::remove_file(path.join("not a name!.secret")).unwrap();
    assert_whole(&path);
    assert_eq!(Vault::open(&path, || None).unwrap().number().unwrap(), 1);
    fs::write(path.join(LOCK_FILE), b"{").unwrap();
    assert!(rotate(&path, &mut || None).is_err());
}

/// Each state that a crash can leave on disk, made by hand: whoever looks next finds one whole vault.
#[test]
fn every_state_in_between_is_one_whole_vault() {
    let (dir, path) = vault();
    let places = Places::of(&path);
    let (old, new) = (dir.path().join("kept-old"), dir.path().join("kept-new"));
    copy(&path, &old);
    rotate(&path, &mut || None).unwrap();
    copy(&path, &new);
    type Parts<'a> = &'a [(&'a Path, &'a Path)];
    let states: [(&str, Parts<'_>, u64); 6] = [
        ("half made", &[(&old, &path), (&new, &places.making)], 1),
        ("complete", &[(&old, &path), (&new, &places.next)], 2),
        ("set aside", &[(&old, &places.old), (&new, &places.next)], 2),
        ("in place", &[(&old, &places.old), (&new, &path)], 2),
        ("done", &[(&new, &path)], 2),
        ("made again", &[(&old, &path), (&new, &places.next), (&new, &places.making)], 2),
    ];
    for (state, parts, number) in states {
        for place in [&places.vault, &places.making, &places.next, &places.old] {
            let _none = fs::remove_dir_all(place);
        }
        for (from, to) in parts {
            copy(from, to);
        }
        if state == "half made" {
            fs::remove_file(places.making.join("mail.secret")).unwrap();
        }
        assert_eq!(protection(&path).unwrap(), Protection::Permissions, "{state}");
        assert_whole(&path);
        assert_eq!(Vault::open(&path, || None).unwrap().number().unwrap(), number, "{state}");
    }
    // What cannot be from a crash is no reason to begin anew.
    fs::rename(&path, &places.old).unwrap();
    assert!(Vault::open(&path, || None).is_err());
    assert!(!path.exists());
}
