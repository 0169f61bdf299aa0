//! Messages that were accepted and whether they were dealt with, so that a restart goes on with the rest.

use crate::columns::{id, time, to_word, word};
use crate::{Error, ReadTx, Row, Tx, params};
use silas_core::MessageId;
use silas_core::message::Message;

/// Messages that one call returns at most; after dealing with them, ask again.
pub const UNPROCESSED_MAX: u32 = 1000;

/// Takes a message in. False if it was taken in before.
pub fn accept(tx: &mut Tx<'_>, message: &Message) -> Result<bool, Error> {
    let n_new = tx.execute(
        "INSERT INTO inbound (message_id, state, text, channel, taint, at) VALUES (?1, 'accepted', ?2, ?3, ?4, ?5)
         ON CONFLICT (message_id) DO NOTHING",
        params![
            message.id.as_str(),
            message.text,
            to_word(&message.channel)?,
            to_word(&message.taint)?,
            message.at.micros()
        ],
    )?;
    Ok(n_new == 1)
}

/// The message was dealt with. False if it already was, or was never taken in.
pub fn mark_processed(tx: &mut Tx<'_>, message: &MessageId) -> Result<bool, Error> {
    let n_marked = tx.execute(
        "UPDATE inbound SET state = 'processed' WHERE message_id = ?1 AND state = 'accepted'",
        params![message.as_str()],
    )?;
    Ok(n_marked == 1)
}

/// The message can be dealt with only when something is decided: the directory `what`, for example.
pub fn wait_for(tx: &mut Tx<'_>, message: &MessageId, what: &str) -> Result<bool, Error> {
    let n_waiting = tx.execute(
        "UPDATE inbound SET state = 'waiting', waits_for = ?2 WHERE message_id = ?1 AND state = 'accepted'",
        params![message.as_str(), what],
    )?;
    Ok(n_waiting == 1)
}

/// It was decided: what waited for it is to be dealt with now, oldest first.
pub fn go_on(tx: &mut Tx<'_>, what: &str) -> Result<Vec<Message>, Error> {
    let waiting = tx.query(
        "SELECT message_id, text, channel, taint, at FROM inbound WHERE state = 'waiting' AND waits_for = ?1
         ORDER BY at, message_id LIMIT ?2",
        params![what, UNPROCESSED_MAX],
        message,
    )?;
    tx.execute("UPDATE inbound SET state = 'accepted' WHERE state = 'waiting' AND waits_for = ?1", params![what])?;
    Ok(waiting)
}

/// It was declined: what waited for it is done with.
pub fn give_up(tx: &mut Tx<'_>, what: &str) -> Result<usize, Error> {
    tx.execute("UPDATE inbound SET state = 'processed' WHERE state = 'waiting' AND waits_for = ?1", params![what])
}

/// Oldest first.
pub fn list_unprocessed(tx: &ReadTx<'_>) -> Result<Vec<Message>, Error> {
    tx.query(
        "SELECT message_id, text, channel, taint, at FROM inbound WHERE state = 'accepted' ORDER BY at, message_id LIMIT ?1",
        params![UNPROCESSED_MAX],
        message,
    )
}

fn message(row: &Row<'_>) -> Result<Message, Error> {
    Ok(Message {
        id: id(row, "message_id")?,
        channel: word(row, "channel")?,
        text: row.get("text")?,
        at: time(row, "at")?,
        taint: word(row, "taint")?,
    })
}
