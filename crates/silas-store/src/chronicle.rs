//! The Stream as it was said: what somebody wrote and what Silas answered, in order, each conversation for itself.

use crate::columns::{id, optional_id, time, to_word, word};
use crate::{Error, ReadTx, Row, Tx, params};
use serde::{Deserialize, Serialize};
use silas_core::message::Answering;
use silas_core::{MessageId, Scope, Taint, Timestamp};

/// Entries that one call returns at most.
pub const RECENT_MAX: u32 = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// A device of the owner's signed it, freshly.
    Owner,
    /// It came by a door of the owner's, and nobody knows who said it.
    Somebody,
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
    /// Nothing for what answers nobody, and for what earlier versions wrote.
    pub answers: Option<Answering>,
    pub at: Timestamp,
}

/// Adds an entry to the conversation of this scope.
pub fn append(tx: &mut Tx<'_>, scope: &Scope, entry: &Entry) -> Result<(), Error> {
    let (sender, taint) = (to_word(&entry.sender)?, to_word(&entry.taint)?);
    let answers = entry.answers.as_ref().map(|answers| answers.message.as_str());
    let came_of = entry.answers.as_ref().map(|answers| to_word(&answers.came_of)).transpose()?;
    tx.execute(
        "INSERT INTO chronicle (id, scope, sender, taint, text, answers, came_of, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![entry.id.as_str(), scope.to_string(), sender, taint, entry.text, answers, came_of, entry.at.micros()],
    )?;
    Ok(())
}

/// The last entries of this scope, oldest first.
pub fn recent(tx: &ReadTx<'_>, scope: &Scope, limit: u32) -> Result<Vec<Entry>, Error> {
    let mut entries = tx.query(
        "SELECT id, sender, taint, text, answers, came_of, at FROM chronicle WHERE scope = ?1
         ORDER BY seq DESC LIMIT ?2",
        params![scope.to_string(), limit.min(RECENT_MAX)],
        stored,
    )?;
    entries.reverse();
    Ok(entries)
}

/// An entry with its place in the order.
pub(crate) fn get(tx: &ReadTx<'_>, message: &MessageId) -> Result<Option<(i64, Entry)>, Error> {
    tx.query_one(
        "SELECT seq, id, sender, taint, text, answers, came_of, at FROM chronicle WHERE id = ?1",
        params![message.as_str()],
        |row| Ok((row.get("seq")?, stored(row)?)),
    )
}

/// That something was said stays, what it was goes.
pub(crate) fn forget(tx: &mut Tx<'_>, message: &MessageId) -> Result<(), Error> {
    tx.execute("UPDATE chronicle SET text = '' WHERE id = ?1", params![message.as_str()])?;
    Ok(())
}

pub(crate) fn stored(row: &Row<'_>) -> Result<Entry, Error> {
    let answers = match optional_id(row, "answers")? {
        Some(message) => Some(Answering { message, came_of: word(row, "came_of")? }),
        None => None,
    };
    Ok(Entry {
        id: id(row, "id")?,
        sender: word(row, "sender")?,
        taint: word(row, "taint")?,
        text: row.get("text")?,
        answers,
        at: time(row, "at")?,
    })
}
