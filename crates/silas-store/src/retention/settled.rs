//! Questions, approvals and work that are settled, each found by its age and none taken away from under something open.

use super::ROWS_MAX;
use crate::columns::id;
use crate::{Error, Tx, params};
use silas_core::{Timestamp, TokenId};

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

/// Approvals of plans and undos, and refusals of anything, that expired long ago, with their executions: these live as
/// long as their token. Other approvals are grants that may be in force, whatever their offers' times say. A decision
/// that is gone cannot be handed in again: its time is over.
pub(super) fn tokens(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    let old: Vec<TokenId> = tx.query(
        "SELECT token_id FROM tokens AS t
         WHERE expires_at < ?1 AND (kind IN ('plan', 'rehearsal', 'apply', 'undo') OR verdict <> 'approved')
             AND NOT EXISTS (SELECT 1 FROM executions AS e WHERE e.token_id = t.token_id
                 AND (e.ended_at IS NULL OR e.ended_at >= ?1 OR e.undo_until IS NOT NULL))
         ORDER BY expires_at, token_id LIMIT ?2",
        params![before.micros(), ROWS_MAX],
        |row| id(row, "token_id"),
    )?;
    // Rehearsals hang on house rules, which stay; they go by themselves.
    tx.execute(
        "DELETE FROM executions WHERE id IN (SELECT id FROM executions
             WHERE token_id IN (SELECT token_id FROM tokens WHERE kind = 'house_rules')
                 AND state IN ('ended', 'applied', 'undone') AND ended_at < ?1 AND undo_until IS NULL LIMIT ?2)",
        params![before.micros(), ROWS_MAX],
    )?;
    for token in &old {
        tx.execute("DELETE FROM executions WHERE token_id = ?1", params![token.as_str()])?;
        tx.execute("DELETE FROM tokens WHERE token_id = ?1", params![token.as_str()])?;
    }
    Ok(old.len())
}

/// Plans with no execution left and no question open.
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
