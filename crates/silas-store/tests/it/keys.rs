//! New keys in the database: certificates of a new root key, and the entries that tell of exchanges, once each.

use crate::world::{World, certificate, token};
use silas_core::event::AuditEvent;
use silas_core::handover::{Handover, HandoverBody};
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Verdict};
use silas_core::{InstallationId, KeyId, Timestamp};
use silas_store::{Abort, Commit, Error, Store, Tx, devices, ledger, rotations, take_over, tokens};

fn change<T: Send + 'static>(store: &Store, mut f: impl FnMut(&mut Tx<'_>) -> Result<T, Error> + Send + 'static) -> T {
    store.write(move |tx| f(tx).map(Commit).map_err(Abort)).wait().unwrap()
}

fn names(store: &Store) -> Vec<String> {
    let events = store.read(|tx| ledger::entries(tx, 1, 100)).wait().unwrap();
    events.into_iter().map(|entry| entry.name).collect()
}

fn handover(number: u64) -> Handover {
    let key = |n: u8| PublicKey::from_bytes([n; 32]);
    let (from, to) = (key(1), key(2));
    let installation = InstallationId::parse("inst-1").unwrap();
    let body = HandoverBody { v: 1, installation, number, from, to, revocations: 0, at: Timestamp::EPOCH };
    let signature = Signature::ed25519(from.id(), [0; 64]);
    Handover { body, accepted: signature.clone(), signature }
}

#[test]
fn certificates_are_exchanged_once_and_only_for_the_same_device() {
    let world = World::new();
    let store = world.open();
    let (ours, other) = (certificate(1), certificate(2));
    let decision = token(Kind::Root, "n-1", 1, Verdict::Approved);
    let (id, kept) = (decision.id().unwrap(), [ours.clone(), other.clone()]);
    change(&store, move |tx| {
        kept.iter().try_for_each(|certificate| devices::insert(tx, certificate))?;
        tokens::insert(tx, &decision, &kept[0], "{}", None)
    });
    assert_eq!(store.read(take_over::certificates).wait().unwrap().len(), 2);
    let mut signed = ours.clone();
    signed.signature = Signature::ed25519(KeyId::parse("key-new").unwrap(), [7; 64]);
    for _ in 0..2 {
        let signed = signed.clone();
        change(&store, move |tx| take_over::take_over(tx, &handover(1), std::slice::from_ref(&signed)));
    }
    let (key, wanted) = (ours.body.key.clone(), id);
    let now = store.read(move |tx| Ok((devices::get(tx, &key)?, tokens::get(tx, &wanted)?))).wait().unwrap();
    assert_eq!((now.0.unwrap(), now.1.unwrap().certificate), (signed.clone(), signed));
    let key = other.body.key.clone();
    assert_eq!(store.read(move |tx| devices::get(tx, &key)).wait().unwrap().unwrap(), other, "nobody signed for it");
    assert_eq!(names(&store), ["root_handed_over"], "told once");
}

#[test]
fn each_exchange_is_told_once_and_a_missing_key_is_noticed() {
    let world = World::new();
    let store = world.open();
    let keys = |names: &[&str]| -> Vec<KeyId> { names.iter().map(|name| KeyId::parse(name).unwrap()).collect() };
    for (known, is_sound) in [
        (&["key-a"][..], true),
        (&["key-a", "key-b"], true),
        (&["key-a", "key-b"], true),
        (&["key-a", "key-b", "key-c", "key-d"], true),
        (&["key-d"], false),
        (&["key-a", "key-x"], false),
    ] {
        let known = keys(known);
        assert_eq!(change(&store, move |tx| rotations::note_server_keys(tx, &known)), is_sound);
    }
    assert_eq!(names(&store), ["server_key_rotated"; 3]);
    for number in [1, 2, 2, 1, 3] {
        change(&store, move |tx| rotations::note_vault_key(tx, number));
    }
    let told = store.read(|tx| ledger::entries(tx, 4, 100)).wait().unwrap();
    let told: Vec<_> = told.into_iter().filter_map(|entry| entry.event).collect();
    assert_eq!(told, [AuditEvent::VaultKeyRotated { number: 2 }, AuditEvent::VaultKeyRotated { number: 3 }]);
}
