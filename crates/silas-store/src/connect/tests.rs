//! What every connection is set to, where it shows.

use super::*;
use rusqlite::StatementStatus;

/// Planning takes longer than running. Without the setting every new value makes SQLite plan anew.
#[test]
fn a_statement_about_a_partial_index_is_planned_once() {
    let dir = tempfile::tempdir().unwrap();
    let connection = for_writing(&dir.path().join("file.sqlite")).unwrap();
    let schema = "CREATE TABLE t (a TEXT, state TEXT) STRICT; CREATE INDEX part ON t (a) WHERE state <> 'dead'";
    connection.execute_batch(schema).unwrap();
    let mut statement = connection.prepare("SELECT count(*) FROM t WHERE a = ?1 AND state <> 'dead'").unwrap();
    for value in ["x", "y", "z"] {
        statement.query_row([value], |row| row.get::<_, u32>(0)).unwrap();
    }
    assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
}
