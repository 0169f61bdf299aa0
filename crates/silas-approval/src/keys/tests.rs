//! The key helper: new, found, damaged and foreign keys.

use super::*;
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
    helper(keys, &KeyRequest::Init { at: at(), terminal_name: "this terminal".to_owned() })
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
    let KeyReply::Ready { installation, root, terminal, is_new: true } = start(&keys) else { panic!() };
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
    };
    let KeyReply::Certified { certificate } = helper(&keys, &KeyRequest::Certify { body: body.clone() }) else {
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
        refused(helper(&keys, &KeyRequest::Certify { body }));
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
    };
    let honest = body(PublicKey::from_bytes(server.verifying_key().to_bytes()));
    let reply = helper(&keys, &KeyRequest::CertifyServer { body: honest.clone() });
    let KeyReply::ServerCertified { certificate } = reply else { panic!("{reply:?}") };
    assert_eq!(certificate.check(&root, &installation), Ok(()));
    let elsewhere = ServerCertificateBody { installation: InstallationId::parse("inst-2").unwrap(), ..honest };
    assert!(refused(helper(&keys, &KeyRequest::CertifyServer { body: elsewhere })).contains("does not fit"));
    for deciding in [root, terminal.body.public] {
        let reply = helper(&keys, &KeyRequest::CertifyServer { body: body(deciding) });
        assert!(refused(reply).contains("cannot be the server's"));
    }
}
