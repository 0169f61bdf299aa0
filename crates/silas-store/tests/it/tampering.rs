//! A forger with the file in hand: whatever is done to the chain or its texts is found, at its place.

use crate::world::{World, started};
use proptest::prelude::*;
use rusqlite::Connection;
use silas_core::event::AuditEvent;
use silas_core::{Digest, MessageId, canonical};
use silas_store::ledger::{self, Reason, Verification};
use silas_store::{Commit, Store};

const ENTRIES: u64 = 6;

/// Entries 1 to 6; the even ones name a text.
fn written() -> World {
    let world = World::new();
    let store = world.open();
    for n in 1..=ENTRIES {
        let pending = store.write(move |tx| {
            let event = if n.is_multiple_of(2) {
                let message = MessageId::parse(&format!("msg-{n}")).unwrap();
                AuditEvent::ReplySent { message, text: tx.text(&format!("reply {n}"))? }
            } else {
                started(&format!("version {n}"))
            };
            Ok(Commit(tx.record(&event)?.seq))
        });
        assert_eq!(pending.wait().unwrap(), n);
    }
    world
}

fn verify(world: &World) -> Verification {
    Store::open_read_only(world.dir.path()).unwrap().read(ledger::verify).wait().unwrap()
}

fn check(tamper: impl FnOnce(&Connection), seq: u64, reason: Reason) {
    let world = written();
    let forger = world.forger();
    forger
        .execute_batch(
            "DROP TRIGGER ledger_grows_by_one; DROP TRIGGER ledger_is_not_edited; DROP TRIGGER ledger_is_not_cut;
             DROP TRIGGER texts_are_only_erased; DROP TRIGGER texts_are_not_deleted; PRAGMA ignore_check_constraints = 1",
        )
        .unwrap();
    let before = verify(&world);
    assert_eq!((before.entries, before.broken), (ENTRIES, None));
    tamper(&forger);
    let found = verify(&world);
    let broken = found.broken.expect("tampering is found");
    assert_eq!((broken.seq, broken.reason), (seq, reason), "{broken}");
    assert_eq!(found.entries, seq - 1);
    assert_eq!(found.head.map(|(seq, _)| seq), (seq > 1).then_some(seq - 1));
}

fn sql(statements: &'static str) -> impl FnOnce(&Connection) {
    move |forger| forger.execute_batch(statements).unwrap()
}

#[test]
fn an_edited_entry() {
    check(sql("UPDATE ledger SET body = replace(body, 'version 3', 'version 4') WHERE seq = 3"), 3, Reason::Altered);
    check(sql("UPDATE ledger SET at = at + 1 WHERE seq = 4"), 4, Reason::Altered);
    check(sql("UPDATE ledger SET event = 'stream_stopped' WHERE seq = 3"), 3, Reason::Misnamed);
    check(sql("UPDATE ledger SET hash = substr(hash, 2) || substr(hash, 1, 1) WHERE seq = 5"), 5, Reason::Altered);
    check(sql("UPDATE ledger SET prev = substr(prev, 2) || substr(prev, 1, 1) WHERE seq = 5"), 5, Reason::Unbound);
    check(sql("UPDATE ledger SET hash = 'short' WHERE seq = 2"), 2, Reason::Unreadable);
    check(sql("UPDATE ledger SET at = -1 WHERE seq = 1"), 1, Reason::Unreadable);
}

#[test]
fn an_edited_entry_with_its_hash_made_to_fit() {
    check(
        |forger| {
            let (at, body, prev): (i64, String, String) = forger
                .query_row("SELECT at, body, prev FROM ledger WHERE seq = 3", [], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .unwrap();
            let body = body.replace("version 3", "version 4");
            let hash = entry_hash(3, at, &body, &prev);
            let set = "UPDATE ledger SET body = ?1, hash = ?2 WHERE seq = 3";
            forger.execute(set, [body, hash.to_string()]).unwrap();
        },
        4,
        Reason::Unbound,
    );
}

#[test]
fn a_last_entry_that_is_older_than_the_one_before() {
    check(
        |forger| {
            let (at, body, prev): (i64, String, String) = forger
                .query_row("SELECT at, body, prev FROM ledger WHERE seq = 6", [], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .unwrap();
            let hash = entry_hash(6, at - 1, &body, &prev);
            let set = "UPDATE ledger SET at = at - 1, hash = ?1 WHERE seq = 6";
            forger.execute(set, [hash.to_string()]).unwrap();
        },
        6,
        Reason::BackInTime,
    );
}

fn entry_hash(seq: u64, at: i64, body: &str, prev: &str) -> Digest {
    canonical::digest(&("v1", "ledger", seq, silas_core::Timestamp::from_micros(at), body, prev)).unwrap()
}

#[test]
fn a_deleted_entry() {
    check(sql("DELETE FROM ledger WHERE seq = 1"), 1, Reason::Missing);
    check(sql("DELETE FROM ledger WHERE seq = 4"), 4, Reason::Missing);
}

#[test]
fn a_middle_that_was_cut_out() {
    check(sql("DELETE FROM ledger WHERE seq IN (3, 4)"), 3, Reason::Missing);
    // With the rest moved up to close the gap.
    check(
        sql("DELETE FROM ledger WHERE seq IN (3, 4); UPDATE ledger SET seq = seq - 2 WHERE seq > 4"),
        3,
        Reason::Unbound,
    );
}

#[test]
fn entries_in_another_order() {
    check(
        sql("UPDATE ledger SET seq = 100 WHERE seq = 2; UPDATE ledger SET seq = 2 WHERE seq = 4;
             UPDATE ledger SET seq = 4 WHERE seq = 100"),
        2,
        Reason::Unbound,
    );
}

#[test]
fn an_inserted_entry() {
    check(
        sql("UPDATE ledger SET seq = -seq WHERE seq > 3; UPDATE ledger SET seq = 1 - seq WHERE seq < 0;
             INSERT INTO ledger SELECT 4, at, event, body, hash, hash FROM ledger WHERE seq = 3"),
        4,
        Reason::Altered,
    );
    check(
        sql("INSERT INTO ledger SELECT 0, at, event, body, prev, hash FROM ledger WHERE seq = 1"),
        1,
        Reason::Unreadable,
    );
    check(
        sql("INSERT INTO ledger SELECT 7, at, event, body, hash, hash FROM ledger WHERE seq = 6"),
        7,
        Reason::Altered,
    );
}

/// The rest comes from another installation's ledger: every one of its entries is sound, but not here.
#[test]
fn two_ledgers_spliced() {
    let other = World::new();
    let store = other.open();
    for n in 1..=ENTRIES {
        store.write(move |tx| Ok(Commit(tx.record(&started(&format!("elsewhere {n}")))?))).wait().unwrap();
    }
    drop(store);
    let path = other.dir.path().join("agent.sqlite");
    check(
        |forger| {
            forger.execute("ATTACH ?1 AS other", [path.to_str().unwrap()]).unwrap();
            forger
                .execute_batch(
                    "DELETE FROM ledger WHERE seq > 3;
                     INSERT INTO ledger SELECT * FROM other.ledger WHERE seq > 3",
                )
                .unwrap();
        },
        4,
        Reason::Unbound,
    );
}

#[test]
fn an_edited_text() {
    check(sql("UPDATE texts SET text = 'reply 5' WHERE text = 'reply 4'"), 4, Reason::TextAltered);
    check(sql("UPDATE texts SET text = NULL WHERE text = 'reply 4'"), 4, Reason::TextAltered);
    check(sql("DELETE FROM texts WHERE text = 'reply 2'"), 2, Reason::TextMissing);
    // The same bytes, divided otherwise between salt and text.
    check(
        sql("UPDATE texts SET salt = salt || '72', text = substr(text, 2) WHERE text = 'reply 6'"),
        6,
        Reason::TextAltered,
    );
}

#[test]
fn an_altered_text_is_not_shown() {
    let world = written();
    world.forger().execute_batch("DROP TRIGGER texts_are_only_erased; UPDATE texts SET text = 'no'").unwrap();
    let store = world.open();
    let shown = store.read(|tx| {
        let entry = ledger::entries(tx, 2, 1)?.remove(0);
        let Some(AuditEvent::ReplySent { text, .. }) = entry.event else { panic!("not the reply") };
        ledger::text_of(tx, &text)
    });
    assert_eq!(shown.wait().unwrap_err().code(), "E_DB_DAMAGED");
}

#[test]
fn more_entries_than_one_batch() {
    let world = World::new();
    let store = world.open();
    let filled = store.write(|tx| {
        for n in 1..=1203 {
            tx.record(&started(&n.to_string()))?;
        }
        Ok(Commit(()))
    });
    filled.wait().unwrap();
    let whole = verify(&world);
    assert_eq!((whole.entries, whole.broken), (1203, None));
    world.forger().execute_batch("DROP TRIGGER ledger_is_not_cut; DELETE FROM ledger WHERE seq = 1001").unwrap();
    let broken = verify(&world).broken.unwrap();
    assert_eq!((broken.seq, broken.reason), (1001, Reason::Missing));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn any_changed_character_of_any_body(seq in 1..=ENTRIES, place in 0usize..1000, put in "[ -~]") {
        let world = written();
        let forger = world.forger();
        forger.execute_batch("DROP TRIGGER ledger_is_not_edited").unwrap();
        let get = "SELECT body FROM ledger WHERE seq = ?1";
        let body: String = forger.query_row(get, [seq as u32], |row| row.get(0)).unwrap();
        let mut changed = body.clone();
        let place = place % body.len();
        changed.replace_range(place..=place, &put);
        forger.execute("UPDATE ledger SET body = ?1 WHERE seq = ?2", rusqlite::params![changed, seq as u32]).unwrap();
        let broken = verify(&world).broken.map(|broken| broken.seq);
        prop_assert_eq!(broken, (changed != body).then_some(seq));
    }
}
