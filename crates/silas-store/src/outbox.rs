//! The way of an event from the human's file into the ledger, which lies in the other one.
//!
//! A fact of the human's writes its event into the outbox in its own transaction ([`Tx::announce`]). Draining appends it
//! to the chain together with its id, and only when that is on disk the outbox lets go of it. A crash anywhere between
//! leaves an event that is drained again and recognised by its id: the chain gets it exactly once.

use crate::columns::{id, json, to_json};
use crate::ledger::{self, Salted};
use crate::{Commit, Error, Human, ReadTx, Store, Tx, params};
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::{Digest, EventId, Timestamp};

/// Events in one transaction of the ledger's file.
const BATCH: u32 = 100;

/// An event that may not be in the ledger yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub id: Digest,
    pub event: AuditEvent,
    pub texts: Vec<Salted>,
}

impl Tx<'_, Human> {
    /// A text that an event of this transaction names; hand it to [`Tx::announce`].
    pub fn salted(&self, text: &str) -> Result<Salted, Error> {
        Salted::new(self.random, text)
    }

    /// Leaves an event for the ledger, in the same transaction as the fact. Fails if one with this id was left before.
    pub fn announce(&mut self, id: &Digest, event: &AuditEvent, texts: &[Salted], at: Timestamp) -> Result<(), Error> {
        self.execute(
            "INSERT INTO outbox (event_id, event, texts, at) VALUES (?1, ?2, ?3, ?4)",
            params![id.to_string(), to_json(event)?, to_json(texts)?, at.micros()],
        )?;
        Ok(())
    }
}

/// What the ledger may not have yet, oldest first.
pub fn undrained(tx: &ReadTx<'_, Human>) -> Result<Vec<Waiting>, Error> {
    tx.query(
        "SELECT event_id, event, texts FROM outbox WHERE drained_at IS NULL ORDER BY seq LIMIT ?1",
        params![BATCH],
        |row| Ok(Waiting { id: id(row, "event_id")?, event: json(row, "event")?, texts: json(row, "texts")? }),
    )
}

/// Appends an event to the ledger, unless it is there. False if it was.
pub fn take_in(tx: &mut Tx<'_>, waiting: &Waiting) -> Result<bool, Error> {
    let event = EventId::of(&waiting.id);
    if ledger::place_of(tx, &event)?.is_some() {
        return Ok(false);
    }
    for text in &waiting.texts {
        tx.keep(text)?;
    }
    tx.record_as(event, &waiting.event)?;
    Ok(true)
}

/// The ledger has it, on disk. The texts have moved there, so that whoever erases them erases them once.
pub fn mark_drained(tx: &mut Tx<'_, Human>, event: &Digest, at: Timestamp) -> Result<bool, Error> {
    let n_marked = tx.execute(
        "UPDATE outbox SET drained_at = ?2, texts = '[]' WHERE event_id = ?1 AND drained_at IS NULL",
        params![event.to_string(), at.micros()],
    )?;
    Ok(n_marked == 1)
}

impl Store {
    /// Brings into the ledger what waits for it. Says how many events were appended.
    pub async fn drain_outbox(&self, at: Timestamp) -> Result<usize, Error> {
        let mut n_appended = 0;
        loop {
            let waiting = self.human().read(undrained).await?;
            if waiting.is_empty() {
                return Ok(n_appended);
            }
            let ids: Vec<Digest> = waiting.iter().map(|waiting| waiting.id).collect();
            // Durable and awaited: the outbox must not let go of anything that the ledger could still lose.
            let taking = self.write(move |tx| {
                let mut n_new = 0;
                for one in &waiting {
                    n_new += usize::from(take_in(tx, one)?);
                }
                Ok(Commit(n_new))
            });
            n_appended += taking.await?;
            fail::point(FailPoint::OutboxDrained);
            let marking = self.human().write_buffered(move |tx| {
                for id in &ids {
                    mark_drained(tx, id, at)?;
                }
                Ok(Commit(()))
            });
            marking.await?;
        }
    }
}
