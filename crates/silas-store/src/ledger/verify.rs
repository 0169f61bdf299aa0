//! Reading the whole chain again and finding the first place where it is not what was written.
//!
//! What this cannot find is a tail that was cut off, or a whole chain that was computed anew: compare
//! [`Verification::head`] with a head that was kept elsewhere.

use super::{Kept, look_up, to_column};
use crate::columns::id;
use crate::{Error, ReadTx, Row, params};
use serde_json::Value;
use silas_core::chain::{self, Broken, Chain, Link, Reason};
use silas_core::checkpoint::Head;
use silas_core::event::AuditEvent;
use silas_core::{Digest, Timestamp};
use std::collections::BTreeSet;

/// Entries held in memory at a time.
const BATCH: u32 = 500;
/// Entries that are read again after an upgrade.
const TAIL: u64 = 1000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verification {
    /// How many entries are what was written, from the first on.
    pub entries: u64,
    /// How many texts of these entries were erased. The chain is whole without them.
    pub erased_texts: u64,
    /// The last good entry.
    pub head: Option<(u64, Digest)>,
    pub broken: Option<Broken>,
}

/// Recomputes the chain from its first entry, and the digest of every text that it names and that was not erased.
pub fn verify(tx: &ReadTx<'_>) -> Result<Verification, Error> {
    verify_and(tx, |_, _| Ok(()))
}

/// The same, and shows every good entry to somebody who looks at what it means.
pub(crate) fn verify_and(
    tx: &ReadTx<'_>,
    visit: impl FnMut(&Link, Option<&AuditEvent>) -> Result<(), Error>,
) -> Result<Verification, Error> {
    extend(tx, Chain::start(), visit)
}

/// The same from an entry on that is known to be good. If that entry is not what it was, nothing after it counts.
pub fn verify_after(tx: &ReadTx<'_>, known: Head) -> Result<Verification, Error> {
    let not_there = Verification { entries: 0, erased_texts: 0, head: None, broken: None };
    let broken = |reason| Ok(Verification { broken: Some(Broken { seq: known.seq, reason }), ..not_there.clone() });
    let Some(entry) = super::entries(tx, known.seq, 1)?.into_iter().next().filter(|entry| entry.seq == known.seq)
    else {
        return broken(Reason::Missing);
    };
    if entry.hash != known.hash || chain::hash(entry.seq, entry.at, &entry.body, &entry.prev)? != known.hash {
        return broken(Reason::Altered);
    }
    extend(tx, Chain::after(known, entry.at), |_, _| Ok(()))
}

/// After an upgrade: the last entries still follow one another.
pub(crate) fn check_tail(tx: &ReadTx<'_>) -> Result<(), Error> {
    let Some(last) = super::last(tx)? else { return Ok(()) };
    let before = last.seq.saturating_sub(TAIL);
    let report = match super::entries(tx, before, 1)?.first().filter(|entry| entry.seq == before) {
        Some(known) => verify_after(tx, Head { seq: known.seq, hash: known.hash })?,
        None => verify(tx)?,
    };
    match report.broken {
        Some(broken) => Err(Error::Damaged { what: "the ledger", reason: broken.to_string() }),
        None => Ok(()),
    }
}

fn extend(
    tx: &ReadTx<'_>,
    mut chain: Chain,
    mut visit: impl FnMut(&Link, Option<&AuditEvent>) -> Result<(), Error>,
) -> Result<Verification, Error> {
    let mut texts = Texts::default();
    let broken = loop {
        let batch = tx.query(
            "SELECT seq, at, event, body, prev, hash FROM ledger WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            // Rows before the first number count as well: nobody but a forger puts them there.
            params![if chain.entries() == 0 { i64::MIN } else { to_column(chain.entries()) }, BATCH],
            |row| Ok(raw(row)),
        )?;
        if batch.is_empty() {
            break None;
        }
        let mut good = batch.into_iter().map(|raw| next(tx, &mut chain, &mut texts, &raw, &mut visit));
        if let Some(broken) = good.find_map(Result::transpose) {
            break Some(broken?);
        }
    };
    let head = chain.head().map(|head| (head.seq, head.hash));
    let taken_away = || texts.taken_away().map(|seq| Broken { seq, reason: Reason::TextTakenAway });
    let erased_texts = texts.erased.len() as u64;
    Ok(Verification { entries: chain.entries(), erased_texts, head, broken: broken.or_else(taken_away) })
}

/// Entries whose text was erased, and what the entries after them say about that.
#[derive(Default)]
struct Texts {
    erased: Vec<u64>,
    forgotten: BTreeSet<u64>,
    expired_through: u64,
}

impl Texts {
    /// The first entry whose text was erased without a word. Who erases says so later, so an entry that was read has
    /// everything that is said about it behind it.
    fn taken_away(&self) -> Option<u64> {
        self.erased.iter().copied().find(|seq| *seq > self.expired_through && !self.forgotten.contains(seq))
    }

    fn note(&mut self, seq: u64, event: &AuditEvent) {
        match event {
            AuditEvent::TextForgotten { entry, .. } if *entry < seq => {
                self.forgotten.insert(*entry);
            }
            AuditEvent::TextsExpired { through, .. } if *through < seq => {
                self.expired_through = self.expired_through.max(*through);
            }
            _ => {}
        }
    }
}

/// What is wrong with the next row, if something is.
fn next(
    tx: &ReadTx<'_>,
    chain: &mut Chain,
    texts: &mut Texts,
    raw: &Raw,
    visit: &mut impl FnMut(&Link, Option<&AuditEvent>) -> Result<(), Error>,
) -> Result<Option<Broken>, Error> {
    let seq = chain.entries() + 1;
    let broken = |reason| Ok(Some(Broken { seq, reason }));
    if raw.seq > to_column(seq) {
        return broken(Reason::Missing);
    }
    let Some(link) = raw.link.as_ref().filter(|_| raw.seq == to_column(seq)) else { return broken(Reason::Unreadable) };
    let mut after = chain.clone();
    let body = match after.extend(link) {
        Ok(body) => body,
        Err(broken) => return Ok(Some(broken)),
    };
    // Whatever does not read as one of our events is another version's; that is not an error.
    let event: Option<AuditEvent> = serde_json::from_value(body.clone()).ok();
    if let Err(reason) = check_texts(tx, texts, seq, &body, event.as_ref())? {
        return broken(reason);
    }
    *chain = after;
    visit(link, event.as_ref())?;
    Ok(None)
}

fn check_texts(
    tx: &ReadTx<'_>,
    texts: &mut Texts,
    seq: u64,
    body: &Value,
    event: Option<&AuditEvent>,
) -> Result<Result<(), Reason>, Error> {
    if let Some(event) = event {
        texts.note(seq, event);
    }
    // Of another version's event we do not know which hashes name texts; those that do must fit.
    let (named, must_exist) = match event {
        Some(event) => (event.text().map(|text| text.0).into_iter().collect(), true),
        None => (digests_in(body), false),
    };
    for digest in named {
        match look_up(tx, &digest)? {
            Kept::Text(..) => {}
            Kept::Erased => texts.erased.push(seq),
            Kept::Altered => return Ok(Err(Reason::TextAltered)),
            Kept::Missing if must_exist => return Ok(Err(Reason::TextMissing)),
            Kept::Missing => {}
        }
    }
    Ok(Ok(()))
}

/// A row as it lies there, before anything about it is believed.
struct Raw {
    seq: i64,
    /// What a readable row says.
    link: Option<Link>,
}

fn raw(row: &Row<'_>) -> Raw {
    // A row number is always an integer; it cannot fail to read.
    let seq: i64 = row.get("seq").unwrap_or(i64::MIN);
    let read = || -> Result<Link, Error> {
        let micros: i64 = row.get("at")?;
        let at = Timestamp::from_micros(micros);
        if at.micros() != micros {
            return Err(Error::Damaged { what: "an entry of the ledger", reason: "no such time".to_owned() });
        }
        let (event, body) = (row.get("event")?, row.get("body")?);
        let seq = u64::try_from(seq).unwrap_or(0);
        Ok(Link { seq, at, event, body, prev: id(row, "prev")?, hash: id(row, "hash")? })
    };
    Raw { seq, link: read().ok() }
}

/// Every string in a value that reads as a hash.
fn digests_in(value: &Value) -> Vec<Digest> {
    match value {
        Value::String(text) => Digest::try_from(text.clone()).into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(digests_in).collect(),
        Value::Object(fields) => fields.values().flat_map(digests_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
