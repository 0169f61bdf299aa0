//! Copies taken while both files are written to: each pair is one instant, and a start repairs it like a crash.

use crate::saga::{add, assert_consistent, recover, settled};
use crate::world::{World, open_like_new, started};
use silas_store::{Commit, Error, snapshot};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

fn copy_of(world: &World) -> TempDir {
    let copy = TempDir::new().unwrap();
    snapshot::take(world.dir.path(), copy.path()).unwrap();
    copy
}

#[test]
fn a_copy_is_whole_private_and_verifies() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(tx.record(&started("1"))?))).wait().unwrap();
    let copy = copy_of(&world);
    let report = snapshot::inspect(copy.path()).unwrap();
    assert_eq!((report.entries, report.broken), (1, None));
    for file in snapshot::FILES {
        let mode = std::fs::metadata(copy.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // No log beside it that could be left behind.
    assert_eq!(std::fs::read_dir(copy.path()).unwrap().count(), snapshot::FILES.len());
}

#[test]
fn what_was_erased_is_not_in_a_copy() {
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(tx.text("the combination is 4711")?))).wait().unwrap();
    store
        .write(|tx| Ok(Commit(tx.execute("UPDATE texts SET text = NULL, salt = NULL, erased_at = 1", [])?)))
        .wait()
        .unwrap();
    let bytes = std::fs::read(copy_of(&world).path().join("agent.sqlite")).unwrap();
    assert!(!bytes.windows(4).any(|window| window == b"4711"));
}

#[test]
fn a_damaged_copy_is_found_out() {
    let world = World::new();
    let store = world.open();
    for n in 0..50 {
        store.write(move |tx| Ok(Commit(tx.record(&started(&n.to_string()))?))).wait().unwrap();
    }
    let copy = copy_of(&world);
    let forger = rusqlite::Connection::open(copy.path().join("agent.sqlite")).unwrap();
    forger.execute_batch("DROP TRIGGER ledger_is_not_edited; UPDATE ledger SET at = at + 1 WHERE seq = 7").unwrap();
    drop(forger);
    assert_eq!(snapshot::inspect(copy.path()).unwrap().broken.unwrap().seq, 7);
    std::fs::write(copy.path().join("db.sqlite"), b"no database at all, but long enough to look at").unwrap();
    assert!(matches!(snapshot::inspect(copy.path()), Err(Error::Database(_))));
}

/// The point of holding one instant: what a start makes of any copy tells one story in both files.
#[test]
fn every_pair_is_one_instant() {
    const COPIES: usize = 10;
    let world = World::new();
    let store = world.open();
    let is_over = AtomicBool::new(false);
    let copies: Vec<TempDir> = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            // Until the copies are made, and no more tasks than one may have open.
            for n in (0..900).take_while(|_| !is_over.load(Ordering::SeqCst)) {
                settled(&store, n, &add(n, "water the plants").1);
            }
        });
        let mut copies = Vec::new();
        while copies.len() < COPIES && !writing.is_finished() {
            copies.push(copy_of(&world));
        }
        is_over.store(true, Ordering::SeqCst);
        copies
    });
    assert_eq!(copies.len(), COPIES);
    let mut sizes = Vec::new();
    for copy in &copies {
        assert_eq!(snapshot::inspect(copy.path()).unwrap().broken, None);
        let restored = open_like_new(copy.path());
        recover(&restored);
        sizes.push(assert_consistent(&restored).len());
    }
    assert!(sizes.is_sorted() && sizes.first() < sizes.last(), "nothing was written meanwhile: {sizes:?}");
}
