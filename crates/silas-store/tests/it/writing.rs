//! Groups, savepoints, answers: one closure never hurts another, and nobody hears of what is not on disk.

use crate::world::{World, hold_writer, started};
use silas_store::{Abort, Commit, Error, ledger, settings};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};

#[test]
fn waiting_writes_share_a_commit() {
    let world = World::new();
    let store = world.open();
    let release = hold_writer(&store);
    let barrier = Arc::new(Barrier::new(65));
    let threads: Vec<_> = (0..64)
        .map(|n| {
            let (store, barrier) = (store.clone(), barrier.clone());
            std::thread::spawn(move || {
                let pending = store.write(move |tx| {
                    settings::set(tx, &format!("key {n}"), &n)?;
                    Ok(Commit(n))
                });
                barrier.wait();
                pending.wait().unwrap()
            })
        })
        .collect();
    barrier.wait();
    let before = store.n_durable_commits();
    drop(release);
    let mut answers: Vec<i32> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    answers.sort_unstable();
    assert_eq!(answers, (0..64).collect::<Vec<_>>());
    let n_commits = store.n_durable_commits() - before;
    assert!((1..64).contains(&n_commits), "{n_commits} commits for 64 writes");
    let n_rows = store.read(|tx| Ok(tx.query("SELECT key FROM settings", [], |_| Ok(()))?.len())).wait().unwrap();
    assert_eq!(n_rows, 64);
}

#[test]
fn only_durable_changes_that_are_kept_count() {
    let world = World::new();
    let store = world.open();
    let count = || store.n_durable_commits();
    assert_eq!(count(), 0);
    store.write_buffered(|tx| Ok(Commit(settings::set(tx, "a", &1)?))).wait().unwrap();
    store.write_background(|tx| Ok(Commit(settings::set(tx, "b", &1)?))).wait().unwrap();
    assert_eq!(count(), 0);
    store.write(|_| Err::<Commit<()>, _>(Abort(Error::Busy))).wait().unwrap_err();
    assert_eq!(count(), 0);
    store.write(|tx| Ok(Commit(settings::set(tx, "c", &1)?))).wait().unwrap();
    assert_eq!(count(), 1);
}

#[test]
fn a_failing_closure_does_not_hurt_its_neighbours() {
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(settings::set(tx, "taken", &1)?))).wait().unwrap();
    let release = hold_writer(&store);
    let good = |n: u32| {
        store.write(move |tx| {
            settings::set(tx, &format!("good {n}"), &n)?;
            Ok(Commit(tx.record(&started(&format!("{n}")))?.seq))
        })
    };
    let first = good(1);
    let constraint = store.write(|tx| {
        settings::set(tx, "half", &1)?;
        tx.execute("INSERT INTO settings (key, value) VALUES ('taken', '2')", [])?;
        Ok(Commit(()))
    });
    let second = good(2);
    let panic = store.write(|tx| {
        settings::set(tx, "half", &1)?;
        tx.query("SELECT key FROM settings", [], |_| -> Result<(), Error> { panic!("a bug") })?;
        Ok(Commit(()))
    });
    let third = good(3);
    // Ends the whole transaction, not just its savepoint.
    let or_rollback = store.write(|tx| {
        settings::set(tx, "half", &1)?;
        tx.execute("INSERT OR ROLLBACK INTO settings (key, value) VALUES ('taken', '2')", [])?;
        Ok(Commit(()))
    });
    let swallowed = store.write(|tx| {
        let lost = tx.execute("INSERT OR ROLLBACK INTO settings (key, value) VALUES ('taken', '2')", []);
        assert!(lost.is_err());
        // Outside its transaction this would be kept for ever.
        settings::set(tx, "half", &1).unwrap_err();
        Ok(Commit(()))
    });
    let fourth = good(4);
    drop(release);

    assert_eq!([first, second, third, fourth].map(|pending| pending.wait().unwrap()), [1, 2, 3, 4]);
    assert!(matches!(constraint.wait(), Err(Error::Database(_))));
    assert!(matches!(panic.wait(), Err(Error::Panicked)));
    assert!(matches!(or_rollback.wait(), Err(Error::Database(_))));
    assert!(matches!(swallowed.wait(), Err(Error::NotWritten { .. })));
    let (keys, taken) = store
        .read(|tx| {
            let keys = tx.query("SELECT key FROM settings ORDER BY key", [], |row| Ok(row.get::<_, String>(0)?))?;
            Ok((keys, settings::get::<u32>(tx, "taken")?))
        })
        .wait()
        .unwrap();
    assert_eq!(keys, ["good 1", "good 2", "good 3", "good 4", "taken"]);
    assert_eq!(taken, Some(1));
}

#[test]
fn a_full_disk_fails_who_fills_it_and_nobody_else() {
    let world = World::new();
    let store = world.open();
    // A limit on pages is SQLite's own full disk. It comes in the middle of a closure and ends the whole group.
    store.write(|tx| Ok(Commit(tx.query("PRAGMA max_page_count = 80", [], |_| Ok(()))?))).wait().unwrap();
    let release = hold_writer(&store);
    let good = |n: u32| store.write(move |tx| Ok(Commit(tx.record(&started(&n.to_string()))?.seq)));
    let first = good(1);
    let greedy = store.write(|tx| Ok(Commit(settings::set(tx, "big", &"x".repeat(1 << 20))?)));
    let second = good(2);
    drop(release);
    assert_eq!((first.wait().unwrap(), second.wait().unwrap()), (1, 2));
    let error = greedy.wait().unwrap_err();
    assert!(
        matches!(&error, Error::Database(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)),
        "{error}"
    );
    assert_eq!(error.code(), "E_DB_FULL");
    let verified = store.read(ledger::verify).wait().unwrap();
    assert_eq!((verified.entries, verified.broken), (2, None));
}

#[test]
fn an_abort_leaves_nothing() {
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(tx.record(&started("1"))?))).wait().unwrap();
    let hooks = Arc::new(AtomicU32::new(0));
    let counted = hooks.clone();
    let aborted = store.write(move |tx| {
        settings::set(tx, "key", &1)?;
        tx.text("some words")?;
        assert_eq!(tx.record(&started("2"))?.seq, 2);
        let counted = counted.clone();
        tx.after_commit(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        Err::<Commit<()>, _>(Abort(Error::Busy))
    });
    assert!(matches!(aborted.wait(), Err(Error::Busy)));
    let left = store
        .read(|tx| {
            let texts = tx.query("SELECT digest FROM texts", [], |_| Ok(()))?.len();
            Ok((settings::get::<u32>(tx, "key")?, texts, ledger::latest(tx, 10)?.len()))
        })
        .wait()
        .unwrap();
    assert_eq!(left, (None, 0, 1));
    assert_eq!(store.ledger_head(), 1);
    assert_eq!(hooks.load(Ordering::SeqCst), 0);
    // The next entry takes the number that was given back.
    assert_eq!(store.write(|tx| Ok(Commit(tx.record(&started("3"))?.seq))).wait().unwrap(), 2);
}

#[test]
fn what_was_answered_is_there_for_everybody() {
    let world = World::new();
    let store = world.open();
    let other = world.forger();
    let sql = "SELECT count(*) FROM settings WHERE key = 'key'";
    let path = world.dir.path().join("agent.sqlite");
    let seen_by_hook = Arc::new(AtomicU32::new(99));
    let noted = seen_by_hook.clone();
    let pending = store.write(move |tx| {
        settings::set(tx, "key", &1)?;
        // Another connection does not see it yet: nothing left the transaction.
        let others: u32 = rusqlite::Connection::open(&path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
        let (path, noted) = (path.clone(), noted.clone());
        tx.after_commit(move || {
            let others = rusqlite::Connection::open(&path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
            noted.store(others, Ordering::SeqCst);
        });
        Ok(Commit(others))
    });
    assert_eq!(pending.wait().unwrap(), 0);
    assert_eq!(seen_by_hook.load(Ordering::SeqCst), 1);
    assert_eq!(other.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap(), 1);
}

#[test]
fn a_full_queue_says_so() {
    let world = World::new();
    let store = world.open();
    let release = hold_writer(&store);
    let refused = (0..5000).find_map(|n| {
        let pending = store.write_buffered(move |tx| Ok(Commit(settings::set(tx, "n", &n)?)));
        // Only a refusal is answered while the writer is held.
        let mut pending = Box::pin(pending);
        let waker = std::task::Waker::noop();
        match pending.as_mut().poll(&mut std::task::Context::from_waker(waker)) {
            std::task::Poll::Ready(answer) => Some((n, answer.unwrap_err())),
            std::task::Poll::Pending => None,
        }
    });
    let (n_accepted, error) = refused.expect("a bounded queue fills up");
    assert_eq!(error.code(), "busy_retry");
    drop(release);
    // What was accepted is done, though nobody waits for it.
    drop(store);
    let store = world.open();
    let last = store.read(|tx| settings::get::<i32>(tx, "n")).wait().unwrap();
    assert_eq!(last, Some(n_accepted - 1));
}

#[test]
fn a_closure_cannot_end_its_transaction() {
    let world = World::new();
    let store = world.open();
    for sql in ["COMMIT", "ROLLBACK", "END", "SAVEPOINT mine", "RELEASE member", "BEGIN"] {
        let refused = store.write(move |tx| Ok(Commit(tx.execute(sql, [])?))).wait().unwrap_err();
        assert!(matches!(refused, Error::Statement { .. }), "{sql}: {refused}");
        let refused = store.write(move |tx| Ok(Commit(tx.query(sql, [], |_| Ok(()))?))).wait().unwrap_err();
        assert!(matches!(refused, Error::Statement { .. }), "{sql}: {refused}");
    }
    let sql = "DELETE FROM settings RETURNING key";
    assert!(matches!(store.read(move |tx| tx.query(sql, [], |_| Ok(()))).wait(), Err(Error::Statement { .. })));
}

#[test]
fn a_panicking_hook_or_look_ends_nothing() {
    let world = World::new();
    let store = world.open();
    let hooked = store.write(|tx| {
        tx.after_commit(|| panic!("a bug in a hook"));
        Ok(Commit(settings::set(tx, "key", &1)?))
    });
    hooked.wait().unwrap();
    for _ in 0..8 {
        let looked = store.read(|tx| -> Result<(), Error> {
            tx.query("SELECT key FROM settings", [], |_| -> Result<(), Error> { panic!("a bug in a look") })?;
            Ok(())
        });
        assert!(matches!(looked.wait(), Err(Error::Panicked)));
    }
    assert_eq!(store.read(|tx| settings::get::<u32>(tx, "key")).wait().unwrap(), Some(1));
}

#[tokio::test]
async fn async_callers_await_and_find_the_ledger_moved() {
    let world = World::new();
    let store = world.open();
    assert_eq!(store.ledger_head(), 0);
    let seq = store.write(|tx| Ok(Commit(tx.record(&started("1"))?.seq))).await.unwrap();
    // The head has moved before the answer left.
    assert_eq!((seq, store.ledger_head()), (1, 1));
    assert_eq!(store.read(|tx| Ok(ledger::entries(tx, 1, 10)?.len())).await.unwrap(), 1);
}

#[test]
fn the_last_handle_may_be_dropped_by_a_hook() {
    let world = World::new();
    let store = world.open();
    let handle = store.clone();
    let release = hold_writer(&store);
    let mut handle = Some(handle);
    let pending = store.write(move |tx| {
        let handle = handle.take();
        tx.after_commit(move || drop(handle));
        Ok(Commit(()))
    });
    drop(store);
    drop(release);
    pending.wait().unwrap();
}
