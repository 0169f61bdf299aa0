//! A process that is killed at any moment deals with every message of the queue exactly once.

use crate::crash::{CHILD_DIR, acknowledge, killed_after};
use crate::world::{NOON, open_like_new};
use silas_core::{MessageId, Timestamp};
use silas_store::{Commit, Store, queue};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const ROUNDS: usize = 5;
const THREADS: usize = 4;

/// Messages travel through the queue while the process is killed again and again. What was enqueued is dealt with once:
/// its effect is there exactly if it is acknowledged, and the rest is delivered again.
#[test]
fn a_killed_process_deals_with_every_message_once() {
    let dir = TempDir::new().unwrap();
    let mut entered = BTreeSet::new();
    for round in 0..ROUNDS {
        let told = killed_after("queue_crash::child", dir.path(), 30 + 17 * round);
        entered.extend(told.into_iter().filter(|id| !id.starts_with("done ")));
        let store = open_like_new(dir.path());
        let n_void = store.write(|tx| Ok(Commit(queue::requeue_leased(tx)?))).wait().unwrap();
        assert!(n_void > 0, "the child holds one message for ever");
        check_messages(&store, &entered);
    }
    let store = open_like_new(dir.path());
    while !deal_with_some(&store).is_empty() {}
    let effects = check_messages(&store, &entered);
    assert!(entered.is_subset(&effects), "something was lost");
}

/// Every message is in the queue, or has its effect and its mark; never both, never neither. Gives those with effects.
fn check_messages(store: &Store, entered: &BTreeSet<String>) -> BTreeSet<String> {
    let ids = |sql: &'static str| -> BTreeSet<String> {
        store.read(move |tx| tx.query(sql, [], |row| Ok(row.get(0)?))).wait().unwrap().into_iter().collect()
    };
    let waiting = ids("SELECT message_id FROM queue");
    let effects = ids("SELECT key FROM settings");
    assert_eq!(effects, ids("SELECT message_id FROM processed"));
    assert!(waiting.is_disjoint(&effects));
    let lost: Vec<_> = entered.iter().filter(|id| !waiting.contains(*id) && !effects.contains(*id)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    effects
}

/// Leases and acknowledges, each effect in the transaction of its acknowledgement.
fn deal_with_some(store: &Store) -> Vec<queue::Leased> {
    let now = Timestamp::from_micros(NOON);
    let leasing = store.write_buffered(move |tx| {
        Ok(Commit(queue::lease(tx, queue::Name::Turns, "child", now, Duration::from_secs(60), 3)?))
    });
    let leased = leasing.wait().unwrap();
    for leased in &leased {
        let lease = leased.lease.clone();
        let acking = store.write(move |tx| {
            // Fails if the effect is there already.
            tx.execute("INSERT INTO settings (key, value) VALUES (?1, '1')", [lease.message.as_str()])?;
            assert!(queue::ack(tx, &lease, "child")?);
            Ok(Commit(()))
        });
        acking.wait().unwrap();
    }
    leased
}

/// The process whose messages are cut short. Does nothing unless a test above started it.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let store = open_like_new(Path::new(&dir));
    // Nobody ever acknowledges this one.
    let held = message(&format!("held-{}", std::process::id()), 0);
    let until = Timestamp::from_micros(i64::MAX);
    store.write(move |tx| Ok(Commit(queue::enqueue_leased(tx, &held, "child", until)?))).wait().unwrap();
    let senders: Vec<_> = (0..THREADS)
        .map(|thread| {
            let store = store.clone();
            std::thread::spawn(move || send_for_ever(&store, thread))
        })
        .collect();
    loop {
        for leased in deal_with_some(&store) {
            acknowledge(&format!("done {}", leased.lease.message));
        }
        assert!(!senders.iter().any(|sender| sender.is_finished()), "a sender failed");
    }
}

fn send_for_ever(store: &Store, thread: usize) {
    for n in 0.. {
        let message = message(&thread.to_string(), n);
        let id = message.id.clone();
        match store.write(move |tx| Ok(Commit(queue::enqueue(tx, &message)?))).wait() {
            Ok(is_new) => assert!(is_new),
            // Faster than the consumer: it is told so.
            Err(silas_store::Error::Busy) => continue,
            Err(error) => panic!("{error}"),
        }
        acknowledge(id.as_str());
    }
}

fn message(key: &str, n: u32) -> queue::NewMessage {
    let id = MessageId::parse(&format!("msg-{}-{key}-{n}", std::process::id())).unwrap();
    let (queue, kind) = (queue::Name::Turns, queue::Kind::UserMessage);
    queue::NewMessage {
        id: id.clone(),
        queue,
        scope: silas_core::Scope::Owner,
        key: key.to_owned(),
        kind,
        body: serde_json::json!({ "n": n }),
        trace: id,
    }
}
