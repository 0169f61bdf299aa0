//! What the ledger records, and how it reads back.

use crate::world::{NOON, World, started};
use proptest::prelude::*;
use silas_core::event::{AuditEvent, Text};
use silas_core::{Digest, MessageId, Taint, Timestamp, canonical};
use silas_store::ledger::Reason;
use silas_store::{Commit, Error, Store, ledger};

fn record(store: &Store, event: AuditEvent) -> u64 {
    store.write(move |tx| Ok(Commit(tx.record(&event)?.seq))).wait().unwrap()
}

#[test]
fn an_entry_is_bound_to_the_one_before() {
    let world = World::new();
    let store = world.open();
    record(&store, AuditEvent::StreamStopped {});
    record(&store, started("2"));
    let entries = store.read(|tx| ledger::entries(tx, 1, 10)).wait().unwrap();
    let at = Timestamp::from_micros(NOON);
    let zeros = "0".repeat(64);
    let first = format!(r#"["v1","ledger",1,"{at}","{{\"event\":\"stream_stopped\"}}","{zeros}"]"#);
    let first = Digest::of(first.as_bytes());
    let second = format!(r#"["v1","ledger",2,"{at}","{{\"event\":\"stream_started\",\"version\":\"2\"}}","{first}"]"#);
    assert_eq!(entries[0].hash, first);
    assert_eq!(entries[1].hash, Digest::of(second.as_bytes()));
    assert_eq!((entries[1].prev, entries[1].name.as_str()), (first, "stream_started"));
    assert_eq!(entries[1].event, Some(started("2")));
}

#[test]
fn time_never_goes_back() {
    let world = World::new();
    let store = world.open();
    record(&store, started("1"));
    world.clock.set(NOON - 1_000_000);
    record(&store, started("2"));
    drop(store);
    let store = world.open();
    record(&store, started("3"));
    world.clock.set(NOON + 5);
    record(&store, started("4"));
    let (times, last) = store
        .read(|tx| {
            let times: Vec<_> = ledger::latest(tx, 10)?.iter().map(|entry| entry.at.micros()).collect();
            Ok((times, ledger::last_time(tx)?))
        })
        .wait()
        .unwrap();
    assert_eq!(times, [NOON, NOON, NOON, NOON + 5]);
    assert_eq!(last, Some(Timestamp::from_micros(NOON + 5)));
}

#[test]
fn the_first_entry_from_an_instant_on_is_found() {
    let world = World::new();
    let store = world.open();
    let first_since = |offset: i64| {
        store.read(move |tx| ledger::first_since(tx, Timestamp::from_micros(NOON + offset))).wait().unwrap()
    };
    assert_eq!(first_since(0), 1, "in an empty ledger, the one that comes");
    for (n, offset) in [0, 10, 10, 10, 30, 40].into_iter().enumerate() {
        world.clock.set(NOON + offset);
        record(&store, started(&n.to_string()));
    }
    let found: Vec<u64> = [-5, 0, 1, 10, 11, 30, 35, 40, 41].map(first_since).to_vec();
    assert_eq!(found, [1, 1, 2, 2, 5, 5, 6, 6, 7]);
}

#[test]
fn pages_are_in_order_and_bounded() {
    let world = World::new();
    let store = world.open();
    for n in 1..=7 {
        record(&store, started(&n.to_string()));
    }
    let seqs = |entries: Vec<ledger::Entry>| entries.iter().map(|entry| entry.seq).collect::<Vec<_>>();
    assert_eq!(seqs(store.read(|tx| ledger::entries(tx, 3, 2)).wait().unwrap()), [3, 4]);
    assert_eq!(seqs(store.read(|tx| ledger::entries(tx, 7, 9)).wait().unwrap()), [7]);
    assert_eq!(seqs(store.read(|tx| ledger::entries(tx, u64::MAX, 9)).wait().unwrap()), [0u64; 0]);
    assert_eq!(seqs(store.read(|tx| ledger::latest(tx, 3)).wait().unwrap()), [5, 6, 7]);
}

#[test]
fn only_events_of_the_names_that_were_asked_for_are_given() {
    let world = World::new();
    let store = world.open();
    for n in 1..=6 {
        world.clock.set(NOON + n);
        record(&store, if n % 2 == 0 { AuditEvent::StreamStopped {} } else { started(&n.to_string()) });
    }
    let named = |after: u64, through: u64, names: &'static [&'static str]| {
        let found = store.read(move |tx| ledger::named(tx, after, through, names)).wait().unwrap();
        found.into_iter().map(|(at, event)| (at.micros() - NOON, event)).collect::<Vec<_>>()
    };
    assert_eq!(named(1, 5, &["stream_started"]), [(3, started("3")), (5, started("5"))]);
    let both: Vec<i64> = named(0, 9, &["stream_stopped", "stream_started"]).iter().map(|(at, _)| *at).collect();
    assert_eq!(both, [1, 2, 3, 4, 5, 6]);
    assert_eq!(named(0, 9, &["reply_sent"]), []);
    assert_eq!(named(4, 3, &["stream_started"]), []);
}

#[test]
fn the_same_words_do_not_show_as_the_same() {
    let world = World::new();
    let store = world.open();
    let (one, two) = store.write(|tx| Ok(Commit((tx.text("yes")?, tx.text("yes")?)))).wait().unwrap();
    assert_ne!(one, two);
    assert_eq!(store.read(move |tx| ledger::text_of(tx, &two)).wait().unwrap(), Some("yes".to_owned()));
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let world = World::new();
    let store = world.open();
    let long = "x".repeat(ledger::TEXT_BYTES_MAX + 1);
    let refused = store.write(move |tx| Ok(Commit(tx.text(&long)?))).wait();
    assert!(matches!(refused, Err(Error::TextTooLong { .. })));
}

#[test]
fn erased_texts_leave_the_chain_whole() {
    let world = World::new();
    let store = world.open();
    let received = store.write(|tx| {
        let text = tx.text("please forget this")?;
        let message = MessageId::parse("msg-1").map_err(|e| Error::Damaged { what: "id", reason: e.to_string() })?;
        tx.record(&AuditEvent::MessageReceived { message, taint: Taint::Owner, text: text.clone() })?;
        Ok(Commit(text))
    });
    let text = received.wait().unwrap();
    // Erasing takes the salt along; nothing else can be done to a text.
    let digest = text.0.to_string();
    let change = |sql: &'static str| {
        let digest = digest.clone();
        store.write(move |tx| Ok(Commit(tx.execute(sql, [digest.as_str()])?))).wait()
    };
    assert!(change("UPDATE texts SET text = 'something else' WHERE digest = ?1").is_err());
    assert!(change("UPDATE texts SET text = NULL, erased_at = 1 WHERE digest = ?1").is_err());
    assert!(change("DELETE FROM texts WHERE digest = ?1").is_err());
    assert_eq!(change("UPDATE texts SET text = NULL, salt = NULL, erased_at = 1 WHERE digest = ?1").unwrap(), 1);

    assert_eq!(store.read(move |tx| ledger::text_of(tx, &text)).wait().unwrap(), None);
    let verified = store.read(ledger::verify).wait().unwrap();
    assert_eq!((verified.entries, verified.erased_texts), (1, 1));
    // Whoever erases says so in the ledger; without that word it is somebody else's work.
    assert_eq!(verified.broken.map(|broken| (broken.seq, broken.reason)), Some((1, Reason::TextTakenAway)));
    record(&store, AuditEvent::TextForgotten { entry: 1, key: crate::world::certificate(1).body.key });
    let verified = store.read(ledger::verify).wait().unwrap();
    assert_eq!((verified.entries, verified.erased_texts, verified.broken), (2, 1, None));
}

#[test]
fn the_ledger_cannot_be_changed_through_the_store() {
    let world = World::new();
    let store = world.open();
    record(&store, started("1"));
    for sql in [
        "UPDATE ledger SET at = 0",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger SELECT seq, at, 'x', 'x', prev, hash FROM ledger",
        "INSERT INTO ledger SELECT seq + 2, at, event, body, prev, hash FROM ledger",
    ] {
        assert!(store.write(move |tx| Ok(Commit(tx.execute(sql, [])?))).wait().is_err(), "{sql}");
    }
    assert_eq!(store.read(ledger::verify).wait().unwrap().entries, 1);
}

#[test]
fn an_event_of_another_version_is_opaque_and_verifiable() {
    let world = World::new();
    let store = world.open();
    record(&store, started("1"));
    let text = store.write(|tx| Ok(Commit(tx.text("words of a later version")?))).wait().unwrap();
    let first = store.read(|tx| ledger::latest(tx, 1)).wait().unwrap().remove(0);
    let body = canonical::text(&serde_json::json!({ "event": "moon_landed", "said": text })).unwrap();
    let at = Timestamp::from_micros(NOON);
    let hash = canonical::digest(&("v1", "ledger", 2, at, &body, first.hash)).unwrap();
    let forger = world.forger();
    forger
        .execute(
            "INSERT INTO ledger VALUES (2, ?1, 'moon_landed', ?2, ?3, ?4)",
            rusqlite::params![NOON, body, first.hash.to_string(), hash.to_string()],
        )
        .unwrap();
    let entry = store.read(|tx| ledger::latest(tx, 1)).wait().unwrap().remove(0);
    assert_eq!((entry.event, entry.name.as_str()), (None, "moon_landed"));
    let verified = store.read(ledger::verify).wait().unwrap();
    assert_eq!((verified.head, verified.broken), (Some((2, hash)), None));
    // Its text is checked although nobody here knows the event.
    forger.execute_batch("DROP TRIGGER texts_are_only_erased; UPDATE texts SET text = 'other words'").unwrap();
    let broken = store.read(ledger::verify).wait().unwrap().broken.unwrap();
    assert_eq!((broken.seq, broken.reason), (2, ledger::Reason::TextAltered));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn texts_and_events_read_back_as_they_were(words in prop::collection::vec(any::<String>(), 1..20)) {
        let world = World::new();
        let store = world.open();
        let said = words.clone();
        let texts: Vec<Text> = store
            .write(move |tx| {
                let mut texts = Vec::new();
                for (n, words) in said.iter().enumerate() {
                    let text = tx.text(words)?;
                    let message = MessageId::parse(&format!("msg-{n}")).unwrap();
                    tx.record(&AuditEvent::ReplySent { message, text: text.clone() })?;
                    tx.record(&started(words))?;
                    texts.push(text);
                }
                Ok(Commit(texts))
            })
            .wait()
            .unwrap();
        drop(store);
        let reader = Store::open_read_only(world.dir.path()).unwrap();
        let read: Vec<Option<String>> = reader
            .read(move |tx| texts.iter().map(|text| ledger::text_of(tx, text)).collect())
            .wait()
            .unwrap();
        prop_assert_eq!(read, words.iter().cloned().map(Some).collect::<Vec<_>>());
        let versions: Vec<_> = reader.read(|tx| ledger::latest(tx, 100)).wait().unwrap();
        let versions: Vec<_> = versions.into_iter().filter(|entry| entry.name == "stream_started").collect();
        for (entry, words) in versions.iter().zip(&words) {
            prop_assert_eq!(entry.event.clone(), Some(started(words)));
        }
        let verified = reader.read(ledger::verify).wait().unwrap();
        prop_assert_eq!((verified.entries, verified.broken), (2 * words.len() as u64, None));
    }
}
