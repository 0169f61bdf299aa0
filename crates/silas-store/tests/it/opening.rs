//! Opening a data directory: one server, known schema, and looking without touching.

use crate::world::{World, started};
use silas_store::{Commit, Error, Reader, Store, ledger, settings};
use std::os::unix::fs::PermissionsExt;

fn count(reader: &Reader) -> usize {
    reader.read(|tx| Ok(ledger::latest(tx, 100)?.len())).wait().unwrap()
}

#[test]
fn a_second_server_is_refused_until_the_first_is_gone() {
    let world = World::new();
    let store = world.open();
    let refused = world.try_open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::AlreadyRunning { .. }), "{refused}");
    assert_eq!(refused.code(), "E_DB_ALREADY_RUNNING");
    drop(store);
    world.open();
}

#[test]
fn what_was_written_is_there_after_reopening() {
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(tx.record(&started("1"))?))).wait().unwrap();
    store.write_buffered(|tx| Ok(Commit(settings::set(tx, "key", "value")?))).wait().unwrap();
    drop(store);
    let store = world.open();
    assert_eq!(store.ledger_head(), 1);
    assert_eq!(store.read(|tx| settings::get(tx, "key")).wait().unwrap(), Some("value".to_owned()));
}

#[test]
fn files_are_the_owners_alone() {
    let world = World::new();
    let inner = world.dir.path().join("data");
    let store = Store::open(&inner, world.random.clone(), world.clock.clone()).unwrap();
    store.write(|tx| Ok(Commit(settings::set(tx, "key", &1)?))).wait().unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    for name in ["agent.sqlite", "agent.sqlite-wal", "agent.sqlite-shm", "db.sqlite", "db.sqlite-wal", "lock"] {
        assert_eq!(mode(&inner.join(name)), 0o600, "{name}");
    }
}

#[test]
fn an_altered_migration_is_refused() {
    let world = World::new();
    drop(world.open());
    world.forger().execute("UPDATE migrations SET checksum = 'other' WHERE number = 1", []).unwrap();
    for refused in [world.try_open().map(|_| ()), Store::open_read_only(world.dir.path()).map(|_| ())] {
        assert!(matches!(refused, Err(Error::MigrationAltered { number: 1, .. })));
    }
}

#[test]
fn a_migration_of_a_newer_version_is_refused() {
    let world = World::new();
    drop(world.open());
    world.forger().execute("INSERT INTO migrations VALUES (9999, 'later', 'x', 0)", []).unwrap();
    for refused in [world.try_open().map(|_| ()), Store::open_read_only(world.dir.path()).map(|_| ())] {
        assert!(matches!(refused, Err(Error::MigrationUnknown { number: 9999, .. })));
    }
}

#[test]
fn the_humans_file_has_a_history_of_its_own() {
    let world = World::new();
    drop(world.open());
    world.human_forger().execute("UPDATE migrations SET checksum = 'other' WHERE number = 1", []).unwrap();
    assert!(matches!(world.try_open().map(|_| ()), Err(Error::MigrationAltered { number: 1, .. })));
    // Whoever looks at the ledger does not need the other file.
    assert_eq!(count(&Store::open_read_only(world.dir.path()).unwrap()), 0);
}

#[test]
fn what_is_not_our_database_is_refused_and_left_alone() {
    let world = World::new();
    let path = world.dir.path().join("agent.sqlite");
    let missing = Store::open_read_only(world.dir.path()).map(|_| ()).unwrap_err();
    assert!(matches!(missing, Error::NoDatabase { .. }), "{missing}");
    assert!(!path.exists());

    std::fs::write(&path, b"a letter to a friend, much longer than the header of a database would have to be ........")
        .unwrap();
    assert!(world.try_open().is_err());
    assert!(Store::open_read_only(world.dir.path()).is_err());

    std::fs::remove_file(&path).unwrap();
    world.forger().execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    assert!(matches!(world.try_open().map(|_| ()), Err(Error::ForeignDatabase)));
    assert!(matches!(Store::open_read_only(world.dir.path()).map(|_| ()), Err(Error::ForeignDatabase)));

    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"").unwrap();
    let empty = Store::open_read_only(world.dir.path()).map(|_| ()).unwrap_err();
    assert!(matches!(empty, Error::MigrationMissing { number: 1, .. }), "{empty}");
}

#[test]
fn one_can_look_beside_a_running_server() {
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(tx.record(&started("1"))?))).wait().unwrap();
    let reader = Store::open_read_only(world.dir.path()).unwrap();
    assert_eq!(count(&reader), 1);
    store.write(|tx| Ok(Commit(tx.record(&started("2"))?))).wait().unwrap();
    assert_eq!(count(&reader), 2);
    // Who looks holds no lock.
    drop(store);
    world.open();
}

/// A link to nowhere at the place of SQLite's index of the log keeps it from being made, as a directory that cannot be
/// written would; the latter does not stop root, and tests may run as root.
#[test]
fn one_can_look_where_nothing_can_be_written() {
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(tx.record(&started("1"))?))).wait().unwrap();
    let copy = World::new();
    // While the server runs, the change is in the log only.
    for name in ["agent.sqlite", "agent.sqlite-wal"] {
        std::fs::copy(world.dir.path().join(name), copy.dir.path().join(name)).unwrap();
    }
    let index = copy.dir.path().join("agent.sqlite-shm");
    std::os::unix::fs::symlink("/nowhere", &index).unwrap();
    let refused = Store::open_read_only(copy.dir.path()).map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::NotReadableHere { .. }), "{refused}");

    drop(store);
    let index = world.dir.path().join("agent.sqlite-shm");
    assert!(!index.exists(), "a closed store leaves one file");
    std::os::unix::fs::symlink("/nowhere", &index).unwrap();
    assert_eq!(count(&Store::open_read_only(world.dir.path()).unwrap()), 1);
}

/// For root this is an ordinary directory; for anybody else it is one that SQLite cannot put its files into.
#[test]
fn one_can_look_at_a_read_only_copy() {
    let world = World::new();
    let store = world.open();
    store.write(|tx| Ok(Commit(tx.record(&started("1"))?))).wait().unwrap();
    let (after_crash, after_close) = (World::new(), World::new());
    for name in ["agent.sqlite", "agent.sqlite-wal", "agent.sqlite-shm"] {
        std::fs::copy(world.dir.path().join(name), after_crash.dir.path().join(name)).unwrap();
    }
    drop(store);
    std::fs::copy(world.dir.path().join("agent.sqlite"), after_close.dir.path().join("agent.sqlite")).unwrap();
    for copy in [after_crash, after_close] {
        let set = |mode| std::fs::set_permissions(copy.dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o555);
        let looked = Store::open_read_only(copy.dir.path()).map(|reader| count(&reader));
        set(0o755);
        assert_eq!(looked.unwrap(), 1);
    }
}
