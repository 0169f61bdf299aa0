//! One text of SQL for every backend: what only SQLite understands stays in the files that are about SQLite.

use std::path::Path;

/// Files about the SQLite backend itself: its connections, its schema, its files, and its way of giving room back.
const ABOUT_SQLITE: [&str; 6] = ["connect.rs", "checkpoint.rs", "migrations.rs", "snapshot.rs", "upgrade.rs", "tx.rs"];

/// Words that PostgreSQL does not know, or knows otherwise. `max` and `min` of several values are `GREATEST` and `LEAST`
/// there, and are worked out in Rust instead.
const ONLY_SQLITE: [&str; 18] = [
    "PRAGMA",
    "ROWID",
    "OR REPLACE",
    "OR IGNORE",
    "OR ABORT",
    "AUTOINCREMENT",
    "STRFTIME",
    "JULIANDAY",
    "DATETIME(",
    "JSON_EXTRACT",
    "JSON_EACH",
    "GLOB ",
    "IFNULL",
    "GROUP_CONCAT",
    "PRINTF(",
    "TYPEOF(",
    "LAST_INSERT",
    "INDEXED BY",
];

#[test]
fn no_repository_speaks_sqlite_only() {
    let mut n_statements = 0;
    for file in crate::query_plans::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        if ABOUT_SQLITE.iter().any(|name| file.ends_with(name)) {
            continue;
        }
        for sql in crate::query_plans::statements(&std::fs::read_to_string(&file).unwrap()) {
            n_statements += 1;
            let shouted = sql.to_uppercase();
            let found = ONLY_SQLITE.iter().find(|word| shouted.contains(*word));
            assert_eq!(found, None, "{}: {sql}", file.display());
            // Placeholders are numbered, so that they can be translated one by one.
            let unnumbered =
                sql.match_indices('?').any(|(at, _)| !sql[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
            assert!(!unnumbered && !sql.contains('`'), "{}: {sql}", file.display());
        }
    }
    assert!(n_statements >= 80, "only {n_statements} statements were found");
}
