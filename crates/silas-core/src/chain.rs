//! The ledger's chain as a pure rule: what the hash of an entry covers, and when one entry follows another.
//!
//! The store, an export that is read on another machine, and a browser that keeps the last head it has seen all compute
//! the same thing. What a chain cannot show by itself is that its tail was cut, or that all of it was computed anew:
//! compare its head with one that was kept elsewhere.

use crate::checkpoint::Head;
use crate::{Digest, Timestamp, canonical};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// One entry, as it lies in the store, in an export and on the wire.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub seq: u64,
    pub at: Timestamp,
    /// The event's name, as it stands beside the body.
    pub event: String,
    /// The event's canonical JSON, as it was hashed.
    pub body: String,
    pub prev: Digest,
    pub hash: Digest,
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
    /// It holds something that no version of Silas writes.
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

/// The good part of a chain. Numbers start at 1 without a gap, so the count is also the last number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    entries: u64,
    at: Timestamp,
    hash: Digest,
}

impl Chain {
    /// Before the first entry.
    pub fn start() -> Self {
        Chain { entries: 0, at: Timestamp::EPOCH, hash: first_prev() }
    }

    /// After an entry that is known to be good. Whoever does not know when it was written leaves `at` at the epoch.
    pub fn after(head: Head, at: Timestamp) -> Self {
        Chain { entries: head.seq, at, hash: head.hash }
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The last good entry.
    pub fn head(&self) -> Option<Head> {
        (self.entries > 0).then_some(Head { seq: self.entries, hash: self.hash })
    }

    /// Takes the next entry in if it follows, and gives its body to whoever wants to look further.
    pub fn extend(&mut self, link: &Link) -> Result<Value, Broken> {
        let seq = self.entries + 1;
        let broken = |reason| Broken { seq, reason };
        if link.seq > seq {
            return Err(broken(Reason::Missing));
        }
        if link.seq < seq {
            return Err(broken(Reason::Unreadable));
        }
        if link.prev != self.hash {
            return Err(broken(Reason::Unbound));
        }
        if hash(seq, link.at, &link.body, &link.prev).ok() != Some(link.hash) {
            return Err(broken(Reason::Altered));
        }
        if link.at < self.at {
            return Err(broken(Reason::BackInTime));
        }
        let body = canonical::read::<Value>(&link.body).map_err(|_| broken(Reason::Unreadable))?;
        if body.get("event").and_then(Value::as_str) != Some(link.event.as_str()) {
            return Err(broken(Reason::Misnamed));
        }
        (self.entries, self.at, self.hash) = (seq, link.at, link.hash);
        Ok(body)
    }
}

/// SHA-256 of the canonical JSON array `["v1", "ledger", seq, at, body, prev]`.
pub fn hash(seq: u64, at: Timestamp, body: &str, prev: &Digest) -> Result<Digest, canonical::Error> {
    canonical::digest(&("v1", "ledger", seq, at, body, prev))
}

/// What stands before the first entry.
pub fn first_prev() -> Digest {
    Digest::from_bytes([0; 32])
}

#[cfg(test)]
mod tests;
