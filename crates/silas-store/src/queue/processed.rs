//! Who has dealt with which message, so that a message that comes twice has its effect once.

use crate::{Error, ReadTx, Tx, params};
use silas_core::{MessageId, Timestamp};

/// Marks that one call forgets at most, so that upkeep never holds up the writer.
pub const FORGOTTEN_MAX: u32 = 1000;

/// Whether this consumer has dealt with the message; to be asked before any side effect.
pub fn has_processed(tx: &ReadTx<'_>, consumer: &str, message: &MessageId) -> Result<bool, Error> {
    let found = tx.query_one(
        "SELECT 1 FROM processed WHERE message_id = ?1 AND consumer = ?2",
        params![message.as_str(), consumer],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// This consumer has dealt with the message. False if that was known.
pub fn mark_processed(tx: &mut Tx<'_>, consumer: &str, message: &MessageId) -> Result<bool, Error> {
    let now = tx.clock.now();
    let n_marked = tx.execute(
        "INSERT INTO processed (message_id, consumer, at) VALUES (?1, ?2, ?3) ON CONFLICT (message_id, consumer) DO NOTHING",
        params![message.as_str(), consumer, now.micros()],
    )?;
    Ok(n_marked == 1)
}

/// Forgets marks that were set before this instant, at most [`FORGOTTEN_MAX`]. Says how many. Safe only for messages
/// that nobody sends again after so long.
pub fn forget_processed(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM processed WHERE (message_id, consumer) IN
             (SELECT message_id, consumer FROM processed WHERE at < ?1 LIMIT ?2)",
        params![before.micros(), FORGOTTEN_MAX],
    )
}

/// In the queue now, or processed by anybody.
pub(super) fn is_known(tx: &ReadTx<'_>, message: &MessageId) -> Result<bool, Error> {
    let found = tx.query_one(
        "SELECT 1 FROM queue WHERE message_id = ?1 UNION ALL SELECT 1 FROM processed WHERE message_id = ?1 LIMIT 1",
        params![message.as_str()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}
