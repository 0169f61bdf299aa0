//! What is forgotten when its time is over, a bounded piece at a time, so that upkeep never holds up anybody.
//!
//! Architecture invariant: no statement here names the ledger or its checkpoints. The ledger's texts go by way of
//! [`crate::forgetting`], which says so in the ledger; its entries never do. What something open still needs stays,
//! however old it is: an unanswered card and its plan, a running execution, an undo window and everything behind them.

mod settled;

use crate::{Error, Tx, channel_outbox, forgetting, nonces, params, queue, sessions};
use silas_core::Timestamp;
use silas_core::event::AuditEvent;

/// Rows of one kind that one call forgets at most.
pub const ROWS_MAX: u32 = 500;

/// Everything older than these instants may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// What was said, and everything that is settled: cards, results, plans that were not carried out, operations with
    /// their instructions, the ledger's texts. Devices that were not here since. Decisions stay.
    pub chronicle_before: Timestamp,
    /// What is on its way to the channels. Who was away for longer is shown the whole.
    pub outbox_before: Timestamp,
    /// Safe only before the oldest instant at which a signed message is still fresh.
    pub nonces_before: Timestamp,
    /// Which messages were dealt with.
    pub processed_before: Timestamp,
}

/// How many rows one call dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    pub entries: usize,
    pub outbox: usize,
    pub sessions: usize,
    pub cards: usize,
    pub results: usize,
    pub work_items: usize,
    pub operations: usize,
    pub instructions: usize,
    /// Entries of the ledger whose texts are past their time.
    pub texts: usize,
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

/// What is said and shown outlives its text in the ledger by so much, so that whoever finds the text and not the row knows that
/// somebody else took it. Longer than it takes to write a message down.
const ROWS_OUTLIVE_TEXTS_MICROS: i64 = 3600 * 1_000_000;

/// Forgets one piece and gives some of its room back to the disk. Call it again until there is nothing.
pub fn prune(tx: &mut Tx<'_>, policy: &Policy) -> Result<Pruned, Error> {
    let before = policy.chronicle_before;
    let (texts, are_texts_gone) = forgetting::expire(tx, before)?;
    // The texts go before the rows that repeat them.
    let rows_before = match are_texts_gone {
        true => Timestamp::from_micros(before.micros().saturating_sub(ROWS_OUTLIVE_TEXTS_MICROS)),
        false => Timestamp::EPOCH,
    };
    let outbox = channel_outbox::prune(tx, policy.outbox_before.max(before), ROWS_MAX)?;
    let entries = tx.execute(
        "DELETE FROM chronicle WHERE seq IN (SELECT seq FROM chronicle WHERE at < ?1 ORDER BY at, seq LIMIT ?2)",
        params![rows_before.micros(), ROWS_MAX],
    )?;
    let pruned = Pruned {
        entries,
        outbox,
        sessions: sessions::prune(tx, before, ROWS_MAX)?,
        // In this order: what refers to something goes before it.
        cards: settled::cards(tx, rows_before)?,
        results: settled::results(tx, rows_before)?,
        work_items: settled::work_items(tx, before)?,
        operations: settled::operations(tx, before)?,
        instructions: settled::instructions(tx, before)?,
        texts,
        nonces: nonces::prune(tx, policy.nonces_before)?,
        processed: queue::forget_processed(tx, policy.processed_before)?,
        pages: tx.give_back_room()?,
    };
    // Whoever checks the ledger later asks where the instructions are that it names.
    if pruned.operations + pruned.instructions > 0 {
        let instructions = u32::try_from(pruned.operations + pruned.instructions).unwrap_or(u32::MAX);
        tx.record(&AuditEvent::RecordsExpired { before, instructions })?;
    }
    Ok(pruned)
}
