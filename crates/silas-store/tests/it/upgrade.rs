//! A database of an earlier version, opened by this one.

use crate::world::{World, started};
use silas_core::Digest;
use silas_store::{Commit, Error, ledger, snapshot};

/// A database that has been used, as the version made it that knew the first two migrations.
fn earlier() -> World {
    let made = World::new();
    let store = made.open();
    for n in 0..30 {
        store.write(move |tx| Ok(Commit(tx.record(&started(&n.to_string()))?))).wait().unwrap();
    }
    drop(store);
    let world = World::new();
    std::fs::copy(made.dir.path().join("db.sqlite"), world.dir.path().join("db.sqlite")).unwrap();
    let db = world.forger();
    db.execute_batch(
        "CREATE TABLE migrations (
            number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
        ) STRICT",
    )
    .unwrap();
    let first_two = [
        (1, "agent", include_str!("../../src/migrations/0001_agent.sql")),
        (2, "operations", include_str!("../../src/migrations/0002_operations.sql")),
    ];
    for (number, name, sql) in first_two {
        db.execute_batch(sql).unwrap();
        let checksum = Digest::of(sql.as_bytes()).to_string();
        db.execute("INSERT INTO migrations VALUES (?1, ?2, ?3, 0)", rusqlite::params![number, name, checksum]).unwrap();
    }
    db.execute("ATTACH ?1 AS made", [made.dir.path().join("agent.sqlite").to_str().unwrap()]).unwrap();
    db.execute("INSERT INTO ledger SELECT * FROM made.ledger ORDER BY seq", []).unwrap();
    drop(db);
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
