//! The ledger: what happened, in order, each entry bound to the one before by its hash.
//!
//! The hash of an entry is SHA-256 of the canonical JSON array `["v1", "ledger", seq, at, body, prev]`, where `at` is the
//! instant as it is written on the wire and `body` is the event's canonical JSON as a string. Words of people and programs
//! are not in it: they lie beside the chain under a salted digest and can be forgotten without breaking it.
//!
//! A chain by itself cannot show that its tail was cut. Signed heads lie beside it ([`crate::checkpoints`]); whoever keeps
//! a head elsewhere knows more than both.

mod verify;

pub use verify::{Broken, Reason, Verification, verify, verify_after};
pub(crate) use verify::{check_tail, text_in};

use crate::columns::{id, time};
use crate::{Error, ReadTx, Row, Tx, params};
use serde::{Deserialize, Serialize};
use silas_core::event::{AuditEvent, Text};
use silas_core::{Digest, Random, Timestamp, canonical};

/// Entries that one call returns at most; a page of Activity has far fewer.
pub const ENTRIES_MAX: u32 = 1000;
/// Longest text beside the chain, in bytes. Outputs are cut to size long before they come here.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Enough that equal texts cannot be recognised and short ones cannot be guessed.
const SALT_BYTES: usize = 16;

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
        let digest = salted(&salt, text);
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
        let fits = read_salt(&text.salt).is_some_and(|salt| salted(&salt, &text.text) == text.digest);
        if !fits {
            return Err(Error::Damaged { what: "text", reason: "it is not the text that was recorded".to_owned() });
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

    /// Appends an event, in the same transaction as the fact that it records. Gives the entry's number.
    ///
    /// Its time is never before that of the entry above it, whatever the clock says.
    pub fn record(&mut self, event: &AuditEvent) -> Result<u64, Error> {
        let last = last(self)?;
        let now = self.clock.now();
        let (seq, at, prev) = match last {
            Some(last) => (last.seq + 1, now.max(last.at), last.hash),
            None => (1, now, first_prev()),
        };
        let body = canonical::text(event)?;
        let hash = hash(seq, at, &body, &prev)?;
        self.execute(
            "INSERT INTO ledger (seq, at, event, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![to_column(seq), at.micros(), event.name(), body, prev.to_string(), hash.to_string()],
        )?;
        self.note_head(seq);
        Ok(seq)
    }
}

/// The entries from `from_seq` on, oldest first.
pub fn entries(tx: &ReadTx<'_>, from_seq: u64, limit: u32) -> Result<Vec<Entry>, Error> {
    tx.query(
        "SELECT seq, at, event, body, prev, hash FROM ledger WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
        params![to_column(from_seq), limit.min(ENTRIES_MAX)],
        entry,
    )
}

/// The last entries, oldest first.
pub fn latest(tx: &ReadTx<'_>, limit: u32) -> Result<Vec<Entry>, Error> {
    let mut entries = tx.query(
        "SELECT seq, at, event, body, prev, hash FROM ledger WHERE seq >= 1 ORDER BY seq DESC LIMIT ?1",
        params![limit.min(ENTRIES_MAX)],
        entry,
    )?;
    entries.reverse();
    Ok(entries)
}

/// The text beside the chain. `None` if it was erased; a text that does not fit its digest is not shown at all.
pub fn text_of(tx: &ReadTx<'_>, text: &Text) -> Result<Option<String>, Error> {
    match look_up(tx, &text.0)? {
        Kept::Text(text) => Ok(Some(text)),
        Kept::Erased => Ok(None),
        Kept::Altered | Kept::Missing => {
            Err(Error::Damaged { what: "text", reason: "it is not the text that was recorded".to_owned() })
        }
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

/// What stands before the first entry.
fn first_prev() -> Digest {
    Digest::from_bytes([0; 32])
}

fn hash(seq: u64, at: Timestamp, body: &str, prev: &Digest) -> Result<Digest, canonical::Error> {
    canonical::digest(&("v1", "ledger", seq, at, body, prev))
}

/// What became of a text.
enum Kept {
    Text(String),
    Erased,
    Altered,
    Missing,
}

fn look_up(tx: &ReadTx<'_>, digest: &Digest) -> Result<Kept, Error> {
    let sql = "SELECT salt, text, erased_at FROM texts WHERE digest = ?1";
    let kept = tx.query_one(sql, params![digest.to_string()], |row| {
        let (salt, text): (Option<String>, Option<String>) = (row.get("salt")?, row.get("text")?);
        let erased_at: Option<i64> = row.get("erased_at")?;
        Ok(match (salt.as_deref().and_then(read_salt), text) {
            (Some(salt), Some(text)) if salted(&salt, &text) == *digest => Kept::Text(text),
            (None, None) if erased_at.is_some() => Kept::Erased,
            _ => Kept::Altered,
        })
    })?;
    Ok(kept.unwrap_or(Kept::Missing))
}

/// The digest by which an entry names a text. The salt's length is fixed, or its end could pass for the text's beginning.
fn salted(salt: &[u8; SALT_BYTES], text: &str) -> Digest {
    Digest::of(&[salt, text.as_bytes()].concat())
}

fn read_salt(hex: &str) -> Option<[u8; SALT_BYTES]> {
    if hex.len() != 2 * SALT_BYTES || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut salt = [0u8; SALT_BYTES];
    for (n, byte) in salt.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(salt)
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
    u64::try_from(seq).map_err(|_| Error::Damaged { what: "seq", reason: format!("{seq} is negative") })
}

/// No ledger gets this long; a number beyond it names no entry.
pub(crate) fn to_column(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
