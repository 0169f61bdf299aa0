//! What is too old goes in bounded pieces; what must stay, stays.

mod settled;

use crate::world::{NOON, World, started};
use silas_core::{MessageId, Scope, Taint, Timestamp};
use silas_store::retention::{self, Policy, Pruned, ROWS_MAX};
use silas_store::{Commit, Store, chronicle, ledger, nonces};

const DAY: i64 = 24 * 3600 * 1_000_000;

fn at(day: i64) -> Timestamp {
    Timestamp::from_micros(NOON + day * DAY)
}

fn policy(day: i64) -> Policy {
    Policy { chronicle_before: at(day), outbox_before: at(day), nonces_before: at(day), processed_before: at(day) }
}

fn prune(store: &Store, day: i64) -> Pruned {
    store.write_background(move |tx| Ok(Commit(retention::prune(tx, &policy(day))?))).wait().unwrap()
}

fn say(store: &Store, n: u32, day: i64, text: &'static str) {
    let writing = store.write_buffered(move |tx| {
        let id = MessageId::parse(&format!("msg-{n}")).unwrap();
        let (sender, taint) = (chronicle::Sender::Owner, Taint::Owner);
        chronicle::append(
            tx,
            &Scope::Owner,
            &chronicle::Entry { id, sender, taint, text: text.to_owned(), answers: None, at: at(day) },
        )?;
        nonces::use_once(tx, "message", &n.to_string(), at(day))?;
        tx.record(&started("1"))?;
        Ok(Commit(()))
    });
    writing.wait().unwrap();
}

#[test]
fn old_entries_go_and_the_ledger_stays() {
    let world = World::new();
    let store = world.open();
    for n in 0..20 {
        say(&store, n, i64::from(n), "hello");
    }
    let pruned = prune(&store, 15);
    assert_eq!((pruned.entries, pruned.nonces), (15, 15));
    let more = prune(&store, 15);
    assert_eq!((more.entries, more.nonces), (0, 0));
    assert_eq!(store.read(|tx| chronicle::recent(tx, &Scope::Owner, 100)).wait().unwrap().len(), 5);
    let report = store.read(ledger::verify).wait().unwrap();
    assert_eq!((report.entries, report.broken), (20, None));
}

#[test]
fn a_piece_is_bounded() {
    let world = World::new();
    let store = world.open();
    let n_entries = ROWS_MAX + 1;
    for n in 0..n_entries {
        say(&store, n, 0, "hello");
    }
    let first = prune(&store, 1);
    assert_eq!((first.texts, first.entries), (ROWS_MAX as usize, 0), "what was said goes after its texts");
    assert_eq!(prune(&store, 1).entries, ROWS_MAX as usize);
    assert_eq!(prune(&store, 1).entries, 1);
}

#[test]
fn the_room_goes_back_to_the_disk() {
    let world = World::new();
    let store = world.open();
    let long: &'static str = Box::leak("a long story ".repeat(4000).into_boxed_str());
    for n in 0..60 {
        say(&store, n, 0, long);
    }
    let pages = |store: &Store| -> i64 {
        let looking = store.read(|tx| tx.query_one("PRAGMA page_count", [], |row| Ok(row.get::<_, i64>(0)?)));
        looking.wait().unwrap().unwrap()
    };
    let before = pages(&store);
    while !prune(&store, 1).is_nothing() {}
    assert!(pages(&store) < before / 2, "{} of {before} pages are left", pages(&store));
}
