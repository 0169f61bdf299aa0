//! The key helper: new, found, damaged and foreign keys.

use super::*;
use silas_core::Nonce;
use silas_core::message::MessageBody;
use silas_core::secret::Secret;
use std::path::PathBuf;

fn at() -> Timestamp {
    Timestamp::from_micros(1_000_000)
}

fn keys() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys");
    (dir, keys)
}

fn start(keys: &Path) -> KeyReply {
    alone(keys, &KeyRequest::Init { at: at(), terminal_name: "this terminal".to_owned(), keyring: false })
}

/// With nobody there to be asked.
fn alone(keys: &Path, request: &KeyRequest) -> KeyReply {
    helper(keys, request, &mut || None)
}

fn said(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn sealed_with(keys: &Path, passphrase: &str) {
    let protection = protect(keys, &mut || None, &Keep::Passphrase(said(passphrase))).unwrap();
    assert_eq!(protection, Protection::Passphrase);
}

fn message() -> KeyRequest {
    let body = MessageBody {
        text: "hello".to_owned(),
        timestamp: at(),
        nonce: Nonce::new(&OsRandom),
        installation: InstallationId::parse("inst-x").unwrap(),
        scope: "owner".to_owned(),
    };
    KeyRequest::Sign { body: SignBody::Message(body) }
}

fn put(keys: &Path, name: &str, bytes: &[u8]) {
    fs::write(keys.join(name), bytes).unwrap();
    fs::set_permissions(keys.join(name), fs::Permissions::from_mode(0o600)).unwrap();
}

#[track_caller]
fn refused(reply: KeyReply) -> String {
    match reply {
        KeyReply::Refused { reason } => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn the_first_start_makes_keys_and_the_second_finds_them() {
    let (_dir, keys) = keys();
    let KeyReply::Ready { installation, root, terminal, is_new: true, protection: Protection::Permissions } =
        start(&keys)
    else {
        panic!()
    };
    assert!(terminal.verifies(&root, &installation));
    let KeyReply::Ready { installation: again, root: same, is_new: false, .. } = start(&keys) else { panic!() };
    assert_eq!((again, same), (installation, root));
    for name in [ROOT_FILE, TERMINAL_FILE, CARD_FILE] {
        let mode = fs::metadata(keys.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn an_interrupted_first_start_goes_on_with_the_keys_it_had_made() {
    let (_dir, keys) = keys();
    let KeyReply::Ready { root, .. } = start(&keys) else { panic!() };
    fs::remove_file(keys.join(CARD_FILE)).unwrap();
    let KeyReply::Ready { root: again, is_new: true, .. } = start(&keys) else { panic!() };
    assert_eq!(again, root);
}

#[test]
fn damaged_material_is_an_error_and_never_a_new_key() {
    for (name, damage) in [
        (ROOT_FILE, b"silas-k1short".as_slice()),
        (ROOT_FILE, b"something else entirely, forty bytes long".as_slice()),
        (CARD_FILE, b"{".as_slice()),
    ] {
        let (_dir, keys) = keys();
        start(&keys);
        fs::write(keys.join(name), damage).unwrap();
        assert!(refused(start(&keys)).contains("damaged"), "{name}");
        assert_eq!(fs::read(keys.join(name)).unwrap(), damage);
    }
}

#[test]
fn keys_of_another_installation_do_not_fit() {
    let ((_a, ours), (_b, theirs)) = (keys(), keys());
    start(&ours);
    start(&theirs);
    fs::copy(theirs.join(ROOT_FILE), ours.join(ROOT_FILE)).unwrap();
    assert!(refused(start(&ours)).contains("do not fit"));
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let (_dir, keys) = keys();
    start(&keys);
    fs::set_permissions(keys.join(ROOT_FILE), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(start(&keys)).contains("readable by others"));
}

#[test]
fn only_a_browser_of_this_installation_is_certified() {
    let (_dir, keys) = keys();
    let KeyReply::Ready { installation, root, .. } = start(&keys) else { panic!() };
    let public = PublicKey::from_bytes(SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes());
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: installation.clone(),
        name: "phone".to_owned(),
        key: public.id(),
        public,
        issued_at: at(),
        site: None,
    };
    let KeyReply::Certified { certificate } = alone(&keys, &KeyRequest::Certify { body: body.clone() }) else {
        panic!()
    };
    assert!(certificate.verifies(&root, &installation));
    let other = InstallationId::parse("inst-other").unwrap();
    let wrong = [
        CertificateBody { kind: DeviceKind::Terminal, ..body.clone() },
        CertificateBody { installation: other, ..body.clone() },
        CertificateBody { v: 2, ..body },
    ];
    for body in wrong {
        refused(alone(&keys, &KeyRequest::Certify { body }));
    }
}

#[test]
fn the_server_key_is_certified_for_the_ledger_and_no_key_that_decides_is() {
    use silas_core::checkpoint::Purpose;
    let (_dir, keys) = keys();
    let KeyReply::Ready { installation, root, terminal, .. } = start(&keys) else { panic!() };
    let server = SigningKey::from_bytes(&[9; 32]);
    let body = |public: PublicKey| ServerCertificateBody {
        v: ServerCertificateBody::VERSION,
        purpose: Purpose::Ledger,
        installation: installation.clone(),
        key: public.id(),
        public,
        issued_at: at(),
        replaces: None,
    };
    let honest = body(PublicKey::from_bytes(server.verifying_key().to_bytes()));
    let reply = helper(&keys, &KeyRequest::CertifyServer { body: honest.clone() }, &mut || None);
    let KeyReply::ServerCertified { certificate } = reply else { panic!("{reply:?}") };
    assert_eq!(certificate.check(&root, &installation), Ok(()));
    let elsewhere = ServerCertificateBody { installation: InstallationId::parse("inst-2").unwrap(), ..honest };
    assert!(
        refused(helper(&keys, &KeyRequest::CertifyServer { body: elsewhere }, &mut || None)).contains("does not fit")
    );
    for deciding in [root, terminal.body.public] {
        let reply = helper(&keys, &KeyRequest::CertifyServer { body: body(deciding) }, &mut || None);
        assert!(refused(reply).contains("cannot be the server's"));
    }
}

#[test]
fn sealed_keys_are_not_in_their_files_and_sign_with_the_passphrase_only() {
    let (_dir, keys) = keys();
    let KeyReply::Ready { root, installation, terminal, .. } = start(&keys) else { panic!() };
    let seeds = [ROOT_FILE, TERMINAL_FILE].map(|name| fs::read(keys.join(name)).unwrap()[8..].to_vec());
    sealed_with(&keys, "correct horse");
    for entry in fs::read_dir(&keys).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for seed in &seeds {
            assert!(!bytes.windows(32).any(|part| part == seed.as_slice()), "{}", path.display());
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    // The public facts are told without asking; everything else takes the passphrase.
    let KeyReply::Ready { root: same, protection: Protection::Passphrase, is_new: false, .. } = start(&keys) else {
        panic!()
    };
    assert_eq!(same, root);
    assert!(terminal.verifies(&same, &installation));
    assert!(matches!(alone(&keys, &message()), KeyReply::Locked));
    assert!(matches!(alone(&keys, &KeyRequest::Check), KeyReply::Locked));
    let wrong = helper(&keys, &message(), &mut || Some(said("correct horsf")));
    assert!(refused(wrong).contains("passphrase is wrong"));
    let KeyReply::Signed { signature } = helper(&keys, &message(), &mut || Some(said("correct horse"))) else {
        panic!()
    };
    assert_eq!(signature.key, terminal.body.key);
}

#[test]
fn a_passphrase_is_changed_and_removed_with_the_old_one_only() {
    let (_dir, keys) = keys();
    start(&keys);
    sealed_with(&keys, "correct horse");
    let new = Keep::Passphrase(said("battery staple"));
    assert!(protect(&keys, &mut || Some(said("guess guess")), &new).is_err());
    assert!(protect(&keys, &mut || None, &Keep::File).is_err());
    protect(&keys, &mut || Some(said("correct horse")), &new).unwrap();
    assert!(matches!(helper(&keys, &message(), &mut || Some(said("correct horse"))), KeyReply::Refused { .. }));
    let kept = protect(&keys, &mut || Some(said("battery staple")), &Keep::File).unwrap();
    assert_eq!(kept, Protection::Permissions);
    assert!(matches!(alone(&keys, &message()), KeyReply::Signed { .. }));
}

#[test]
fn a_change_that_was_cut_short_is_told_as_it_is_and_can_be_finished() {
    let (_dir, keys) = keys();
    start(&keys);
    let plain = fs::read(keys.join(TERMINAL_FILE)).unwrap();
    sealed_with(&keys, "correct horse");
    // As if the plug had been pulled before the second key was sealed.
    fs::write(keys.join(TERMINAL_FILE), plain).unwrap();
    assert_eq!(protection(&keys).unwrap(), Protection::Permissions);
    let again = Keep::Passphrase(said("correct horse"));
    assert_eq!(protect(&keys, &mut || Some(said("correct horse")), &again).unwrap(), Protection::Passphrase);
    assert!(matches!(alone(&keys, &message()), KeyReply::Locked));
}

#[test]
fn sealed_keys_that_are_damaged_exchanged_or_without_their_lock_are_errors() {
    let with = |keys: &Path, request| helper(keys, &request, &mut || Some(said("correct horse")));
    let (_dir, ours) = keys();
    start(&ours);
    sealed_with(&ours, "correct horse");
    let root = fs::read(ours.join(ROOT_FILE)).unwrap();
    let mut damaged = root.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(ours.join(ROOT_FILE), &damaged).unwrap();
    assert!(refused(with(&ours, KeyRequest::Check)).contains("damaged"));
    fs::write(ours.join(ROOT_FILE), &root).unwrap();
    let lock = fs::read(ours.join(LOCK_FILE)).unwrap();
    fs::remove_file(ours.join(LOCK_FILE)).unwrap();
    assert!(refused(with(&ours, KeyRequest::Check)).contains("lock.json is missing"));
    assert!(refused(start(&ours)).contains("lock.json is missing"));
    put(&ours, LOCK_FILE, &lock[..40]);
    assert!(refused(start(&ours)).contains("damaged"));
    put(&ours, LOCK_FILE, &lock);
    fs::copy(ours.join(ROOT_FILE), ours.join(TERMINAL_FILE)).unwrap();
    assert!(refused(start(&ours)).contains("do not fit"));
}

#[test]
fn a_new_terminal_key_is_vouched_for_and_the_old_certificate_still_verifies() {
    for is_sealed in [false, true] {
        let (_dir, keys) = keys();
        let KeyReply::Ready { root, installation, terminal: old, .. } = start(&keys) else { panic!() };
        if is_sealed {
            sealed_with(&keys, "correct horse");
        }
        let before = fs::read(keys.join(TERMINAL_FILE)).unwrap();
        let new = rotate_terminal(&keys, &mut || Some(said("correct horse")), at()).unwrap();
        assert!(new.body.key != old.body.key);
        assert!(new.verifies(&root, &installation) && old.verifies(&root, &installation));
        let KeyReply::Signed { signature } = helper(&keys, &message(), &mut || Some(said("correct horse"))) else {
            panic!()
        };
        assert_eq!(signature.key, new.body.key);
        assert_ne!(fs::read(keys.join(TERMINAL_FILE)).unwrap(), before);
        let KeyReply::Ready { terminal, .. } = start(&keys) else { panic!() };
        assert_eq!(terminal, new);
    }
}

#[test]
fn a_rotation_that_was_cut_short_ends_with_one_whole_key() {
    let (_dir, keys) = keys();
    let KeyReply::Ready { terminal: old, .. } = start(&keys) else { panic!() };
    let (card, key) = (fs::read(keys.join(CARD_FILE)).unwrap(), fs::read(keys.join(TERMINAL_FILE)).unwrap());
    let new = rotate_terminal(&keys, &mut || None, at()).unwrap();
    let (new_card, new_key) = (fs::read(keys.join(CARD_FILE)).unwrap(), fs::read(keys.join(TERMINAL_FILE)).unwrap());
    // After the public facts, before the name.
    fs::rename(keys.join(TERMINAL_FILE), keys.join("terminal.next")).unwrap();
    put(&keys, TERMINAL_FILE, &key);
    let KeyReply::Ready { terminal, .. } = start(&keys) else { panic!() };
    assert_eq!(terminal, new);
    assert_eq!(fs::read(keys.join(TERMINAL_FILE)).unwrap(), new_key);
    // Before the public facts.
    fs::rename(keys.join(TERMINAL_FILE), keys.join("terminal.next")).unwrap();
    for (name, bytes) in [(TERMINAL_FILE, &key), (CARD_FILE, &card)] {
        put(&keys, name, bytes);
    }
    let KeyReply::Ready { terminal, .. } = start(&keys) else { panic!() };
    assert_eq!(terminal, old);
    assert!(!keys.join("terminal.next").exists());
    assert_ne!(new_card, card);
}
