//! What is forgotten when its time is over, a bounded piece at a time, so that upkeep never holds up anybody.
//!
//! Architecture invariant: no statement here names the ledger, its texts, its checkpoints, a token or an execution's row.
//! What an execution had to show goes; that it was, under which approval, and how it ended, stays.

use crate::{Error, Tx, nonces, params, queue};
use silas_core::Timestamp;

/// Rows of one kind that one call forgets at most.
pub const ROWS_MAX: u32 = 500;

/// Everything older than these instants may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// What was said, answered cards, and what ended executions had to show.
    pub chronicle_before: Timestamp,
    /// Safe only before the oldest instant at which a signed message is still fresh.
    pub nonces_before: Timestamp,
    /// Which messages were dealt with.
    pub processed_before: Timestamp,
}

/// How many rows one call dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    pub entries: usize,
    pub cards: usize,
    pub results: usize,
    pub nonces: usize,
    pub processed: usize,
    /// Pages that went back to the disk.
    pub pages: usize,
}

impl Pruned {
    pub fn is_nothing(&self) -> bool {
        *self == Pruned::default()
    }
}

/// Forgets one piece and gives some of its room back to the disk. Call it again until there is nothing.
pub fn prune(tx: &mut Tx<'_>, policy: &Policy) -> Result<Pruned, Error> {
    let before = policy.chronicle_before.micros();
    let entries = tx.execute(
        "DELETE FROM chronicle WHERE seq IN (SELECT seq FROM chronicle WHERE at < ?1 ORDER BY at, seq LIMIT ?2)",
        params![before, ROWS_MAX],
    )?;
    let cards = tx.execute(
        "DELETE FROM cards WHERE id IN (SELECT id FROM cards WHERE state IN ('answered', 'closed') AND created_at < ?1
             ORDER BY created_at, id LIMIT ?2)",
        params![before, ROWS_MAX],
    )?;
    let results = tx.execute(
        "UPDATE executions SET result = NULL WHERE id IN (SELECT id FROM executions
             WHERE result IS NOT NULL AND ended_at IS NOT NULL AND ended_at < ?1 ORDER BY ended_at, id LIMIT ?2)",
        params![before, ROWS_MAX],
    )?;
    let nonces = nonces::prune(tx, policy.nonces_before)?;
    let processed = queue::forget_processed(tx, policy.processed_before)?;
    let pages = tx.give_back_room()?;
    Ok(Pruned { entries, cards, results, nonces, processed, pages })
}
