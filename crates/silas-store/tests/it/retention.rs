//! What is too old goes in bounded pieces; what must stay, stays.

use crate::world::{NOON, World, certificate, started, token};
use silas_core::execution::ExecutionState;
use silas_core::token::{Kind, Verdict};
use silas_core::{Digest, ExecutionId, MessageId, Taint, Timestamp, WorkItemId};
use silas_store::retention::{self, Policy, Pruned, ROWS_MAX};
use silas_store::{Commit, Store, chronicle, executions, ledger, nonces, tokens};

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
        chronicle::append(tx, &chronicle::Entry { id, sender, taint, text: text.to_owned(), at: at(day) })?;
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
    assert_eq!(store.read(|tx| chronicle::recent(tx, 100)).wait().unwrap().len(), 5);
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
    assert_eq!(prune(&store, 1).entries, ROWS_MAX as usize);
    assert_eq!(prune(&store, 1).entries, 1);
}

#[test]
fn the_details_of_an_execution_go_and_its_row_and_token_stay() {
    let world = World::new();
    let store = world.open();
    let signed = token(Kind::Plan, "n-1", 2, Verdict::Approved);
    let id = signed.id().unwrap();
    let execution = |use_number: u32, state, ended_at| executions::Execution {
        id: ExecutionId::derive(&id, use_number),
        token: id.clone(),
        work_item: WorkItemId::parse("task-1").unwrap(),
        plan_hash: Digest::of(b"plan"),
        state,
        use_number,
        started_at: at(0),
        ended_at,
        undo_until: None,
        result: Some(serde_json::json!({ "shown": true })),
        changeset: None,
    };
    let (ended, running) =
        (execution(0, ExecutionState::Ended, Some(at(0))), execution(1, ExecutionState::Running, None));
    let (old, new) = (ended.id.clone(), running.id.clone());
    store
        .write(move |tx| {
            tokens::insert(tx, &signed, &certificate(1), "plan", None)?;
            executions::insert(tx, &ended)?;
            executions::insert(tx, &running)?;
            Ok(Commit(()))
        })
        .wait()
        .unwrap();
    assert_eq!(prune(&store, 1).results, 1);
    let (old, new, kept) = store
        .read(move |tx| {
            Ok((executions::get(tx, &old)?.unwrap(), executions::get(tx, &new)?.unwrap(), tokens::get(tx, &id)?))
        })
        .wait()
        .unwrap();
    assert_eq!((old.state, old.result), (ExecutionState::Ended, None));
    assert!(new.result.is_some() && kept.is_some());
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
