//! A new root key: what it vouches for, what the old one can no longer do, and every instant at which it may be cut off.

use super::*;
use crate::keys::{KeyReply, KeyRequest, helper, protect};
use crate::lock::Keep;
use silas_core::device::{CertificateBody, DeviceKind, Mismatch};
use silas_core::secret::Secret;
use silas_core::{InstallationId, KeyId};
use std::path::PathBuf;

struct World {
    _dir: tempfile::TempDir,
    keys: PathBuf,
    installation: InstallationId,
    root: PublicKey,
    phone: Certificate,
    list: RevocationList,
}

fn at(n: i64) -> Timestamp {
    Timestamp::from_micros(n)
}

fn ask(keys: &Path, request: &KeyRequest) -> KeyReply {
    helper(keys, request, &mut || None)
}

fn start(keys: &Path) -> KeyReply {
    ask(keys, &KeyRequest::Init { at: at(1), terminal_name: "terminal".to_owned(), keyring: false })
}

fn phone_body(installation: &InstallationId) -> CertificateBody {
    let public = PublicKey::from_bytes(ed25519_dalek::SigningKey::from_bytes(&[5; 32]).verifying_key().to_bytes());
    let (installation, name) = (installation.clone(), "Phone".to_owned());
    CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation,
        name,
        key: public.id(),
        public,
        issued_at: at(2),
        site: None,
    }
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys");
    let KeyReply::Ready { installation, root, .. } = start(&keys) else { panic!() };
    let KeyReply::Certified { certificate: phone } =
        ask(&keys, &KeyRequest::Certify { body: phone_body(&installation) })
    else {
        panic!()
    };
    let body = RevocationBody {
        v: RevocationBody::VERSION,
        installation: installation.clone(),
        number: 3,
        devices: [KeyId::parse("key-lost").unwrap()].into(),
        grants: Default::default(),
        issued_at: at(3),
    };
    let KeyReply::Revoked { list } = ask(&keys, &KeyRequest::Revoke { body }) else { panic!() };
    World { _dir: dir, keys, installation, root, phone, list }
}

impl World {
    fn vouched(&self) -> Vouched {
        Vouched { certificates: vec![self.phone.clone()], servers: Vec::new(), revocations: Some(self.list.clone()) }
    }

    fn hand_over(&self) -> Pending {
        hand_over(&self.keys, &mut || None, at(10), &self.vouched()).unwrap()
    }
}

#[test]
fn the_new_key_vouches_for_everything_and_the_old_one_for_nothing() {
    let world = world();
    let pending = world.hand_over();
    let handovers = put_in_place(&world.keys, &pending).unwrap();
    close(&world.keys).unwrap();
    let KeyReply::Ready { root, terminal, installation, is_new: false, .. } = start(&world.keys) else { panic!() };
    assert!(installation == world.installation && root == pending.handover.body.to && root != world.root);
    assert_eq!(handovers.list(), [pending.handover]);
    assert_eq!(terminal.check(&root, &installation), Ok(()));
    let phone = &pending.certificates[0];
    assert_eq!((phone.check(&root, &installation), &phone.body), (Ok(()), &world.phone.body));
    let list = pending.revocations.unwrap();
    assert_eq!((list.check(&root, &installation), list.body.number), (Ok(()), 4));
    assert_eq!(list.body.devices, world.list.body.devices);
    // INV-01: certificates and lists of the old key, of before or after, fit the new one no more.
    assert_eq!(world.phone.check(&root, &installation), Err(Mismatch::Signature));
    assert_eq!(world.list.check(&root, &installation), Err(Mismatch::Signature));
    let again = hand_over(&world.keys, &mut || None, at(20), &Vouched { certificates: vec![phone.clone()], ..empty() });
    assert_eq!(again.unwrap().handover.body.number, 2);
}

fn empty() -> Vouched {
    Vouched { certificates: Vec::new(), servers: Vec::new(), revocations: None }
}

#[test]
fn what_the_old_key_never_signed_is_not_taken_along() {
    let world = world();
    let mut forged = world.phone.clone();
    forged.body.name = "Another".to_owned();
    let vouched = Vouched { certificates: vec![forged, world.phone.clone()], ..world.vouched() };
    let pending = hand_over(&world.keys, &mut || None, at(10), &vouched).unwrap();
    assert_eq!(pending.certificates.len(), 1);
    close(&world.keys).unwrap();
    let mut list = world.list.clone();
    list.body.devices.clear();
    let vouched = Vouched { revocations: Some(list), ..world.vouched() };
    let refused = hand_over(&world.keys, &mut || None, at(10), &vouched).unwrap_err().to_string();
    assert!(refused.contains("revoked does not count: it was not signed"), "{refused}");
}

#[test]
fn a_passphrase_seals_the_new_key_too() {
    let world = world();
    let said = || Some(Secret::new(b"correct horse".to_vec()));
    protect(&world.keys, &mut || None, &Keep::Passphrase(said().unwrap())).unwrap();
    assert!(hand_over(&world.keys, &mut || None, at(10), &world.vouched()).is_err());
    assert!(!is_pending(&world.keys) && !world.keys.join(NEXT_FILE).exists());
    let pending = hand_over(&world.keys, &mut || said(), at(10), &world.vouched()).unwrap();
    // Carried out by whoever comes next, with no passphrase.
    put_in_place(&world.keys, &pending).unwrap();
    close(&world.keys).unwrap();
    assert!(matches!(ask(&world.keys, &KeyRequest::Check), KeyReply::Locked));
    assert!(matches!(helper(&world.keys, &KeyRequest::Check, &mut || said()), KeyReply::Checked));
}

/// The states that a crash leaves, one after the other, each looked at as the next start would.
#[test]
fn cut_off_anywhere_one_key_holds_and_it_fits() {
    let world = world();
    let root_of = |keys: &Path| match start(keys) {
        KeyReply::Ready { root, is_new: false, .. } => root,
        other => panic!("{other:?}"),
    };
    // Made, not decided: the old one holds, and the new one is gone.
    let pending = world.hand_over();
    let next = fs::read(world.keys.join(NEXT_FILE)).unwrap();
    fs::remove_file(world.keys.join(PENDING_FILE)).unwrap();
    assert_eq!(root_of(&world.keys), world.root);
    assert!(!world.keys.join(NEXT_FILE).exists());
    // Decided, nothing done.
    let put = |name: &str, bytes: &[u8]| durable::replace(&world.keys.join(name), bytes).unwrap();
    put(NEXT_FILE, &next);
    put(PENDING_FILE, &serde_json::to_vec(&pending).unwrap());
    let found = super::pending(&world.keys).unwrap().unwrap();
    assert_eq!(found, pending);
    // The public facts changed, the name did not.
    let (card, old) = (fs::read(world.keys.join(CARD_FILE)).unwrap(), fs::read(world.keys.join(ROOT_FILE)).unwrap());
    put_in_place(&world.keys, &found).unwrap();
    put(ROOT_FILE, &old);
    put(NEXT_FILE, &next);
    put_in_place(&world.keys, &found).unwrap();
    assert!(!world.keys.join(NEXT_FILE).exists());
    // All of it done, and done again.
    put_in_place(&world.keys, &found).unwrap();
    assert_eq!(root_of(&world.keys), pending.handover.body.to);
    // The facts of before, and no new key: nobody makes one up.
    put(CARD_FILE, &card);
    put(ROOT_FILE, &old);
    assert!(put_in_place(&world.keys, &found).is_err());
    assert!(!world.keys.join(NEXT_FILE).exists());
}

#[test]
fn a_damaged_or_altered_decision_is_an_error() {
    let world = world();
    let mut pending = world.hand_over();
    pending.handover.body.number += 1;
    fs::write(world.keys.join(PENDING_FILE), serde_json::to_vec(&pending).unwrap()).unwrap();
    let refused = super::pending(&world.keys).unwrap_err().to_string();
    assert!(refused.contains("does not count"), "{refused}");
    fs::write(world.keys.join(PENDING_FILE), b"{").unwrap();
    assert!(super::pending(&world.keys).unwrap_err().to_string().contains("is damaged"));
}
