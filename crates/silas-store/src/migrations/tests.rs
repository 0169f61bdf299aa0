//! Which histories of a schema are carried on, and which are refused.

use super::*;

const FIRST: Migration = Migration { number: 1, name: "first", sql: "CREATE TABLE a (x INTEGER) STRICT" };
const SECOND: Migration = Migration { number: 2, name: "second", sql: "CREATE TABLE b (x INTEGER) STRICT" };
const SECOND_ALTERED: Migration = Migration { number: 2, name: "second", sql: "CREATE TABLE b (y INTEGER) STRICT" };
const THIRD: Migration = Migration { number: 3, name: "third", sql: "CREATE TABLE c (x INTEGER) STRICT" };
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
fn one_that_was_shipped_after_a_later_one_is_made_up_for() {
    let mut connection = made_with(&[FIRST, THIRD]);
    assert!(matches!(check(&connection, &[FIRST, SECOND, THIRD]), Err(Error::MigrationMissing { number: 2, .. })));
    apply(&mut connection, &[FIRST, SECOND, THIRD], Timestamp::EPOCH, |_| Ok(())).unwrap();
    check(&connection, &[FIRST, SECOND, THIRD]).unwrap();
    assert_eq!(shape(&connection).unwrap(), shape(&made_with(&[FIRST, SECOND, THIRD])).unwrap());
}

/// Each adds a column to the same table, so their order shows.
#[test]
fn it_is_not_where_the_order_makes_another_database() {
    const WIDE: Migration = Migration { number: 2, name: "wide", sql: "ALTER TABLE a ADD COLUMN y INTEGER" };
    const HIGH: Migration = Migration { number: 3, name: "high", sql: "ALTER TABLE a ADD COLUMN z INTEGER" };
    let mut connection = made_with(&[FIRST, HIGH]);
    let error = apply(&mut connection, &[FIRST, WIDE, HIGH], Timestamp::EPOCH, |_| Ok(())).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    check(&connection, &[FIRST, HIGH]).unwrap();
}

#[test]
fn a_row_that_somebody_took_out_of_the_history_changes_nothing() {
    let mut connection = made_with(&[FIRST, SECOND]);
    connection.execute("DELETE FROM migrations WHERE number = 1", []).unwrap();
    assert!(apply(&mut connection, &[FIRST, SECOND], Timestamp::EPOCH, |_| Ok(())).is_err());
    assert!(matches!(check(&connection, &[FIRST, SECOND]), Err(Error::MigrationMissing { number: 1, .. })));
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

#[test]
fn everything_of_before_is_the_owners_and_was_understood_by_the_first_grammar() {
    let before: Vec<Migration> = AGENT.iter().filter(|migration| migration.number < 28).map(copied).collect();
    let mut connection = made_with(&before);
    connection
        .execute_batch(
            "INSERT INTO channel_outbox (seq, message_id, at) VALUES (7, 'msg-7', 70), (9, 'msg-9', 90);
             INSERT INTO cards (id, state, created_at, subject, card) VALUES ('card-1', 'open', 0, '', '{}');
             INSERT INTO work_items (id, definition, state, trace_id, updated_at) VALUES ('task-1', '', '', 'msg-1', 0);
             INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, fence)
                 VALUES ('msg-1', 'turns', 'owner', 'user_message', '{}', 'msg-1', 'ready', 0, 0, 0);
             INSERT INTO model_calls (id, role, model, day, month, at, reserved) VALUES ('call-1', '', '', '', '', 0, 0);
             INSERT INTO sessions (id, session_type, title, created_at, last_active, turn_count, connections, acknowledged)
                 VALUES ('sess-1', 'side', '', 0, 0, 0, 0, 9);
             INSERT INTO instructions (message_id, signed, certificate, at) VALUES ('msg-1', '', '', 0)",
        )
        .unwrap();
    apply(&mut connection, AGENT, Timestamp::EPOCH, |_| Ok(())).unwrap();
    let rows = |sql: &str| -> Vec<(String, i64)> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let owners = |n: i64| ("owner".to_owned(), n);
    assert_eq!(rows("SELECT scope, seq FROM channel_outbox WHERE at = seq * 10 ORDER BY seq"), [owners(7), owners(9)]);
    assert_eq!(rows("SELECT message_id, grammar FROM instructions"), [("msg-1".to_owned(), 1)]);
    for table in ["cards", "work_items", "queue", "model_calls", "sessions"] {
        assert_eq!(rows(&format!("SELECT scope, count(*) FROM {table} GROUP BY scope")), [owners(1)], "{table}");
    }
}

fn copied(migration: &Migration) -> Migration {
    Migration { number: migration.number, name: migration.name, sql: migration.sql }
}
