//! A caller that waits does the work itself when it can: same rules, same order, no job left behind.

use crate::world::{World, hold_writer};
use silas_store::{Commit, Durability, Error, Lane, Store, settings};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn thread() -> String {
    format!("{:?}", std::thread::current().id())
}

#[test]
fn a_free_writer_is_used_by_who_waits() {
    let world = World::new();
    let store = world.open();
    let hooked = Arc::new(Mutex::new(String::new()));
    let noted = hooked.clone();
    let ran_on = store.write_and_wait(move |tx| {
        let noted = noted.clone();
        tx.after_commit(move || *noted.lock().unwrap() = thread());
        settings::set(tx, "key", &1)?;
        Ok(Commit(thread()))
    });
    assert_eq!(ran_on.unwrap(), thread());
    assert_eq!(*hooked.lock().unwrap(), thread());
    assert_eq!(store.n_durable_commits(), 1);
}

#[test]
fn a_failing_closure_is_undone_and_its_caller_lives_on() {
    let world = World::new();
    let store = world.open();
    store.write_and_wait(|tx| Ok(Commit(settings::set(tx, "taken", &1)?))).unwrap();
    let panicked = store.write_and_wait(|tx| {
        settings::set(tx, "half", &1)?;
        tx.query("SELECT key FROM settings", [], |_| -> Result<(), Error> { panic!("a bug") })?;
        Ok(Commit(()))
    });
    assert!(matches!(panicked, Err(Error::Panicked)));
    let constraint = store.write_and_wait(|tx| {
        settings::set(tx, "half", &1)?;
        tx.execute("INSERT INTO settings (key, value) VALUES ('taken', '2')", [])?;
        Ok(Commit(()))
    });
    assert!(matches!(constraint, Err(Error::Database(_))));
    let lost = store.write_and_wait(|tx| {
        settings::set(tx, "half", &1)?;
        let lost = tx.execute("INSERT OR ROLLBACK INTO settings (key, value) VALUES ('taken', '2')", []);
        assert!(lost.is_err());
        Ok(Commit(()))
    });
    assert!(matches!(lost, Err(Error::NotWritten { .. })));
    let hook = store.write_and_wait(|tx| {
        tx.after_commit(|| panic!("a bug in a hook"));
        Ok(Commit(settings::set(tx, "hooked", &1)?))
    });
    hook.unwrap();
    let keys = store
        .read(|tx| tx.query("SELECT key FROM settings ORDER BY key", [], |row| Ok(row.get::<_, String>(0)?)))
        .wait()
        .unwrap();
    assert_eq!(keys, ["hooked", "taken"]);
    assert_eq!(store.n_durable_commits(), 2);
}

#[test]
fn what_came_first_is_done_first_whoever_does_it() {
    let world = World::new();
    let store = world.open();
    for _ in 0..100 {
        let order = Arc::new(Mutex::new(Vec::new()));
        let change = |n: u32, lane| {
            let order = order.clone();
            store.write_in(Durability::Buffered, lane, move |_| {
                order.lock().unwrap().push(n);
                Ok(Commit(()))
            })
        };
        let release = hold_writer(&store);
        let first = change(1, Lane::Background);
        let rest = [change(2, Lane::Background), change(3, Lane::Interactive), change(4, Lane::Interactive)];
        drop(release);
        // The last one is waited for first, and does what stands before it.
        for pending in rest.into_iter().rev() {
            pending.wait().unwrap();
        }
        first.wait().unwrap();
        assert_eq!(*order.lock().unwrap(), [3, 4, 1, 2]);
    }
}

#[tokio::test]
async fn an_async_thread_is_refused_before_anything_is_done() {
    let world = World::new();
    let store = world.open();
    let is_run = Arc::new(AtomicBool::new(false));
    let noted = is_run.clone();
    let refused = catch_unwind(AssertUnwindSafe(|| {
        store.write_and_wait(move |_| {
            noted.store(true, Ordering::SeqCst);
            Ok(Commit(()))
        })
    }));
    assert!(refused.is_err());
    // This would have taken a closure along that still waits.
    store.write(|_| Ok(Commit(()))).await.unwrap();
    assert!(!is_run.load(Ordering::SeqCst));
    let elsewhere = store.clone();
    let helped = tokio::task::spawn_blocking(move || elsewhere.write_and_wait(|_| Ok(Commit(7))));
    assert_eq!(helped.await.unwrap().unwrap(), 7);
}

#[test]
fn many_who_wait_in_all_ways_lose_nothing() {
    const EACH: u32 = 60;
    let world = World::new();
    let store = world.open();
    let add = |store: &Store, n: u32| match n % 4 {
        0 => store.write_and_wait(count).unwrap(),
        1 => store.write(count).wait().unwrap(),
        2 => store.write_background(count).wait().unwrap(),
        // Nobody waits for this one.
        _ => drop(store.write_buffered(count)),
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..EACH).for_each(|n| add(&store, n)));
        }
    });
    drop(store);
    let counted = world.open().read(|tx| settings::get::<u32>(tx, "n")).wait().unwrap();
    assert_eq!(counted, Some(8 * EACH));
}

fn count(tx: &mut silas_store::Tx<'_>) -> Result<Commit<()>, silas_store::Abort> {
    let n = settings::get::<u32>(tx, "n")?.unwrap_or_default();
    Ok(Commit(settings::set(tx, "n", &(n + 1))?))
}

/// The store ends under the caller that holds its writer, or its connection to read with. Neither can wait for itself.
#[test]
fn the_last_handle_may_go_while_its_caller_works() {
    for _ in 0..50 {
        let world = World::new();
        let store = world.open();
        let hooks = Arc::new(AtomicU32::new(0));
        let (mut handle, counted) = (Some(store.clone()), hooks.clone());
        let pending = store.write(move |tx| {
            let (handle, counted) = (handle.take(), counted.clone());
            tx.after_commit(move || {
                drop(handle);
                counted.fetch_add(1, Ordering::SeqCst);
            });
            Ok(Commit(()))
        });
        let handle = store.clone();
        let looking = store.read(move |_| {
            drop(handle);
            Ok(())
        });
        drop(store);
        pending.wait().unwrap();
        looking.wait().unwrap();
        assert_eq!(hooks.load(Ordering::SeqCst), 1);
    }
}
