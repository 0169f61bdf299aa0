//! Which histories of a schema are carried on, and which are refused.

use super::*;

const FIRST: Migration = Migration { number: 1, name: "first", sql: "CREATE TABLE a (x INTEGER) STRICT" };
const SECOND: Migration = Migration { number: 2, name: "second", sql: "CREATE TABLE b (x INTEGER) STRICT" };
const SECOND_ALTERED: Migration = Migration { number: 2, name: "second", sql: "CREATE TABLE b (y INTEGER) STRICT" };
const THIRD_BROKEN: Migration = Migration { number: 3, name: "third", sql: "CREATE TABLE c (x INTEGER); nonsense" };

fn made_with(known: &[Migration]) -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    apply(&mut connection, known, Timestamp::EPOCH, |_| Ok(())).unwrap();
    connection
}

fn refused(known: &[Migration], connection: &mut Connection) -> Error {
    let when_applied = apply(connection, known, Timestamp::EPOCH, |_| Ok(())).unwrap_err();
    let when_checked = check(connection, known).unwrap_err();
    assert_eq!(when_applied.to_string(), when_checked.to_string());
    when_applied
}

#[test]
fn what_is_new_is_applied_once() {
    let mut connection = made_with(&[FIRST]);
    assert!(matches!(check(&connection, &[FIRST, SECOND]), Err(Error::MigrationMissing { number: 2, .. })));
    apply(&mut connection, &[FIRST, SECOND], Timestamp::EPOCH, |_| Ok(())).unwrap();
    apply(&mut connection, &[FIRST, SECOND], Timestamp::EPOCH, |_| Ok(())).unwrap();
    check(&connection, &[FIRST, SECOND]).unwrap();
}

#[test]
fn an_altered_one_is_refused() {
    let mut connection = made_with(&[FIRST, SECOND]);
    let error = refused(&[FIRST, SECOND_ALTERED], &mut connection);
    assert!(matches!(error, Error::MigrationAltered { number: 2, .. }), "{error}");
}

#[test]
fn one_that_this_version_does_not_know_is_refused() {
    let mut connection = made_with(&[FIRST, SECOND]);
    let error = refused(&[FIRST], &mut connection);
    assert!(matches!(error, Error::MigrationUnknown { number: 2, .. }), "{error}");
}

#[test]
fn a_hole_in_the_history_is_refused() {
    let mut connection = made_with(&[FIRST, SECOND]);
    connection.execute("DELETE FROM migrations WHERE number = 1", []).unwrap();
    let error = refused(&[FIRST, SECOND], &mut connection);
    assert!(matches!(error, Error::MigrationMissing { number: 1, .. }), "{error}");
}

#[test]
fn a_foreign_database_is_refused() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    assert!(matches!(refused(&[FIRST], &mut connection), Error::ForeignDatabase));
}

#[test]
fn a_failing_one_leaves_nothing() {
    let mut connection = made_with(&[FIRST, SECOND]);
    assert!(apply(&mut connection, &[FIRST, SECOND, THIRD_BROKEN], Timestamp::EPOCH, |_| Ok(())).is_err());
    assert!(!connection.table_exists(None, "c").unwrap());
    check(&connection, &[FIRST, SECOND]).unwrap();
}

#[test]
fn what_was_put_aside_and_what_was_done_stay_so_when_their_rows_move() {
    let before: Vec<Migration> = AGENT.iter().filter(|migration| migration.number < 9).map(copied).collect();
    let mut connection = made_with(&before);
    connection
        .execute_batch(
            "INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, fence) VALUES
                 ('msg-1', 'turns', 'owner', 'user_message', '{}', 'msg-1', 'dead', 5, 0, 5),
                 ('msg-2', 'turns', 'owner', 'user_message', '{}', 'msg-2', 'ready', 0, 0, 0);
             INSERT INTO processed (message_id, consumer, at) VALUES ('msg-0', 'turn', 7)",
        )
        .unwrap();
    apply(&mut connection, AGENT, Timestamp::EPOCH, |_| Ok(())).unwrap();
    let mut statement = connection.prepare("SELECT message_id FROM queue WHERE is_dead = 0").unwrap();
    let waiting: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(waiting, ["msg-2"]);
    let mark = "SELECT at FROM processed WHERE message_id = 'msg-0' AND consumer = 'turn'";
    assert_eq!(connection.query_row(mark, [], |row| row.get::<_, i64>(0)).unwrap(), 7);
}

fn copied(migration: &Migration) -> Migration {
    Migration { number: migration.number, name: migration.name, sql: migration.sql }
}
