//! Dead letters: messages that were tried often enough. They hold up nothing, and nothing forgets them.

use super::{Kind, Name};
use crate::columns::{id, json, word};
use crate::{Error, ReadTx, Row, Tx, params};
use serde_json::Value;
use silas_core::{MessageId, Scope};

/// Dead letters that one call returns at most.
pub const DEAD_MAX: u32 = 1000;

/// A message that was put aside; it holds up nothing and is tried again only if somebody says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dead {
    pub message: MessageId,
    pub queue: Name,
    pub kind: Kind,
    pub body: Value,
    pub trace: MessageId,
    pub attempts: u32,
}

/// What was put aside in this scope, oldest first; where that is more than [`DEAD_MAX`], the newest of it.
pub fn dead(tx: &ReadTx<'_>, scope: &Scope) -> Result<Vec<Dead>, Error> {
    let mut newest = tx.query(
        "SELECT message_id, queue, kind, body, trace_id, attempts FROM queue WHERE state = 'dead' AND scope = ?1
         ORDER BY enqueued_seq DESC LIMIT ?2",
        params![scope.to_string(), DEAD_MAX],
        dead_letter,
    )?;
    newest.reverse();
    Ok(newest)
}

/// What the messages are called that were put aside, of every scope, the newest first.
pub(crate) fn dead_ids(tx: &ReadTx<'_>) -> Result<Vec<MessageId>, Error> {
    let sql = "SELECT message_id FROM queue WHERE state = 'dead' ORDER BY enqueued_seq DESC LIMIT ?1";
    tx.query(sql, params![DEAD_MAX], |row| id(row, "message_id"))
}

/// A message that was put aside is delivered again, as if it had come now: behind the others of its key, with all its
/// attempts before it. False if it is not among the dead.
pub fn revive(tx: &mut Tx<'_>, message: &MessageId) -> Result<bool, Error> {
    let now = tx.clock.now();
    let n_revived = tx.execute(
        "UPDATE queue SET state = 'ready', is_dead = 0, attempts = 0, available_at = ?2, fence = fence + 1,
             enqueued_seq = (SELECT max(enqueued_seq) + 1 FROM queue)
         WHERE message_id = ?1 AND state = 'dead'",
        params![message.as_str(), now.micros()],
    )?;
    Ok(n_revived == 1)
}

/// Whether a message is still to be dealt with that this one began, itself included. Only what waits is looked at, and
/// that is little.
pub(crate) fn is_open(tx: &ReadTx<'_>, trace: &MessageId) -> Result<bool, Error> {
    let found = tx.query_one(
        "SELECT 1 FROM queue WHERE queue IN ('turns', 'plans', 'work', 'waiting') AND is_dead = 0 AND trace_id = ?1 LIMIT 1",
        params![trace.as_str()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// What was put aside and began with this message is given up.
pub(crate) fn forget(tx: &mut Tx<'_>, trace: &MessageId) -> Result<usize, Error> {
    tx.execute("DELETE FROM queue WHERE state = 'dead' AND trace_id = ?1", params![trace.as_str()])
}

fn dead_letter(row: &Row<'_>) -> Result<Dead, Error> {
    Ok(Dead {
        message: id(row, "message_id")?,
        queue: word(row, "queue")?,
        kind: word(row, "kind")?,
        body: json(row, "body")?,
        trace: id(row, "trace_id")?,
        attempts: row.get("attempts")?,
    })
}
