//! Upgrades that go through, that fail, and that pass but leave a database which is not sound.

use super::*;
use tempfile::TempDir;

const FIRST: Migration = Migration {
    number: 1,
    name: "first",
    sql: "CREATE TABLE shelf (id INTEGER PRIMARY KEY) STRICT;
          CREATE TABLE book (id INTEGER PRIMARY KEY, shelf INTEGER NOT NULL REFERENCES shelf (id)) STRICT;
          INSERT INTO shelf VALUES (1); INSERT INTO book VALUES (1, 1);",
};
const SECOND: Migration = Migration { number: 2, name: "second", sql: "ALTER TABLE book ADD COLUMN title TEXT" };
const FAILING: Migration = Migration { number: 2, name: "failing", sql: "DELETE FROM book; nonsense" };
const DANGLING: Migration =
    Migration { number: 2, name: "dangling", sql: "PRAGMA defer_foreign_keys = ON; UPDATE book SET shelf = 9" };
const THIRD: Migration =
    Migration { number: 3, name: "third", sql: "CREATE TABLE loan (id INTEGER PRIMARY KEY) STRICT" };

struct Shelf {
    dir: TempDir,
    connection: Connection,
}

impl Shelf {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let connection = connect::for_writing(&dir.path().join("agent.sqlite")).unwrap();
        let mut shelf = Shelf { dir, connection };
        shelf.upgrade(&[FIRST], |_| Ok(())).unwrap();
        shelf
    }

    fn upgrade(
        &mut self,
        known: &[Migration],
        look: impl FnOnce(&Connection) -> Result<(), Error>,
    ) -> Result<(), Error> {
        upgrade(&mut self.connection, &self.dir.path().join("agent.sqlite"), known, Timestamp::EPOCH, look)
    }

    fn copies(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut copies: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        copies.retain(|name| name.contains("before"));
        copies.sort();
        copies
    }

    #[track_caller]
    fn assert_old(&self) {
        assert_eq!(migrations::missing(&self.connection, &[FIRST, SECOND]).unwrap().len(), 1);
        let shelf: i64 =
            self.connection.query_row("SELECT shelf FROM book WHERE id = 1", [], |row| row.get(0)).unwrap();
        assert_eq!(shelf, 1);
    }
}

#[test]
fn a_new_database_needs_no_copy() {
    assert_eq!(Shelf::new().copies(), Vec::<String>::new());
}

#[test]
fn the_last_copy_stays() {
    let mut shelf = Shelf::new();
    shelf.upgrade(&[FIRST, SECOND], |_| Ok(())).unwrap();
    assert_eq!(shelf.copies(), ["agent.before-2.sqlite"]);
    shelf.upgrade(&[FIRST, SECOND, THIRD], |_| Ok(())).unwrap();
    assert_eq!(shelf.copies(), ["agent.before-3.sqlite"]);
    // It is a whole database, in the state before.
    let copy = connect::for_reading(&shelf.dir.path().join("agent.before-3.sqlite")).unwrap();
    self_check(&copy).unwrap();
    assert_eq!(migrations::missing(&copy, &[FIRST, SECOND, THIRD]).unwrap().len(), 1);
}

#[test]
fn one_that_fails_leaves_everything_as_it_was() {
    let mut shelf = Shelf::new();
    let error = shelf.upgrade(&[FIRST, FAILING], |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("as it was before"), "{error}");
    shelf.assert_old();
    assert_eq!(shelf.copies(), ["agent.before-2.sqlite"]);
    // A repaired version goes on from there.
    shelf.upgrade(&[FIRST, SECOND], |_| Ok(())).unwrap();
}

#[test]
fn one_that_leaves_a_dangling_reference_is_taken_back() {
    let mut shelf = Shelf::new();
    let error = shelf.upgrade(&[FIRST, DANGLING], |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("a row of `book` refers"), "{error}");
    shelf.assert_old();
}

#[test]
fn one_that_this_domain_does_not_accept_is_taken_back() {
    let mut shelf = Shelf::new();
    // All of it is in one transaction: what came before the bad one goes too.
    let look = |_: &Connection| Err(Error::Damaged { what: "the ledger", reason: "an entry is gone".to_owned() });
    let error = shelf.upgrade(&[FIRST, SECOND, THIRD], look).unwrap_err();
    assert!(matches!(error, Error::MigrationFailed { .. }), "{error}");
    shelf.assert_old();
}
