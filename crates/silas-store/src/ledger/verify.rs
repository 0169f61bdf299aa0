//! Reading the whole chain again and finding the first place where it is not what was written.
//!
//! What this cannot find is a tail that was cut off, or a whole chain that was computed anew: compare
//! [`Verification::head`] with a head that was kept elsewhere.

use super::{Kept, first_prev, hash, look_up, to_column};
use crate::columns::id;
use crate::{Error, ReadTx, Row, params};
use serde_json::Value;
use silas_core::checkpoint::Head;
use silas_core::event::{AuditEvent, Text};
use silas_core::{Digest, Timestamp, canonical};
use std::collections::BTreeSet;
use std::fmt;

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

/// The first entry that is not what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    pub seq: u64,
    pub reason: Reason,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// There is a later entry, but not this one.
    Missing,
    /// A column holds something that no version of Silas writes.
    Unreadable,
    /// It is not bound to the entry before it.
    Unbound,
    /// Its hash does not fit its content.
    Altered,
    /// The name beside it is not the name in it.
    Misnamed,
    /// It is older than the entry before it.
    BackInTime,
    /// The text beside it is not the text that was recorded.
    TextAltered,
    /// The text beside it is gone, and was not erased.
    TextMissing,
    /// The text beside it was erased, and no later entry says so.
    TextTakenAway,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            Reason::Missing => "is missing",
            Reason::Unreadable => "cannot be read",
            Reason::Unbound => "does not follow the entry before it",
            Reason::Altered => "was altered",
            Reason::Misnamed => "carries the name of another event",
            Reason::BackInTime => "is older than the entry before it",
            Reason::TextAltered => "has a text that was altered",
            Reason::TextMissing => "has lost its text",
            Reason::TextTakenAway => "has lost its text, and the ledger does not say that it was forgotten",
        };
        write!(f, "Entry {} of the ledger {what}", self.seq)
    }
}

/// Recomputes the chain from its first entry, and the digest of every text that it names and that was not erased.
pub fn verify(tx: &ReadTx<'_>) -> Result<Verification, Error> {
    extend(tx, Chain::after(0, Timestamp::EPOCH, first_prev()))
}

/// The same from an entry on that is known to be good. If that entry is not what it was, nothing after it counts.
pub fn verify_after(tx: &ReadTx<'_>, known: Head) -> Result<Verification, Error> {
    let not_there = Verification { entries: 0, erased_texts: 0, head: None, broken: None };
    let broken = |reason| Ok(Verification { broken: Some(Broken { seq: known.seq, reason }), ..not_there.clone() });
    let Some(entry) = super::entries(tx, known.seq, 1)?.into_iter().next().filter(|entry| entry.seq == known.seq)
    else {
        return broken(Reason::Missing);
    };
    if entry.hash != known.hash || hash(entry.seq, entry.at, &entry.body, &entry.prev)? != known.hash {
        return broken(Reason::Altered);
    }
    extend(tx, Chain::after(known.seq, entry.at, known.hash))
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
        Some(broken) => Err(Error::Damaged { what: "ledger", reason: broken.to_string() }),
        None => Ok(()),
    }
}

fn extend(tx: &ReadTx<'_>, mut so_far: Chain) -> Result<Verification, Error> {
    let broken = loop {
        let batch = tx.query(
            "SELECT seq, at, event, body, prev, hash FROM ledger WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            // Rows before the first number count as well: nobody but a forger puts them there.
            params![if so_far.entries == 0 { i64::MIN } else { to_column(so_far.entries) }, BATCH],
            |row| Ok(raw(row)),
        )?;
        if batch.is_empty() {
            break None;
        }
        if let Some(broken) = so_far.extend(tx, batch)? {
            break Some(broken);
        }
    };
    let head = (so_far.entries > 0).then_some((so_far.entries, so_far.hash));
    let taken_away = || so_far.taken_away().map(|seq| Broken { seq, reason: Reason::TextTakenAway });
    let erased_texts = so_far.erased.len() as u64;
    Ok(Verification { entries: so_far.entries, erased_texts, head, broken: broken.or_else(taken_away) })
}

/// The good part of the chain. Numbers start at 1 without a gap, so the count is also the last number.
struct Chain {
    entries: u64,
    at: Timestamp,
    hash: Digest,
    /// Entries whose text was erased, and what the entries after them say about that.
    erased: Vec<u64>,
    forgotten: BTreeSet<u64>,
    expired_through: u64,
}

/// A row as it lies there, before anything about it is believed.
struct Raw {
    seq: i64,
    /// What a readable row says.
    said: Option<Said>,
}

struct Said {
    at: Timestamp,
    name: String,
    body: String,
    prev: Digest,
    hash: Digest,
}

impl Chain {
    fn after(entries: u64, at: Timestamp, hash: Digest) -> Self {
        Chain { entries, at, hash, erased: Vec::new(), forgotten: BTreeSet::new(), expired_through: 0 }
    }

    /// The first entry whose text was erased without a word. Who erases says so later, so an entry that was read has
    /// everything that is said about it behind it.
    fn taken_away(&self) -> Option<u64> {
        self.erased.iter().copied().find(|seq| *seq > self.expired_through && !self.forgotten.contains(seq))
    }

    fn extend(&mut self, tx: &ReadTx<'_>, batch: Vec<Raw>) -> Result<Option<Broken>, Error> {
        for raw in batch {
            let seq = self.entries + 1;
            if let Err(reason) = self.next(tx, seq, raw)? {
                return Ok(Some(Broken { seq, reason }));
            }
        }
        Ok(None)
    }

    fn next(&mut self, tx: &ReadTx<'_>, seq: u64, raw: Raw) -> Result<Result<(), Reason>, Error> {
        if raw.seq > to_column(seq) {
            return Ok(Err(Reason::Missing));
        }
        let Some(said) = raw.said.filter(|_| raw.seq == to_column(seq)) else { return Ok(Err(Reason::Unreadable)) };
        if said.prev != self.hash {
            return Ok(Err(Reason::Unbound));
        }
        if hash(seq, said.at, &said.body, &said.prev)? != said.hash {
            return Ok(Err(Reason::Altered));
        }
        if said.at < self.at {
            return Ok(Err(Reason::BackInTime));
        }
        let Ok(body) = canonical::read::<Value>(&said.body) else { return Ok(Err(Reason::Unreadable)) };
        if body.get("event").and_then(Value::as_str) != Some(said.name.as_str()) {
            return Ok(Err(Reason::Misnamed));
        }
        if let Err(reason) = self.check_texts(tx, seq, &body)? {
            return Ok(Err(reason));
        }
        (self.entries, self.at, self.hash) = (seq, said.at, said.hash);
        Ok(Ok(()))
    }

    fn check_texts(&mut self, tx: &ReadTx<'_>, seq: u64, body: &Value) -> Result<Result<(), Reason>, Error> {
        // Of another version's event we do not know which hashes name texts; those that do must fit.
        let (named, must_exist) = match serde_json::from_value::<AuditEvent>(body.clone()) {
            Ok(event) => {
                match event {
                    AuditEvent::TextForgotten { entry, .. } if entry < seq => {
                        self.forgotten.insert(entry);
                    }
                    AuditEvent::TextsExpired { through, .. } if through < seq => {
                        self.expired_through = self.expired_through.max(through);
                    }
                    _ => {}
                }
                (text_in(&event).map(|text| text.0).into_iter().collect(), true)
            }
            Err(_) => (digests_in(body), false),
        };
        for digest in named {
            match look_up(tx, &digest)? {
                Kept::Text(_) => {}
                Kept::Erased => self.erased.push(seq),
                Kept::Altered => return Ok(Err(Reason::TextAltered)),
                Kept::Missing if must_exist => return Ok(Err(Reason::TextMissing)),
                Kept::Missing => {}
            }
        }
        Ok(Ok(()))
    }
}

fn raw(row: &Row<'_>) -> Raw {
    let read = || -> Result<Said, Error> {
        let micros: i64 = row.get("at")?;
        let at = Timestamp::from_micros(micros);
        if at.micros() != micros {
            return Err(Error::Damaged { what: "at", reason: "no such time".to_owned() });
        }
        let (name, body) = (row.get("event")?, row.get("body")?);
        Ok(Said { at, name, body, prev: id(row, "prev")?, hash: id(row, "hash")? })
    };
    // A row number is always an integer; it cannot fail to read.
    Raw { seq: row.get("seq").unwrap_or(i64::MIN), said: read().ok() }
}

/// The text that an event names, if it names one.
pub(crate) fn text_in(event: &AuditEvent) -> Option<&Text> {
    match event {
        AuditEvent::DevicePaired { name: text, .. }
        | AuditEvent::MessageReceived { text, .. }
        | AuditEvent::ReplySent { text, .. }
        | AuditEvent::CardOffered { intent: text, .. }
        | AuditEvent::RootGranted { place: text, .. }
        | AuditEvent::WorkStarted { title: text, .. }
        | AuditEvent::ChecksRun { results: text, .. }
        | AuditEvent::StepRun { output: text, .. }
        | AuditEvent::WorkEnded { reason: text, .. }
        | AuditEvent::ApplyConflicted { paths: text, .. }
        | AuditEvent::TaskAdded { title: text, .. }
        | AuditEvent::TaskCompleted { title: text, .. }
        | AuditEvent::TaskReopened { title: text, .. }
        | AuditEvent::MessageDeadLettered { reason: text, .. } => Some(text),
        AuditEvent::InstallationCreated { .. }
        | AuditEvent::RestoredFromBackup { .. }
        | AuditEvent::StreamStarted { .. }
        | AuditEvent::StreamStopped { .. }
        | AuditEvent::HouseRulesSigned { .. }
        | AuditEvent::MessageReplayed { .. }
        | AuditEvent::CardParked { .. }
        | AuditEvent::CardRenewed { .. }
        | AuditEvent::DecisionRecorded { .. }
        | AuditEvent::DecisionRefused { .. }
        | AuditEvent::TokenSpent { .. }
        | AuditEvent::ExecutionBlockedNoApproval { .. }
        | AuditEvent::ExecutionResumed { .. }
        | AuditEvent::WorkApplied { .. }
        | AuditEvent::WorkUndone { .. }
        | AuditEvent::UndoWindowClosed { .. }
        | AuditEvent::InstructionTaken { .. }
        | AuditEvent::InstructionRefused { .. }
        | AuditEvent::DeadLetterRevived { .. }
        | AuditEvent::TextForgotten { .. }
        | AuditEvent::TextsExpired { .. } => None,
    }
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
