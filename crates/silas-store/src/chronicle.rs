//! The Stream as it was said: what the owner wrote and what Silas answered, in order.

use crate::columns::{id, time, to_word, word};
use crate::{Error, ReadTx, Row, Tx, params};
use serde::{Deserialize, Serialize};
use silas_core::{MessageId, Taint, Timestamp};

/// Entries that one call returns at most.
pub const RECENT_MAX: u32 = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    Owner,
    Silas,
    /// Silas passes on what a model said, word for word.
    Model,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub id: MessageId,
    pub sender: Sender,
    pub taint: Taint,
    /// Empty once it was forgotten; nobody says nothing.
    pub text: String,
    pub at: Timestamp,
}

/// Adds an entry to the owner's scope, the only one of this version.
pub fn append(tx: &mut Tx<'_>, entry: &Entry) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO chronicle (id, scope, sender, taint, text, at) VALUES (?1, 'owner', ?2, ?3, ?4, ?5)",
        params![entry.id.as_str(), to_word(&entry.sender)?, to_word(&entry.taint)?, entry.text, entry.at.micros()],
    )?;
    Ok(())
}

/// The last entries of the owner's scope, oldest first.
pub fn recent(tx: &ReadTx<'_>, limit: u32) -> Result<Vec<Entry>, Error> {
    let mut entries = tx.query(
        "SELECT id, sender, taint, text, at FROM chronicle WHERE scope = 'owner' ORDER BY seq DESC LIMIT ?1",
        params![limit.min(RECENT_MAX)],
        stored,
    )?;
    entries.reverse();
    Ok(entries)
}

/// That something was said stays, what it was goes.
pub(crate) fn forget(tx: &mut Tx<'_>, message: &MessageId) -> Result<(), Error> {
    tx.execute("UPDATE chronicle SET text = '' WHERE id = ?1", params![message.as_str()])?;
    Ok(())
}

pub(crate) fn stored(row: &Row<'_>) -> Result<Entry, Error> {
    Ok(Entry {
        id: id(row, "id")?,
        sender: word(row, "sender")?,
        taint: word(row, "taint")?,
        text: row.get("text")?,
        at: time(row, "at")?,
    })
}
