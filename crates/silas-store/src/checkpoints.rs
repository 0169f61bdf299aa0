//! Signed heads of the ledger. Each says which hash an entry had when the chain ended there.
//!
//! They show that entries were written anew by somebody without the server key, and that the chain ends before the last
//! of them. Cut off together with its checkpoints, an end is missed by nobody here: see a head that was kept elsewhere.

use crate::columns::{json, to_json};
use crate::{Error, ReadTx, Tx, ledger, params};
use silas_core::InstallationId;
use silas_core::checkpoint::{Claim, Head, Statement};
use silas_core::server_keys::{ServerKeys, Unfit};
use std::fmt;

/// Checkpoints held in memory at a time.
const BATCH: u32 = 500;

/// Why a checkpoint does not vouch for the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    pub seq: u64,
    pub reason: FaultReason,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultReason {
    /// This installation's server key did not sign it.
    NotOurs,
    /// A server key signed it that had been replaced at that entry.
    OldKey { at: u64 },
    /// The entry that it names is not there: the ledger is shorter than it was.
    Cut,
    /// The entry that it names is another one.
    OtherEntry,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match self.reason {
            FaultReason::NotOurs => write!(f, "The checkpoint at entry {seq} was not signed by this installation"),
            FaultReason::OldKey { at } => write!(
                f,
                "The checkpoint at entry {seq} was signed by a server key that had been replaced at entry {at}"
            ),
            FaultReason::Cut => write!(f, "The ledger ends before entry {seq}, which was there: its end was cut off"),
            FaultReason::OtherEntry => write!(f, "Entry {seq} of the ledger is not the one that was signed"),
        }
    }
}

/// Keeps a checkpoint. One for the same entry stays as it was.
pub fn insert(tx: &mut Tx<'_>, statement: &Statement) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO checkpoints (seq, statement) VALUES (?1, ?2) ON CONFLICT (seq) DO NOTHING",
        params![ledger::to_column(statement.body.head.seq), to_json(statement)?],
    )?;
    Ok(())
}

pub fn last(tx: &ReadTx<'_>) -> Result<Option<Statement>, Error> {
    tx.query_one("SELECT statement FROM checkpoints WHERE seq >= 1 ORDER BY seq DESC LIMIT 1", [], |row| {
        json(row, "statement")
    })
}

/// The checkpoint of exactly this entry.
pub fn at(tx: &ReadTx<'_>, seq: u64) -> Result<Option<Statement>, Error> {
    tx.query_one("SELECT statement FROM checkpoints WHERE seq = ?1", params![ledger::to_column(seq)], |row| {
        json(row, "statement")
    })
}

/// The checkpoints after an entry, each with the number under which it lies.
pub(crate) fn after(tx: &ReadTx<'_>, seq: u64, limit: u32) -> Result<Vec<(u64, Statement)>, Error> {
    tx.query(
        "SELECT seq, statement FROM checkpoints WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        params![ledger::to_column(seq), limit],
        |row| Ok((row.get::<_, i64>("seq")?.unsigned_abs(), json(row, "statement")?)),
    )
}

/// Checks every checkpoint after an entry; 0 checks them all. The first fault, if there is one, and how many were checked.
pub fn verify(
    tx: &ReadTx<'_>,
    servers: &ServerKeys,
    installation: &InstallationId,
    after: u64,
) -> Result<(u64, Option<Fault>), Error> {
    let (mut after, mut n_checked) = (after, 0);
    loop {
        let batch = self::after(tx, after, BATCH)?;
        if batch.is_empty() {
            return Ok((n_checked, None));
        }
        for (seq, statement) in batch {
            let head = statement.body.head;
            let reason = match servers.judge(&statement, Claim::Checkpoint, installation) {
                Ok(()) if head.seq == seq => fault(tx, head)?,
                Ok(()) | Err(Unfit::NotOurs) => Some(FaultReason::NotOurs),
                Err(Unfit::Replaced { at }) => Some(FaultReason::OldKey { at }),
            };
            after = seq;
            if let Some(reason) = reason {
                return Ok((n_checked, Some(Fault { seq: after, reason })));
            }
            n_checked += 1;
        }
    }
}

pub(crate) fn fault(tx: &ReadTx<'_>, head: Head) -> Result<Option<FaultReason>, Error> {
    let entry = ledger::entries(tx, head.seq, 1)?.into_iter().next();
    Ok(match entry {
        Some(entry) if entry.seq == head.seq && entry.hash == head.hash => None,
        Some(_) => Some(FaultReason::OtherEntry),
        None => Some(FaultReason::Cut),
    })
}
