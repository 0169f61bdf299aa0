//! The chain with its checkpoints and with what was verified before: what a quick look sees, and what it does not.

use crate::world::{World, started};
use ed25519_dalek::{Signer, SigningKey};
use silas_core::checkpoint::{
    Claim, Head, Purpose, Replaced, ServerCertificate, ServerCertificateBody, Statement, StatementBody,
};
use silas_core::handover::Handovers;
use silas_core::server_keys::ServerKeys;
use silas_core::signature::{PublicKey, Signature};
use silas_core::{InstallationId, Timestamp};
use silas_store::audit::{self, Audit, Extent, Keeper};
use silas_store::checkpoints::{self, FaultReason};
use silas_store::{Commit, Store, ledger};

fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

pub(crate) fn keeper() -> Keeper {
    let server = PublicKey::from_bytes(key(1).verifying_key().to_bytes());
    Keeper {
        root: server,
        handovers: Handovers::default(),
        servers: ServerKeys::only(server),
        installation: InstallationId::parse("inst-1").unwrap(),
    }
}

fn state(key: &SigningKey, claim: Claim, head: Head) -> Statement {
    let installation = keeper().installation;
    let body = StatementBody { v: 1, claim, installation, epoch: 1, head, at: Timestamp::EPOCH };
    let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
    let signature = Signature::ed25519(public.id(), key.sign(body.message().unwrap().as_bytes()).to_bytes());
    Statement { body, signature }
}

fn write(store: &Store, n_entries: usize) {
    for n in 0..n_entries {
        store.write_buffered(move |tx| Ok(Commit(tx.record(&started(&n.to_string()))?))).wait().unwrap();
    }
}

fn head(store: &Store) -> Head {
    let (seq, hash) = store.read(ledger::head).wait().unwrap().unwrap();
    Head { seq, hash }
}

fn checkpoint(store: &Store, key: &SigningKey, head: Head) {
    let statement = state(key, Claim::Checkpoint, head);
    store.write(move |tx| Ok(Commit(checkpoints::insert(tx, &statement)?))).wait().unwrap();
}

fn verified(store: &Store, key: &SigningKey, head: Head) {
    let statement = state(key, Claim::VerifiedPrefix, head);
    store.write(move |tx| Ok(Commit(audit::keep_verified(tx, &statement)?))).wait().unwrap();
}

/// A statement that everything up to now was verified, and whose it is.
pub(crate) fn verified_now(store: &Store) -> (Keeper, Statement) {
    (keeper(), state(&key(1), Claim::VerifiedPrefix, head(store)))
}

fn look(store: &Store, extent: Extent) -> Audit {
    store.read(move |tx| audit::audit(tx, &keeper(), extent)).wait().unwrap()
}

/// Twenty entries, a checkpoint at 10 and one at 20, verified up to 12.
fn kept() -> (World, Store) {
    let world = World::new();
    let store = world.open();
    write(&store, 10);
    checkpoint(&store, &key(1), head(&store));
    write(&store, 2);
    verified(&store, &key(1), head(&store));
    write(&store, 8);
    checkpoint(&store, &key(1), head(&store));
    (world, store)
}

fn forge(world: &World, sql: &str) {
    let db = world.forger();
    db.execute_batch("DROP TRIGGER ledger_is_not_edited; DROP TRIGGER ledger_is_not_cut;").unwrap();
    db.execute_batch(sql).unwrap();
}

#[test]
fn what_was_verified_is_not_read_again() {
    let (_world, store) = kept();
    let quick = look(&store, Extent::New);
    assert_eq!((quick.verified_before, quick.chain.entries, quick.n_checkpoints), (12, 20, 1));
    assert_eq!(quick.sound_head(), Some(head(&store)));
    let whole = look(&store, Extent::Everything);
    assert_eq!((whole.verified_before, whole.chain.entries, whole.n_checkpoints), (0, 20, 2));
    assert_eq!(whole.sound_head(), Some(head(&store)));
}

#[test]
fn an_edit_before_what_was_verified_is_seen_by_the_whole_look_only() {
    let (world, store) = kept();
    forge(&world, "UPDATE ledger SET at = at + 1 WHERE seq = 5");
    assert_eq!(look(&store, Extent::New).problem(), None);
    assert_eq!(look(&store, Extent::Everything).chain.broken.unwrap().seq, 5);
}

#[test]
fn an_edit_at_or_after_what_was_verified_is_seen_by_both() {
    for seq in [12, 15, 20] {
        let (world, store) = kept();
        forge(&world, &format!("UPDATE ledger SET at = at + 1 WHERE seq = {seq}"));
        for extent in [Extent::New, Extent::Everything] {
            assert_eq!(look(&store, extent).chain.broken.unwrap().seq, seq, "{extent:?}");
        }
    }
}

/// A forger without the server key computes the chain anew from an entry on. The chain holds; what was signed does not.
#[test]
fn a_chain_that_was_hashed_anew_is_seen_by_what_was_signed() {
    for (from, seen_at) in [(3u64, 10), (11, 12), (15, 20)] {
        let (world, store) = kept();
        let db = world.forger();
        db.execute_batch("DROP TRIGGER ledger_is_not_edited").unwrap();
        let mut prev: String =
            db.query_row("SELECT hash FROM ledger WHERE seq = ?1", [from as i64 - 1], |row| row.get(0)).unwrap();
        for seq in from..=20 {
            let (at, body): (i64, String) = db
                .query_row("SELECT at, body FROM ledger WHERE seq = ?1", [seq as i64], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .unwrap();
            let body = if seq == from { body.replace("\"version\":\"", "\"version\":\"x") } else { body };
            let before = silas_core::Digest::try_from(prev.clone()).unwrap();
            let hash = silas_core::chain::hash(seq, Timestamp::from_micros(at), &body, &before).unwrap().to_string();
            db.execute(
                "UPDATE ledger SET body = ?2, prev = ?3, hash = ?4 WHERE seq = ?1",
                rusqlite::params![seq as i64, body, prev, hash],
            )
            .unwrap();
            prev = hash;
        }
        let found = look(&store, Extent::Everything);
        assert_eq!(found.chain.broken, None, "the chain by itself holds");
        let fault = found.fault.unwrap();
        assert_eq!((fault.seq, fault.reason), (seen_at, FaultReason::OtherEntry), "from entry {from}");
    }
}

#[test]
fn an_end_that_was_cut_is_seen_by_the_checkpoint_after_it() {
    let (world, store) = kept();
    forge(&world, "DELETE FROM ledger WHERE seq > 15");
    for extent in [Extent::New, Extent::Everything] {
        let fault = look(&store, extent).fault.unwrap();
        assert_eq!((fault.seq, fault.reason), (20, FaultReason::Cut));
    }
}

#[test]
fn an_end_that_was_cut_below_what_was_verified_is_seen_without_checkpoints() {
    let (world, store) = kept();
    forge(
        &world,
        "DELETE FROM ledger WHERE seq > 11; DROP TRIGGER checkpoints_are_not_deleted; DELETE FROM checkpoints",
    );
    for extent in [Extent::New, Extent::Everything] {
        assert!(look(&store, extent).problem().is_some(), "{extent:?}");
    }
}

#[test]
fn another_key_vouches_for_nothing() {
    let (_world, store) = kept();
    write(&store, 1);
    verified(&store, &key(2), head(&store));
    assert_eq!(look(&store, Extent::New).verified_before, 0, "everything is read again");
    checkpoint(&store, &key(2), head(&store));
    let fault = look(&store, Extent::Everything).fault.unwrap();
    assert_eq!((fault.seq, fault.reason), (21, FaultReason::NotOurs));
}

#[test]
fn a_checkpoint_of_another_history_is_noticed() {
    let (_world, store) = kept();
    write(&store, 1);
    let other = Head { seq: 21, hash: silas_core::Digest::of(b"what was written elsewhere") };
    checkpoint(&store, &key(1), other);
    assert_eq!(look(&store, Extent::Everything).fault.unwrap().reason, FaultReason::OtherEntry);
}

#[test]
fn a_checkpoint_stays_as_it_was_signed() {
    let (world, store) = kept();
    drop(store);
    let db = world.forger();
    assert!(db.execute("UPDATE checkpoints SET statement = '{}'", []).is_err());
    assert!(db.execute("DELETE FROM checkpoints", []).is_err());
}

/// The keeper of a ledger whose first server key was replaced at an entry.
fn keeper_after(last: Head) -> Keeper {
    let public = |n: u8| PublicKey::from_bytes(key(n).verifying_key().to_bytes());
    let root = public(9);
    let certify = |n: u8, replaces: Option<Replaced>| {
        let body = ServerCertificateBody {
            v: ServerCertificateBody::VERSION,
            purpose: Purpose::Ledger,
            installation: keeper().installation,
            key: public(n).id(),
            public: public(n),
            issued_at: Timestamp::EPOCH,
            replaces,
        };
        let signature = key(9).sign(body.message().unwrap().as_bytes()).to_bytes();
        ServerCertificate { signature: Signature::ed25519(root.id(), signature), body }
    };
    let certificates = [certify(1, None), certify(2, Some(Replaced { key: public(1).id(), last }))];
    let servers = ServerKeys::checked(&certificates, &root, &keeper().installation).unwrap();
    Keeper { root, servers, ..keeper() }
}

#[test]
fn a_replaced_key_vouches_up_to_its_end_and_the_end_is_pinned() {
    let (world, store) = kept();
    let look = |store: &Store, keeper: &Keeper, extent| {
        let keeper = keeper.clone();
        store.read(move |tx| audit::audit(tx, &keeper, extent)).wait().unwrap()
    };
    let after = keeper_after(head(&store));
    write(&store, 2);
    checkpoint(&store, &key(2), head(&store));
    for extent in [Extent::New, Extent::Everything] {
        assert_eq!(look(&store, &after, extent).problem(), None, "both keys, each in its time");
    }
    write(&store, 1);
    checkpoint(&store, &key(1), head(&store));
    let fault = look(&store, &after, Extent::Everything).fault.unwrap();
    assert_eq!((fault.seq, fault.reason), (23, FaultReason::OldKey { at: 20 }));
    assert!(fault.to_string().contains("had been replaced at entry 20"));

    // Cut behind the entry for which the root key signed, with every checkpoint that would show it.
    forge(&world, "DELETE FROM ledger WHERE seq > 15");
    let db = world.forger();
    db.execute_batch("DROP TRIGGER checkpoints_are_not_deleted; DELETE FROM checkpoints WHERE seq > 15;").unwrap();
    let fault = look(&store, &after, Extent::Everything).fault.unwrap();
    assert_eq!((fault.seq, fault.reason), (20, FaultReason::Cut));
}
