//! The ledger: what happened, in order, each entry bound to the one before by its hash.
//!
//! What an entry's hash covers is [`silas_core::chain`]'s matter. Words of people and programs are not in it: they lie
//! beside the chain under a salted digest and can be forgotten without breaking it.
//!
//! A chain by itself cannot show that its tail was cut. Signed heads lie beside it ([`crate::checkpoints`]); whoever keeps
//! a head elsewhere knows more than both.

mod named;
mod verify;

pub use named::named;
pub use silas_core::chain::{Broken, Reason};
pub use verify::{Verification, verify, verify_after};
pub(crate) use verify::{check_tail, verify_and};

use crate::columns::{id, time};
use crate::{Error, ReadTx, Row, Tx, params};
use serde::{Deserialize, Serialize};
use silas_core::chain::{self, Link};
use silas_core::event::{AuditEvent, SALT_BYTES, Text};
use silas_core::export::SaltedText;
use silas_core::{CardId, Digest, EventId, ExecutionId, Random, Timestamp, canonical};
use std::collections::{BTreeMap, BTreeSet};

/// Entries that one call returns at most; a page of Activity has far fewer.
pub const ENTRIES_MAX: u32 = 1000;
/// Longest text beside the chain, in bytes. Outputs are cut to size long before they come here; the list of all files that
/// a large piece of work changed is the longest there is.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub seq: u64,
    pub at: Timestamp,
    /// The event's name, also where this version does not know it.
    pub name: String,
    /// `None` for an event of another version: it cannot be understood here, but it can be verified.
    pub event: Option<AuditEvent>,
    /// The event's canonical JSON, as it was hashed.
    pub body: String,
    pub prev: Digest,
    pub hash: Digest,
}

impl Entry {
    pub(crate) fn into_link(self) -> Link {
        Link { seq: self.seq, at: self.at, event: self.name, body: self.body, prev: self.prev, hash: self.hash }
    }
}

/// A text with the salt that its digest was taken with; what lies beside the chain, or is on its way there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Salted {
    digest: Digest,
    salt: String,
    text: String,
}

impl Salted {
    pub(crate) fn new(random: &dyn Random, text: &str) -> Result<Self, Error> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Error::TextTooLong { n_bytes: text.len(), max: TEXT_BYTES_MAX });
        }
        let mut salt = [0u8; SALT_BYTES];
        random.fill(&mut salt);
        let Text(digest) = Text::of(&salt, text);
        let salt: String = salt.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Salted { digest, salt, text: text.to_owned() })
    }

    /// What an event may say of it.
    pub fn name(&self) -> Text {
        Text(self.digest)
    }
}

impl Tx<'_> {
    /// Keeps a text beside the chain and gives what an event may say of it.
    pub fn text(&mut self, text: &str) -> Result<Text, Error> {
        let salted = Salted::new(self.random, text)?;
        self.keep(&salted)?;
        Ok(salted.name())
    }

    /// Keeps a text that was salted elsewhere. One that does not fit its digest was damaged on its way.
    pub(crate) fn keep(&mut self, text: &Salted) -> Result<(), Error> {
        let fits = Text::read_salt(&text.salt).is_some_and(|salt| Text::of(&salt, &text.text) == text.name());
        if !fits {
            return Err(Error::Damaged {
                what: "a text of the ledger",
                reason: "it is not the text that was recorded".to_owned(),
            });
        }
        // The same salt and text are the same row; only a test's random bytes repeat.
        self.execute(
            "INSERT INTO texts (digest, salt, text) VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO NOTHING",
            params![text.digest.to_string(), text.salt, text.text],
        )?;
        Ok(())
    }

    /// Erases a text, and its salt with it. False if it was erased before.
    pub(crate) fn erase(&mut self, text: &Text) -> Result<bool, Error> {
        let now = self.clock.now();
        let n_erased = self.execute(
            "UPDATE texts SET text = NULL, salt = NULL, erased_at = ?2 WHERE digest = ?1 AND text IS NOT NULL",
            params![text.0.to_string(), now.micros()],
        )?;
        Ok(n_erased == 1)
    }

    /// Appends an event, in the same transaction as the fact that it records. Gives what the event is called, and where in the
    /// chain it stands. A fact that refers to it keeps the name.
    ///
    /// Its time is never before that of the entry above it, whatever the clock says.
    pub fn record(&mut self, event: &AuditEvent) -> Result<Recorded, Error> {
        let now = self.clock.now();
        self.record_at(event, now)
    }

    /// The same for a fact that was judged by an instant: the entry carries it, and whoever checks later judges alike.
    pub fn record_at(&mut self, event: &AuditEvent, now: Timestamp) -> Result<Recorded, Error> {
        let id = self.name_event()?;
        let seq = self.append(&id, event, now)?;
        Ok(Recorded { id, seq })
    }

    /// The same for an event that had its name before it came here.
    pub(crate) fn record_as(&mut self, id: EventId, event: &AuditEvent) -> Result<Recorded, Error> {
        let now = self.clock.now();
        let seq = self.append(&id, event, now)?;
        Ok(Recorded { id, seq })
    }

    fn append(&mut self, id: &EventId, event: &AuditEvent, now: Timestamp) -> Result<u64, Error> {
        let last = last(self)?;
        let (seq, at, prev) = match last {
            Some(last) => (last.seq + 1, now.max(last.at), last.hash),
            None => (1, now, chain::first_prev()),
        };
        let body = canonical::text(event)?;
        let hash = chain::hash(seq, at, &body, &prev)?;
        self.execute(
            "INSERT INTO ledger (seq, at, event, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![to_column(seq), at.micros(), event.name(), body, prev.to_string(), hash.to_string()],
        )?;
        self.execute("INSERT INTO ledger_ids (event_id, seq) VALUES (?1, ?2)", params![id.as_str(), to_column(seq)])?;
        self.note_head(seq);
        Ok(seq)
    }
}

/// An entry that was appended: what it is called, and its number in the chain of today.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    pub id: EventId,
    pub seq: u64,
}

/// Where in the chain an event stands. None if the ledger does not have it.
pub fn place_of(tx: &ReadTx<'_>, event: &EventId) -> Result<Option<u64>, Error> {
    let sql = "SELECT seq FROM ledger_ids WHERE event_id = ?1";
    let seq = tx.query_one(sql, params![event.as_str()], |row| Ok(row.get::<_, i64>("seq")?))?;
    Ok(seq.and_then(|seq| u64::try_from(seq).ok()))
}

/// The entries from `from_seq` on, oldest first.
pub fn entries(tx: &ReadTx<'_>, from_seq: u64, limit: u32) -> Result<Vec<Entry>, Error> {
    tx.query(
        "SELECT seq, at, event, body, prev, hash FROM ledger WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
        params![to_column(from_seq), limit.min(ENTRIES_MAX)],
        entry,
    )
}

/// The number of the first entry from an instant on; where there is none, of the one that comes next. Times never go back
/// along the chain, so halving finds it, and no index by time is kept.
pub fn first_since(tx: &ReadTx<'_>, from: Timestamp) -> Result<u64, Error> {
    let (mut first, mut after) = (1, last(tx)?.map_or(0, |last| last.seq) + 1);
    while first < after {
        let middle = first + (after - first) / 2;
        let sql = "SELECT at FROM ledger WHERE seq >= ?1 ORDER BY seq LIMIT 1";
        let at = tx.query_one(sql, params![to_column(middle)], |row| time(row, "at"))?;
        if at.is_some_and(|at| at < from) {
            first = middle + 1;
        } else {
            after = middle;
        }
    }
    Ok(first)
}

/// The last entries, oldest first.
pub fn latest(tx: &ReadTx<'_>, limit: u32) -> Result<Vec<Entry>, Error> {
    before(tx, u64::MAX, limit)
}

/// The last entries before one, oldest first.
pub fn before(tx: &ReadTx<'_>, seq: u64, limit: u32) -> Result<Vec<Entry>, Error> {
    let mut entries = tx.query(
        "SELECT seq, at, event, body, prev, hash FROM ledger WHERE seq >= 1 AND seq < ?1 ORDER BY seq DESC LIMIT ?2",
        params![i64::try_from(seq).unwrap_or(i64::MAX), limit.min(ENTRIES_MAX)],
        entry,
    )?;
    entries.reverse();
    Ok(entries)
}

/// The part of the chain after an entry, oldest first: what somebody needs who knows that entry and not the rest.
pub fn links_after(tx: &ReadTx<'_>, seq: u64, limit: u32) -> Result<Vec<Link>, Error> {
    let entries = entries(tx, seq.saturating_add(1), limit)?;
    Ok(entries.into_iter().map(Entry::into_link).collect())
}

/// Every execution that an entry says was spent for. Rows of executions go with their time; entries stay.
pub fn spent_executions(tx: &ReadTx<'_>) -> Result<BTreeSet<ExecutionId>, Error> {
    let (mut spent, mut after) = (BTreeSet::new(), 0);
    loop {
        let batch = entries(tx, after + 1, ENTRIES_MAX)?;
        let Some(last) = batch.last() else { return Ok(spent) };
        after = last.seq;
        spent.extend(batch.into_iter().filter_map(|entry| match entry.event {
            Some(AuditEvent::TokenSpent { execution, .. }) => Some(execution),
            _ => None,
        }));
    }
}

/// What each of these cards asked for when it was offered last, and the words it was shown with.
pub fn offered(tx: &ReadTx<'_>, cards: &BTreeSet<CardId>) -> Result<BTreeMap<CardId, (Digest, Digest)>, Error> {
    let (mut offered, mut after) = (BTreeMap::new(), 0);
    loop {
        let batch = entries(tx, after + 1, ENTRIES_MAX)?;
        let Some(last) = batch.last() else { return Ok(offered) };
        after = last.seq;
        offered.extend(batch.into_iter().filter_map(|entry| match entry.event {
            Some(AuditEvent::CardOffered { card, plan_hash, shown, .. }) if cards.contains(&card) => {
                Some((card, (plan_hash, shown)))
            }
            _ => None,
        }));
    }
}

/// The text beside the chain with its salt, for an export. `None` if it was erased or does not fit.
pub(crate) fn salted_text(tx: &ReadTx<'_>, text: &Text) -> Result<Option<SaltedText>, Error> {
    Ok(match look_up(tx, &text.0)? {
        Kept::Text(salt, text) => Some(SaltedText { salt, text }),
        Kept::Erased | Kept::Altered | Kept::Missing => None,
    })
}

/// The text beside the chain. `None` if it was erased; a text that does not fit its digest is not shown at all.
pub fn text_of(tx: &ReadTx<'_>, text: &Text) -> Result<Option<String>, Error> {
    match look_up(tx, &text.0)? {
        Kept::Text(_, text) => Ok(Some(text)),
        Kept::Erased => Ok(None),
        Kept::Altered | Kept::Missing => Err(Error::Damaged {
            what: "a text of the ledger",
            reason: "it is not the text that was recorded".to_owned(),
        }),
    }
}

/// The highest time ever recorded. A clock that was set back does not bring it back.
pub fn last_time(tx: &ReadTx<'_>) -> Result<Option<Timestamp>, Error> {
    Ok(last(tx)?.map(|last| last.at))
}

/// The last entry's number and hash.
pub fn head(tx: &ReadTx<'_>) -> Result<Option<(u64, Digest)>, Error> {
    Ok(last(tx)?.map(|last| (last.seq, last.hash)))
}

/// What the next entry is bound to.
pub(crate) struct Last {
    pub(crate) seq: u64,
    at: Timestamp,
    hash: Digest,
}

pub(crate) fn last(tx: &ReadTx<'_>) -> Result<Option<Last>, Error> {
    tx.query_one("SELECT seq, at, hash FROM ledger WHERE seq >= 1 ORDER BY seq DESC LIMIT 1", [], |row| {
        Ok(Last { seq: seq(row)?, at: time(row, "at")?, hash: id(row, "hash")? })
    })
}

/// What became of a text.
enum Kept {
    /// With its salt.
    Text(String, String),
    Erased,
    Altered,
    Missing,
}

fn look_up(tx: &ReadTx<'_>, digest: &Digest) -> Result<Kept, Error> {
    let sql = "SELECT salt, text, erased_at FROM texts WHERE digest = ?1";
    let kept = tx.query_one(sql, params![digest.to_string()], |row| {
        let (salt, text): (Option<String>, Option<String>) = (row.get("salt")?, row.get("text")?);
        let erased_at: Option<i64> = row.get("erased_at")?;
        let fits =
            |salt: &str, text: &str| Text::read_salt(salt).is_some_and(|salt| Text::of(&salt, text).0 == *digest);
        Ok(match (salt, text) {
            (Some(salt), Some(text)) if fits(&salt, &text) => Kept::Text(salt, text),
            (None, None) if erased_at.is_some() => Kept::Erased,
            _ => Kept::Altered,
        })
    })?;
    Ok(kept.unwrap_or(Kept::Missing))
}

fn entry(row: &Row<'_>) -> Result<Entry, Error> {
    let body: String = row.get("body")?;
    Ok(Entry {
        seq: seq(row)?,
        at: time(row, "at")?,
        name: row.get("event")?,
        // Whatever does not read as one of our events is another version's; that is not an error.
        event: canonical::read(&body).ok(),
        body,
        prev: id(row, "prev")?,
        hash: id(row, "hash")?,
    })
}

fn seq(row: &Row<'_>) -> Result<u64, Error> {
    let seq: i64 = row.get("seq")?;
    u64::try_from(seq)
        .map_err(|_| Error::Damaged { what: "an entry of the ledger", reason: format!("{seq} is negative") })
}

/// No ledger gets this long; a number beyond it names no entry.
pub(crate) fn to_column(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
