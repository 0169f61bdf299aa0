//! A database of an earlier version, opened by this one.

use crate::world::{World, started};
use silas_store::{Commit, Error, ledger, snapshot};

/// Takes the last migration back, as if it had never been, in a database that has been used.
fn earlier() -> World {
    let world = World::new();
    let store = world.open();
    for n in 0..30 {
        store.write(move |tx| Ok(Commit(tx.record(&started(&n.to_string()))?))).wait().unwrap();
    }
    drop(store);
    let db = world.forger();
    db.execute_batch(
        "DROP TABLE checkpoints; DROP INDEX chronicle_by_age; DROP INDEX cards_settled; DROP INDEX executions_settled;
         DELETE FROM migrations WHERE number = 3;",
    )
    .unwrap();
    world
}

fn copy(world: &World) -> std::path::PathBuf {
    world.dir.path().join("agent.before-3.sqlite")
}

#[test]
fn it_is_copied_brought_up_to_date_and_whole() {
    let world = earlier();
    let store = world.open();
    let report = store.read(ledger::verify).wait().unwrap();
    assert_eq!((report.entries, report.broken), (30, None));
    let kept = rusqlite::Connection::open(copy(&world)).unwrap();
    let numbers: Vec<i64> = kept
        .prepare("SELECT number FROM migrations ORDER BY number")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(numbers, [1, 2]);
    // The other file had nothing to do.
    assert!(!world.dir.path().join("db.before-1.sqlite").exists());
}

#[test]
fn a_ledger_that_does_not_verify_stops_it() {
    let world = earlier();
    let db = world.forger();
    db.execute_batch("DROP TRIGGER ledger_is_not_edited; UPDATE ledger SET at = at + 1 WHERE seq = 20").unwrap();
    drop(db);
    let Err(error) = world.try_open() else { panic!("it was brought up to date") };
    assert!(matches!(error, Error::MigrationFailed { .. }), "{error}");
    assert!(error.to_string().contains("Entry 20") && error.to_string().contains("as it was before"), "{error}");
    let n: i64 = world.forger().query_row("SELECT max(number) FROM migrations", [], |row| row.get(0)).unwrap();
    assert_eq!(n, 2);
    assert!(copy(&world).exists());
}

#[test]
fn a_backup_of_an_earlier_version_is_sound() {
    let world = earlier();
    let to = tempfile::TempDir::new().unwrap();
    snapshot::take(world.dir.path(), to.path()).unwrap();
    assert_eq!(snapshot::inspect(to.path()).unwrap().entries, 30);
}

#[test]
fn a_file_that_could_not_give_room_back_learns_to() {
    let world = World::new();
    drop(world.open());
    let db = world.forger();
    db.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM;").unwrap();
    drop(db);
    drop(world.open());
    let mode: i64 = world.forger().pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap();
    assert_eq!(mode, 2);
}
