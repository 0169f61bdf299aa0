//! Questions and work that are settled, each found by its age and none taken away from under something open. Decisions
//! stay, and with them the executions that they were spent for: whoever checks the ledger asks for both.

use super::ROWS_MAX;
use crate::{Error, Tx, params};
use silas_core::Timestamp;

/// Answered and closed cards.
pub(super) fn cards(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM cards WHERE id IN (SELECT id FROM cards WHERE state IN ('answered', 'closed') AND created_at < ?1
             ORDER BY created_at, id LIMIT ?2)",
        params![before.micros(), ROWS_MAX],
    )
}

/// What ended executions had to show, undo windows that nobody closed excepted.
pub(super) fn results(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "UPDATE executions SET result = NULL WHERE id IN (SELECT id FROM executions
             WHERE result IS NOT NULL AND ended_at IS NOT NULL AND ended_at < ?1 AND undo_until IS NULL
             ORDER BY ended_at, id LIMIT ?2)",
        params![before.micros(), ROWS_MAX],
    )
}

/// Plans that were never carried out, with no question open. Those that were stay with the decision that allowed it.
pub(super) fn work_items(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM work_items WHERE id IN (SELECT id FROM work_items AS w WHERE updated_at < ?1
             AND NOT EXISTS (SELECT 1 FROM executions AS e WHERE e.work_item_id = w.id)
             AND NOT EXISTS (SELECT 1 FROM cards AS c WHERE c.subject = w.id AND c.state IN ('open', 'parked'))
             ORDER BY updated_at, id LIMIT ?2)",
        params![before.micros(), ROWS_MAX],
    )
}

/// Operations that are finished in both files. That they were carried out stays in the human's.
pub(super) fn operations(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM sagas WHERE operation IN (SELECT operation FROM sagas
             WHERE phase = 'finished' AND updated_at < ?1 ORDER BY updated_at, operation LIMIT ?2)",
        params![before.micros(), ROWS_MAX],
    )
}

/// Signed words that no operation refers to, and that no message of the queue may still become one of.
pub(super) fn instructions(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM instructions WHERE message_id IN (SELECT message_id FROM instructions AS i WHERE at < ?1
             AND NOT EXISTS (SELECT 1 FROM sagas AS s WHERE s.message_id = i.message_id)
             AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.message_id = i.message_id)
             ORDER BY at, message_id LIMIT ?2)",
        params![before.micros(), ROWS_MAX],
    )
}
