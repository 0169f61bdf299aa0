//! The review queue: every question to the owner, open, parked or answered.
//!
//! A card's scope says in whose conversation it came up, and lists are of one scope. Answering is the owner's whosever it is, so
//! a card that is called by its id is found whatever its scope.
//!
//! What a card says and asks for is in the ledger with the same transaction, whoever writes it: a face that no entry tells of
//! reads like one that somebody changed by hand.

use crate::columns::{id, json, to_json, to_word};
use crate::{Error, ReadTx, Tx, params};
use silas_core::card::{Card, CardKind, Risk};
use silas_core::event::AuditEvent;
use silas_core::token::Offer;
use silas_core::{CardId, Scope, Timestamp};

/// Cards that one statement returns at most.
pub const CARDS_MAX: u32 = 1000;

/// `subject` is what the card is about: the id of a work item or an execution, or a path. Fails if the id is taken.
pub fn insert(tx: &mut Tx<'_>, scope: &Scope, card: &Card, subject: &str) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO cards (id, scope, state, created_at, expires_at, subject, card) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            card.id.as_str(),
            scope.to_string(),
            to_word(&card.state)?,
            card.created_at.micros(),
            expires_at(card),
            subject,
            to_json(card)?
        ],
    )?;
    tell(tx, card)
}

/// The question that a card asks with its offer. An offer to undo asks nothing: it may be left alone.
fn asked(card: &Card) -> Option<&Offer> {
    card.offer.as_ref().filter(|_| !matches!(card.face.kind, CardKind::Done | CardKind::Report))
}

/// The ledger hears what a card shows.
fn tell(tx: &mut Tx<'_>, card: &Card) -> Result<(), Error> {
    let id = card.id.clone();
    let event = match asked(card) {
        Some(offer) => {
            let intent = tx.text(&card.face.intent)?;
            let (kind, plan_hash, shown) = (offer.kind, offer.plan_hash, offer.shown);
            AuditEvent::CardOffered { card: id, kind, plan_hash, shown, intent }
        }
        None => AuditEvent::CardShown { card: id, shown: card.face.hash()? },
    };
    tx.record(&event)?;
    Ok(())
}

/// The same words and the same question, though perhaps with more time for it.
fn shows_the_same(one: &Card, other: &Card) -> bool {
    let asks = |card: &Card| asked(card).map(|offer| (offer.kind, offer.plan_hash, offer.shown));
    one.face == other.face && asks(one) == asks(other)
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
    let missing = || Error::Missing { what: "card", id: card.id.to_string() };
    let before = get(tx, &card.id)?.ok_or_else(missing)?;
    tx.execute(
        "UPDATE cards SET state = ?2, expires_at = ?3, card = ?4 WHERE id = ?1",
        params![card.id.as_str(), to_word(&card.state)?, expires_at(card), to_json(card)?],
    )?;
    if shows_the_same(&before, card) {
        return Ok(());
    }
    tell(tx, card)
}

/// What waits for an answer, parked cards included, oldest first: those behind `after`, at most [`CARDS_MAX`]. Begin
/// with `None`, go on with the last of each page; an empty page is the end.
pub fn page_open(tx: &ReadTx<'_>, scope: &Scope, after: Option<&Card>) -> Result<Vec<Card>, Error> {
    let (created_at, id) = after.map_or((i64::MIN, ""), |card| (card.created_at.micros(), card.id.as_str()));
    tx.query(
        "SELECT card FROM cards WHERE scope = ?1 AND state IN ('open', 'parked') AND (created_at, id) > (?2, ?3)
         ORDER BY created_at, id LIMIT ?4",
        params![scope.to_string(), created_at, id, CARDS_MAX],
        |row| json(row, "card"),
    )
}

/// All of what waits for an answer, oldest first.
pub fn list_open(tx: &ReadTx<'_>, scope: &Scope) -> Result<Vec<Card>, Error> {
    let mut all = Vec::new();
    loop {
        let page = page_open(tx, scope, all.last())?;
        let is_last = page.len() < CARDS_MAX as usize;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// The same of every scope, one scope after the other: for what is done to all cards, whosever they are.
pub fn list_open_everywhere(tx: &ReadTx<'_>) -> Result<Vec<Card>, Error> {
    let sql = "SELECT DISTINCT scope FROM cards WHERE state IN ('open', 'parked') ORDER BY scope";
    let scopes: Vec<Scope> = tx.query(sql, params![], |row| id(row, "scope"))?;
    let lists: Result<Vec<_>, Error> = scopes.iter().map(|scope| list_open(tx, scope)).collect();
    Ok(lists?.concat())
}

/// What waits for an answer and was not parked, oldest first. As many as somebody may still answer.
pub fn list_asking(tx: &ReadTx<'_>, scope: &Scope) -> Result<Vec<Card>, Error> {
    let sql = "SELECT card FROM cards WHERE scope = ?1 AND state = 'open' ORDER BY created_at, id";
    tx.query(sql, params![scope.to_string()], |row| json(row, "card"))
}

/// So many parked cards behind the first `from`, the newest first.
pub fn page_parked(tx: &ReadTx<'_>, scope: &Scope, from: usize, limit: usize) -> Result<Vec<Card>, Error> {
    let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    tx.query(
        "SELECT card FROM cards WHERE scope = ?1 AND state = 'parked' ORDER BY created_at DESC, id DESC LIMIT ?2 OFFSET ?3",
        params![scope.to_string(), number(limit), number(from)],
        |row| json(row, "card"),
    )
}

/// Counted in the index; no card is read for it.
pub fn n_parked(tx: &ReadTx<'_>, scope: &Scope) -> Result<usize, Error> {
    let sql = "SELECT count(*) FROM cards WHERE scope = ?1 AND state = 'parked'";
    let n: Option<i64> = tx.query_one(sql, params![scope.to_string()], |row| Ok(row.get(0)?))?;
    Ok(n.and_then(|n| usize::try_from(n).ok()).unwrap_or_default())
}

/// The cards about one thing, oldest first; where there are more than [`CARDS_MAX`], the newest of them.
pub fn find_by_subject(tx: &ReadTx<'_>, scope: &Scope, subject: &str) -> Result<Vec<Card>, Error> {
    let mut newest = tx.query(
        "SELECT card FROM cards WHERE subject = ?1 AND scope = ?2 ORDER BY created_at DESC, id DESC LIMIT ?3",
        params![subject, scope.to_string(), CARDS_MAX],
        |row| json(row, "card"),
    )?;
    newest.reverse();
    Ok(newest)
}

/// What the cards about one thing are called, in whichever scope they are; of more than [`CARDS_MAX`] the newest.
pub(crate) fn of_subject(tx: &ReadTx<'_>, subject: &str) -> Result<Vec<CardId>, Error> {
    let sql = "SELECT id FROM cards WHERE subject = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2";
    tx.query(sql, params![subject, CARDS_MAX], |row| id(row, "id"))
}

/// The open cards of every scope whose time is over, the one that is longest over first, at most [`CARDS_MAX`]. Parked ones are not looked
/// at, however many there are.
pub fn list_late(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Card>, Error> {
    tx.query(
        "SELECT card FROM cards WHERE state = 'open' AND expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2",
        params![now.micros(), CARDS_MAX],
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
