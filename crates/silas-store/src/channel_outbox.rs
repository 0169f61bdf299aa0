//! The channel outbox: what every channel of a scope is to show, in order, each a numbered reference to an entry of the
//! chronicle. Each scope has numbers of its own.
//!
//! A row is put here in the transaction that writes the entry, and read by whoever serves a channel. Nothing is taken
//! out by delivering it: each session says how far it has got ([`crate::sessions::acknowledge`]), so that one device that
//! was away misses nothing and another that was there gets nothing twice.

use crate::chronicle::{self, Entry};
use crate::{Error, ReadTx, Row, Tx, params};
use silas_core::{MessageId, Scope, SessionId, Timestamp};

/// Entries that one call returns at most. Who is further behind asks again.
pub const PAGE_MAX: u32 = 100;

/// An entry of the Stream on its way to the channels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    pub seq: u64,
    pub entry: Entry,
}

/// What a session has not acknowledged yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    pub n_entries: u64,
    /// When the oldest of them was put here.
    pub since: Option<Timestamp>,
}

/// Puts an entry on its way; belongs into the transaction that appends it to the chronicle.
pub fn put(tx: &mut Tx<'_>, scope: &Scope, message: &MessageId, at: Timestamp) -> Result<u64, Error> {
    let seq = head(tx, scope)? + 1;
    tx.execute(
        "INSERT INTO channel_outbox (scope, seq, message_id, at) VALUES (?1, ?2, ?3, ?4)",
        params![scope.to_string(), to_column(seq), message.as_str(), at.micros()],
    )?;
    Ok(seq)
}

/// What comes after `seq`, oldest first. An entry that retention has taken meanwhile is not among it.
pub fn after(tx: &ReadTx<'_>, scope: &Scope, seq: u64, limit: u32) -> Result<Vec<Delivery>, Error> {
    tx.query(
        "SELECT o.seq, c.id, c.sender, c.taint, c.text, c.answers, c.came_of, c.at FROM channel_outbox AS o
         JOIN chronicle AS c ON c.id = o.message_id AND c.scope = o.scope
         WHERE o.scope = ?1 AND o.seq > ?2 ORDER BY o.seq LIMIT ?3",
        params![scope.to_string(), to_column(seq), limit.min(PAGE_MAX)],
        |row| Ok(Delivery { seq: self::seq(row, "seq")?, entry: chronicle::stored(row)? }),
    )
}

/// The number of the last entry; 0 while there was none.
pub fn head(tx: &ReadTx<'_>, scope: &Scope) -> Result<u64, Error> {
    let sql = "SELECT seq FROM channel_outbox WHERE scope = ?1 ORDER BY seq DESC LIMIT 1";
    let last = tx.query_one(sql, params![scope.to_string()], |row| seq(row, "seq"))?;
    Ok(last.unwrap_or(0))
}

/// Whether everything after `seq` is still here, so that whoever has seen that much can be given exactly the rest.
pub fn reaches_back_to(tx: &ReadTx<'_>, scope: &Scope, seq: u64) -> Result<bool, Error> {
    let head = head(tx, scope)?;
    if seq >= head {
        return Ok(seq == head);
    }
    let sql = "SELECT 1 FROM channel_outbox WHERE scope = ?1 AND seq = ?2";
    let next = tx.query_one(sql, params![scope.to_string(), to_column(seq + 1)], |_| Ok(()))?;
    Ok(next.is_some())
}

/// What a session that has got to `acknowledged` does not have.
pub fn backlog(tx: &ReadTx<'_>, scope: &Scope, acknowledged: u64) -> Result<Backlog, Error> {
    let found = tx.query_one(
        "SELECT count(*) AS n, min(at) AS since FROM channel_outbox WHERE scope = ?1 AND seq > ?2",
        params![scope.to_string(), to_column(acknowledged)],
        |row| {
            let (n, since): (i64, Option<i64>) = (row.get("n")?, row.get("since")?);
            Ok(Backlog { n_entries: u64::try_from(n).unwrap_or(0), since: since.map(Timestamp::from_micros) })
        },
    )?;
    Ok(found.unwrap_or_default())
}

/// Sessions of any scope that are connected and have not taken in what was put here before this instant, with the names of their
/// devices. They should have: a living page acknowledges at once.
pub fn stuck(tx: &ReadTx<'_>, before: Timestamp) -> Result<Vec<(SessionId, String)>, Error> {
    let mut stuck = Vec::new();
    for (scope, session) in crate::sessions::connected_devices(tx)? {
        if backlog(tx, &scope, session.acknowledged)?.since.is_some_and(|since| since < before) {
            stuck.push((session.session_id, session.title));
        }
    }
    Ok(stuck)
}

/// Forgets what is older than this instant, a bounded number. The last row of each scope stays: numbers are never given twice.
pub(crate) fn prune(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM channel_outbox WHERE message_id IN (SELECT message_id FROM channel_outbox AS o WHERE at < ?1
             AND EXISTS (SELECT 1 FROM channel_outbox AS later WHERE later.scope = o.scope AND later.seq > o.seq)
             ORDER BY at, scope, seq LIMIT ?2)",
        params![before.micros(), limit],
    )
}

pub(crate) fn seq(row: &Row<'_>, column: &'static str) -> Result<u64, Error> {
    let seq: i64 = row.get(column)?;
    u64::try_from(seq).map_err(|_| Error::Damaged { what: column, reason: format!("{seq} is negative") })
}

/// No Stream gets this long.
pub(crate) fn to_column(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
