//! The review queue: every question to the owner, open, parked or answered.

use crate::columns::{json, to_json, to_word};
use crate::{Error, ReadTx, Tx, params};
use silas_core::CardId;
use silas_core::card::{Card, Risk};

/// Cards that one statement returns at most.
pub const CARDS_MAX: u32 = 1000;

/// `subject` is what the card is about: the id of a work item or an execution, or a path. Fails if the id is taken.
pub fn insert(tx: &mut Tx<'_>, card: &Card, subject: &str) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO cards (id, state, created_at, expires_at, subject, card) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            card.id.as_str(),
            to_word(&card.state)?,
            card.created_at.micros(),
            expires_at(card),
            subject,
            to_json(card)?
        ],
    )?;
    Ok(())
}

pub fn get(tx: &ReadTx<'_>, id: &CardId) -> Result<Option<Card>, Error> {
    tx.query_one("SELECT card FROM cards WHERE id = ?1", params![id.as_str()], |row| json(row, "card"))
}

/// How risky what this card asks for was said to be. `None` if it says nothing of it, or is not kept any more.
pub fn risk(tx: &ReadTx<'_>, id: &CardId) -> Result<Option<Risk>, Error> {
    let risk =
        tx.query_one("SELECT card -> '$.face.risk' AS risk FROM cards WHERE id = ?1", params![id.as_str()], |row| {
            match row.get::<_, Option<String>>("risk")? {
                Some(_) => json(row, "risk"),
                None => Ok(None),
            }
        })?;
    Ok(risk.flatten())
}

/// Replaces the card of this id. Its subject and its place in the queue stay.
pub fn update(tx: &mut Tx<'_>, card: &Card) -> Result<(), Error> {
    let n_changed = tx.execute(
        "UPDATE cards SET state = ?2, expires_at = ?3, card = ?4 WHERE id = ?1",
        params![card.id.as_str(), to_word(&card.state)?, expires_at(card), to_json(card)?],
    )?;
    if n_changed == 0 {
        return Err(Error::Missing { what: "card", id: card.id.to_string() });
    }
    Ok(())
}

/// What waits for the owner, parked cards included, oldest first: those behind `after`, at most [`CARDS_MAX`]. Begin
/// with `None`, go on with the last of each page; an empty page is the end.
pub fn page_open(tx: &ReadTx<'_>, after: Option<&Card>) -> Result<Vec<Card>, Error> {
    let (created_at, id) = after.map_or((i64::MIN, ""), |card| (card.created_at.micros(), card.id.as_str()));
    tx.query(
        "SELECT card FROM cards WHERE state IN ('open', 'parked') AND (created_at, id) > (?1, ?2)
         ORDER BY created_at, id LIMIT ?3",
        params![created_at, id, CARDS_MAX],
        |row| json(row, "card"),
    )
}

/// All of what waits for the owner, oldest first.
pub fn list_open(tx: &ReadTx<'_>) -> Result<Vec<Card>, Error> {
    let mut all = Vec::new();
    loop {
        let page = page_open(tx, all.last())?;
        let is_last = page.len() < CARDS_MAX as usize;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// All cards about one thing, oldest first.
pub fn find_by_subject(tx: &ReadTx<'_>, subject: &str) -> Result<Vec<Card>, Error> {
    tx.query(
        "SELECT card FROM cards WHERE subject = ?1 ORDER BY created_at, id LIMIT ?2",
        params![subject, CARDS_MAX],
        |row| json(row, "card"),
    )
}

fn expires_at(card: &Card) -> Option<i64> {
    card.expires_at().map(|at| at.micros())
}

/// What a card is about, as it was said when it was kept.
pub fn subject(tx: &ReadTx<'_>, id: &CardId) -> Result<Option<String>, Error> {
    tx.query_one("SELECT subject FROM cards WHERE id = ?1", params![id.as_str()], |row| Ok(row.get(0)?))
}

/// Whether it waits for the owner.
pub(crate) fn is_open(tx: &ReadTx<'_>, id: &CardId) -> Result<bool, Error> {
    let sql = "SELECT 1 FROM cards WHERE id = ?1 AND state IN ('open', 'parked')";
    Ok(tx.query_one(sql, params![id.as_str()], |_| Ok(()))?.is_some())
}

/// Whether any card about this waits for the owner.
pub(crate) fn has_open(tx: &ReadTx<'_>, subject: &str) -> Result<bool, Error> {
    let sql = "SELECT 1 FROM cards WHERE subject = ?1 AND state IN ('open', 'parked') LIMIT 1";
    Ok(tx.query_one(sql, params![subject], |_| Ok(()))?.is_some())
}

/// The card goes, and what the decision about it was about. The decision itself names hashes only and stays.
pub(crate) fn forget(tx: &mut Tx<'_>, id: &CardId) -> Result<(), Error> {
    tx.execute("UPDATE tokens SET payload = '' WHERE card_id = ?1", params![id.as_str()])?;
    tx.execute("DELETE FROM cards WHERE id = ?1", params![id.as_str()])?;
    Ok(())
}
