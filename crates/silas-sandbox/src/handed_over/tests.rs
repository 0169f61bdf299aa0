//! The launcher's memory of the root key: it goes forward, and nobody who comes with an older key is believed.

use super::*;
use ed25519_dalek::{Signer as _, SigningKey};
use silas_core::Timestamp;
use silas_core::handover::HandoverBody;
use silas_core::revocation::RevocationBody;
use silas_core::signature::Signature;

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(seed: u8) -> PublicKey {
    PublicKey::from_bytes(secret(seed).verifying_key().to_bytes())
}

fn sign(seed: u8, message: &str) -> Signature {
    Signature::ed25519(public(seed).id(), secret(seed).sign(message.as_bytes()).to_bytes())
}

fn installation() -> InstallationId {
    InstallationId::parse("inst-here").unwrap()
}

fn handover(number: u64, from: u8, to: u8, revocations: u64) -> Handover {
    let (from_key, to_key, at) = (public(from), public(to), Timestamp::EPOCH);
    let installation = installation();
    let body = HandoverBody { v: 1, installation, number, from: from_key, to: to_key, revocations, at };
    let message = body.message().unwrap();
    Handover { signature: sign(from, &message), accepted: sign(to, &message), body }
}

fn list(by: u8, number: u64) -> RevocationList {
    let body = RevocationBody {
        v: RevocationBody::VERSION,
        installation: installation(),
        number,
        devices: [public(5).id()].into(),
        grants: Default::default(),
        issued_at: Timestamp::EPOCH,
    };
    RevocationList { signature: sign(by, &body.message().unwrap()), body }
}

fn anchor(root: u8) -> Anchor {
    Anchor { root: public(root), installation: installation(), epoch: 1 }
}

#[test]
fn a_key_that_handed_over_is_refused_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::open(dir.path()).unwrap();
    let (one, two) = (handover(1, 1, 2, 0), handover(2, 2, 3, 0));
    stand_on(&memory, &anchor(1), vec![]).unwrap();
    stand_on(&memory, &anchor(2), vec![one.clone()]).unwrap();
    stand_on(&memory, &anchor(2), vec![one.clone()]).unwrap();
    let refused = |root: u8, told: Vec<Handover>| match stand_on(&memory, &anchor(root), told) {
        Err(Error::Root(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(1, vec![]).contains("handed over to another since"));
    assert!(refused(9, vec![handover(1, 1, 9, 0)]).contains("handed over to another since"), "another successor");
    assert!(refused(1, vec![one.clone()]).contains("another root key than the one that holds"));
    assert!(refused(3, vec![one.clone(), handover(2, 9, 3, 0)]).contains("does not follow"));
    stand_on(&memory, &anchor(3), vec![one.clone(), two.clone()]).unwrap();
    assert!(refused(2, vec![one.clone()]).contains("handed over to another since"));
    std::fs::write(memory.file(HANDOVERS), b"[{").unwrap();
    assert!(matches!(stand_on(&memory, &anchor(3), vec![one, two]), Err(Error::Damaged(_))), "damaged is not empty");
}

#[test]
fn a_hand_over_takes_the_revocations_along_and_can_be_done_twice() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::open(&ground::launcher(dir.path())).unwrap();
    memory.adopt(list(1, 3), &anchor(1)).unwrap();
    let told = Handovers::checked(vec![handover(1, 1, 2, 4)], &public(2), &installation()).unwrap();
    let carry = |list: Option<&RevocationList>| carry_out(dir.path(), &told, &public(2), &installation(), list);
    assert!(matches!(carry(Some(&list(1, 4))), Err(Error::Root(_))), "a list of the old key");
    carry(Some(&list(2, 4))).unwrap();
    carry(Some(&list(2, 4))).unwrap();
    assert_eq!(revocations(dir.path(), &anchor(2)).unwrap(), Some(list(2, 4)));
    assert!(revocations(dir.path(), &anchor(1)).is_err());
    // INV-01: whatever number the old key puts on a list, it does not bring a device back.
    assert!(matches!(memory.adopt(list(1, 100), &anchor(2)), Err(Error::Refused(_))));
    // Something was revoked behind its back: then the list that it brings would be a step back.
    memory.adopt(list(2, 5), &anchor(2)).unwrap();
    assert!(matches!(carry(Some(&list(2, 4))), Err(Error::Root(_))));

    assert!(would_go_back(dir.path(), &[], &installation()).unwrap());
    assert!(!would_go_back(dir.path(), told.list(), &installation()).unwrap());
    let elsewhere = InstallationId::parse("inst-other").unwrap();
    assert!(!would_go_back(dir.path(), &[], &elsewhere).unwrap(), "another installation's keys say nothing");
}
