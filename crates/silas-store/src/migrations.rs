//! The schema's history: numbered SQL files, each applied once, in order; what is missing, in one transaction.
//!
//! A number is given out when the work on it begins, so a later one may have been shipped first. A database of that time
//! lacks one in the middle; it gets it, if what comes of it is exactly what this version makes ([`agrees`]).
//!
//! What was applied is recorded with its checksum. A database that this version does not fully understand is refused, not
//! repaired and not read: guessing would be worse than stopping.

use crate::Error;
use rusqlite::{Connection, TransactionBehavior, params};
use silas_core::{Digest, Timestamp};

pub(crate) struct Migration {
    pub(crate) number: i64,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// The agent's domain. Add files at the end; a published one never changes.
pub(crate) const AGENT: &[Migration] = &[
    Migration { number: 1, name: "agent", sql: include_str!("migrations/0001_agent.sql") },
    Migration { number: 2, name: "operations", sql: include_str!("migrations/0002_operations.sql") },
    Migration { number: 3, name: "upkeep", sql: include_str!("migrations/0003_upkeep.sql") },
    Migration { number: 4, name: "store", sql: include_str!("migrations/0004_store.sql") },
    Migration { number: 9, name: "speed", sql: include_str!("migrations/0009_speed.sql") },
    Migration { number: 11, name: "rehearsal", sql: include_str!("migrations/0011_rehearsal.sql") },
    Migration { number: 12, name: "models", sql: include_str!("migrations/0012_models.sql") },
    Migration { number: 15, name: "tools", sql: include_str!("migrations/0015_tools.sql") },
    Migration { number: 21, name: "turn_answers", sql: include_str!("migrations/0021_turn_answers.sql") },
    Migration { number: 23, name: "answers", sql: include_str!("migrations/0023_answers.sql") },
    Migration { number: 24, name: "live", sql: include_str!("migrations/0024_live.sql") },
    Migration { number: 27, name: "somebody", sql: include_str!("migrations/0027_somebody.sql") },
    Migration { number: 28, name: "frame", sql: include_str!("migrations/0028_frame.sql") },
    Migration { number: 29, name: "keys", sql: include_str!("migrations/0029_keys.sql") },
];

/// The human's domain, in a file of its own with a history of its own.
pub(crate) const HUMAN: &[Migration] = &[
    Migration { number: 1, name: "human", sql: include_str!("migrations/human/0001_human.sql") },
    Migration { number: 2, name: "changes", sql: include_str!("migrations/human/0002_changes.sql") },
];

struct Applied {
    number: i64,
    name: String,
    checksum: String,
}

/// Applies all that is missing, or nothing: `look` sees the result and may still refuse it.
pub(crate) fn apply(
    connection: &mut Connection,
    known: &[Migration],
    now: Timestamp,
    look: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<(), Error> {
    let missing = missing(connection, known)?;
    let is_in_order = missing.first().is_none_or(|first| first.number == known[known.len() - missing.len()].number);
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (
            number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
        ) STRICT",
    )?;
    for migration in missing {
        tx.execute_batch(migration.sql).map_err(without_statement)?;
        tx.execute(
            "INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4)",
            params![migration.number, migration.name, migration.checksum(), now.micros()],
        )?;
    }
    if !is_in_order {
        agrees(&tx, known)?;
    }
    look(&tx)?;
    Ok(tx.commit()?)
}

/// What SQLite says about a statement, without the statement: whoever reads this did not write it.
fn without_statement(cause: rusqlite::Error) -> rusqlite::Error {
    match cause {
        rusqlite::Error::SqlInputError { error, msg, .. } => rusqlite::Error::SqliteFailure(error, Some(msg)),
        other => other,
    }
}

/// Whether a database whose history came in another order has the tables and indexes of one that this version makes.
fn agrees(connection: &Connection, known: &[Migration]) -> Result<(), Error> {
    let mut ours = Connection::open_in_memory()?;
    apply(&mut ours, known, Timestamp::EPOCH, |_| Ok(()))?;
    if shape(connection)? == shape(&ours)? {
        return Ok(());
    }
    let reason = "its tables are not those that this version makes".to_owned();
    Err(Error::Damaged { what: "the database", reason })
}

fn shape(connection: &Connection) -> Result<Vec<(String, String)>, Error> {
    let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    Ok(statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
}

/// What a database that was made by this version or an earlier one still lacks. Any other is refused.
pub(crate) fn missing<'k>(connection: &Connection, known: &'k [Migration]) -> Result<Vec<&'k Migration>, Error> {
    compare(&applied(connection)?, known)
}

/// Whether the database is exactly what this version would make.
pub(crate) fn check(connection: &Connection, known: &[Migration]) -> Result<(), Error> {
    match missing(connection, known)?.first() {
        Some(missing) => Err(Error::MigrationMissing { number: missing.number, name: missing.name.to_owned() }),
        None => Ok(()),
    }
}

/// What is still to be applied. Nothing may be in the database's history that is not in ours.
fn compare<'k>(applied: &[Applied], known: &'k [Migration]) -> Result<Vec<&'k Migration>, Error> {
    for row in applied {
        let (number, name) = (row.number, row.name.clone());
        let Some(ours) = known.iter().find(|migration| migration.number == number) else {
            return Err(Error::MigrationUnknown { number, name });
        };
        if ours.checksum() != row.checksum {
            return Err(Error::MigrationAltered { number, name });
        }
    }
    Ok(known.iter().filter(|ours| !applied.iter().any(|row| row.number == ours.number)).collect())
}

fn applied(connection: &Connection) -> Result<Vec<Applied>, Error> {
    let n_tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if n_tables == 0 {
        return Ok(Vec::new());
    }
    if !connection.table_exists(None, "migrations")? {
        return Err(Error::ForeignDatabase);
    }
    let mut statement = connection.prepare("SELECT number, name, checksum FROM migrations ORDER BY number")?;
    let rows = statement
        .query_map([], |row| Ok(Applied { number: row.get(0)?, name: row.get(1)?, checksum: row.get(2)? }))?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

impl Migration {
    fn checksum(&self) -> String {
        Digest::of(self.sql.as_bytes()).to_string()
    }
}

#[cfg(test)]
mod tests;
