//! How many there are of what, for whoever watches Silas from outside. Only numbers leave here, never a text or an id.

use crate::ledger::to_column;
use crate::{Error, ReadTx, params};
use std::collections::BTreeMap;

/// Entries of the ledger that one look counts; more would keep a reader from others for too long.
pub const ENTRIES_COUNTED_MAX: u64 = 20_000;

/// Messages of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// Waiting or under way.
    pub alive: u64,
    /// Put aside.
    pub dead: u64,
}

/// Cards that wait for an answer, of every scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cards {
    /// Somebody may still answer in time.
    pub open: u64,
    pub parked: u64,
}

/// Counted in the indexes; no card is read for it.
pub fn cards(tx: &ReadTx<'_>) -> Result<Cards, Error> {
    let open = number(tx, "SELECT count(*) AS n FROM cards WHERE state = 'open'")?;
    let parked = number(tx, "SELECT count(*) AS n FROM cards WHERE state = 'parked'")?;
    Ok(Cards { open, parked })
}

pub fn queue(tx: &ReadTx<'_>) -> Result<Queued, Error> {
    let alive = number(tx, "SELECT count(*) AS n FROM queue WHERE queue >= '' AND is_dead = 0")?;
    let dead = number(tx, "SELECT count(*) AS n FROM queue WHERE state = 'dead' AND enqueued_seq >= 0")?;
    Ok(Queued { alive, dead })
}

/// Messages of the key that has most of them waiting, of those that are not put aside: the first to be told to come back.
pub fn fullest_key(tx: &ReadTx<'_>) -> Result<u64, Error> {
    let waiting = tx.query(
        "SELECT count(*) AS n FROM queue WHERE queue >= '' AND is_dead = 0 GROUP BY queue, key",
        params![],
        |row| Ok(row.get::<_, i64>("n")?),
    )?;
    Ok(waiting.into_iter().max().and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
}

/// Events of the ledger by name, of the entries after `after` up to `through`.
pub fn events(tx: &ReadTx<'_>, after: u64, through: u64) -> Result<BTreeMap<String, u64>, Error> {
    let names = tx.query(
        "SELECT event FROM ledger WHERE seq > ?1 AND seq <= ?2",
        params![to_column(after), to_column(through)],
        |row| Ok(row.get::<_, String>("event")?),
    )?;
    let mut counted = BTreeMap::new();
    for name in names {
        *counted.entry(name).or_default() += 1;
    }
    Ok(counted)
}

fn number(tx: &ReadTx<'_>, sql: &'static str) -> Result<u64, Error> {
    let n: Option<i64> = tx.query_one(sql, params![], |row| Ok(row.get("n")?))?;
    Ok(n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
}
