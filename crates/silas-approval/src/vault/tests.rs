//! The vault: values by name, locked and open, damaged and foreign.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn name(text: &str) -> SecretRef {
    SecretRef::parse(text).unwrap()
}

fn value(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn vault() -> (tempfile::TempDir, PathBuf, Vault) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vault");
    let vault = reopened(&path);
    (dir, path, vault)
}

fn reopened(path: &Path) -> Vault {
    Vault::open(path, || None).unwrap()
}

fn passphrase() -> Option<Secret> {
    Some(value("correct horse"))
}

#[test]
fn a_value_comes_back_by_its_name_and_is_not_in_the_files() {
    let (_dir, path, vault) = vault();
    vault.put(&name("mail"), &value("canary-value"), at(1)).unwrap();
    vault.put(&name("mail"), &value("canary-value-2"), at(2)).unwrap();
    vault.put(&name("acme:api.key"), &value("other"), at(3)).unwrap();
    let vault = reopened(&path);
    assert_eq!(vault.get(&name("mail")), Found::Value(value("canary-value-2")));
    assert_eq!(vault.get(&name("post")), Found::Unknown);
    let mail = Listed { reference: name("mail"), set_at: at(2) };
    assert_eq!((vault.record(&name("mail")).unwrap(), vault.record(&name("post")).unwrap()), (Some(mail), None));
    let listed: Vec<_> = vault.list().unwrap().into_iter().map(|l| (l.reference.to_string(), l.set_at)).collect();
    assert_eq!(listed, [("acme:api.key".to_owned(), at(3)), ("mail".to_owned(), at(2))]);
    for entry in fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        let bytes = fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"canary"), "{:?}", entry.path());
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    assert!(vault.remove(&name("mail")).unwrap());
    assert!(!vault.remove(&name("mail")).unwrap());
    assert_eq!(vault.get(&name("mail")), Found::Unknown);
}

#[test]
fn locked_it_lists_and_removes_but_neither_gives_nor_takes() {
    let (_dir, path, vault) = vault();
    vault.put(&name("mail"), &value("v"), at(1)).unwrap();
    protect(&path, &mut || None, &Keep::Passphrase(value("correct horse"))).unwrap();
    assert_eq!(vault.get(&name("mail")), Found::Value(value("v")), "what is open stays open");
    let vault = reopened(&path);
    assert!(vault.is_locked());
    assert_eq!(vault.get(&name("mail")), Found::Locked);
    assert!(matches!(vault.put(&name("mail"), &value("w"), at(2)), Err(VaultTrouble::Locked)));
    assert_eq!(vault.list().unwrap().len(), 1);
    vault.unlock(key(&path, &mut passphrase).unwrap()).unwrap();
    assert_eq!(vault.get(&name("mail")), Found::Value(value("v")));
    assert!(vault.lock().unwrap() && vault.is_locked());
    assert!(vault.remove(&name("mail")).unwrap());
    assert!(vault.unlock(SealKey::random()).is_err() && vault.is_locked());
}

#[test]
fn the_passphrase_can_be_changed_and_removed_and_the_values_stay() {
    let (_dir, path, vault) = vault();
    vault.put(&name("mail"), &value("v"), at(1)).unwrap();
    assert!(!vault.lock().unwrap(), "with nothing to ask for there is nothing to lock");
    protect(&path, &mut || None, &Keep::Passphrase(value("correct horse"))).unwrap();
    assert!(protect(&path, &mut || Some(value("wrong horse")), &Keep::File).is_err());
    protect(&path, &mut passphrase, &Keep::Passphrase(value("battery staple"))).unwrap();
    assert!(matches!(key(&path, &mut passphrase), Err(VaultTrouble::Unopened(Unopened::WrongPassphrase))));
    protect(&path, &mut || Some(value("battery staple")), &Keep::File).unwrap();
    assert_eq!(reopened(&path).get(&name("mail")), Found::Value(value("v")));
}

#[test]
fn damage_swaps_and_a_missing_lock_are_noticed_and_never_become_a_new_vault() {
    let (_dir, path, vault) = vault();
    vault.put(&name("a"), &value("value of a"), at(1)).unwrap();
    vault.put(&name("b"), &value("value of b"), at(1)).unwrap();
    fs::copy(path.join("a.secret"), path.join("b.secret")).unwrap();
    assert_eq!(vault.get(&name("b")), Found::Damaged, "an entry is bound to its name");
    let mut bytes = fs::read(path.join("a.secret")).unwrap();
    bytes[9] ^= 1;
    fs::write(path.join("a.secret"), bytes).unwrap();
    assert_eq!(vault.get(&name("a")), Found::Damaged, "and to its time");
    let lock = fs::read(path.join("lock.json")).unwrap();
    fs::remove_file(path.join("lock.json")).unwrap();
    assert!(Vault::open(&path, || None).is_err());
    assert!(!path.join("lock.json").exists());
    fs::write(path.join("lock.json"), &lock[..lock.len() / 2]).unwrap();
    assert!(Vault::open(&path, || None).is_err());
}

#[test]
fn values_and_entries_have_bounds() {
    let (_dir, path, vault) = vault();
    for bad in [Vec::new(), vec![b'x'; SECRET_BYTES_MAX + 1]] {
        assert!(matches!(vault.put(&name("a"), &Secret::new(bad), at(1)), Err(VaultTrouble::Size)));
    }
    for n in 0..ENTRIES_MAX {
        fs::write(path.join(format!("n{n}.secret")), b"").unwrap();
    }
    assert!(matches!(vault.put(&name("a"), &value("v"), at(1)), Err(VaultTrouble::Full)));
}

#[test]
fn only_files_of_a_vault_are_parts_of_one() {
    for (file, is) in [("lock.json", true), ("mail.secret", true), ("../x.secret", false), ("x.secret.new", false)] {
        assert_eq!(is_part(file), is, "{file}");
    }
}
