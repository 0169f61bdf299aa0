//! How deciding goes: whether the questions are few, clear and worth asking, counted from the ledger of the last month.
//!
//! Nothing of it leaves the machine, and nothing is decided by it. How risky a question was stands on its card, and which
//! kind of device answered it on the device's certificate, both beside the ledger. The ledger is read a page at a time and
//! what is kept of it does not grow with it. What needs batches or thresholds enters with them.

mod by_hand;
mod pace;
mod rows;
mod tally;

use crate::view::MeasureView;
use crate::{Stream, Trouble};
use silas_core::event::AuditEvent;
use silas_core::{CardId, Timestamp};
use silas_store::ledger::{self, Entry};
use silas_store::{ReadTx, cards, devices};
use std::collections::BTreeMap;
use tally::{Known, Tally};

impl Stream {
    pub async fn measures(&self) -> Result<Vec<MeasureView>, Trouble> {
        let now = self.clock.now();
        let tally = self.store.read(move |tx| count(tx, now, ledger::ENTRIES_MAX)).await?;
        Ok(rows::of(&tally))
    }
}

/// Everything that the window has, so many entries at a time.
fn count(tx: &ReadTx<'_>, now: Timestamp, page: u32) -> Result<Tally, silas_store::Error> {
    let mut tally = Tally::new(now);
    let devices = devices::list(tx)?.into_iter().map(|device| (device.body.key, device.body.kind)).collect();
    let mut known = Known { risks: BTreeMap::new(), devices };
    let mut next = ledger::first_since(tx, tally.reads_from())?;
    loop {
        let entries = ledger::entries(tx, next, page)?;
        let Some(last) = entries.last() else { return Ok(tally) };
        next = last.seq + 1;
        known.risks = risks(tx, &entries)?;
        entries.iter().for_each(|entry| tally.take(entry, &known));
    }
}

fn risks(tx: &ReadTx<'_>, entries: &[Entry]) -> Result<BTreeMap<CardId, silas_core::card::Risk>, silas_store::Error> {
    let mut risks = BTreeMap::new();
    for entry in entries {
        if let Some(AuditEvent::DecisionRecorded { card, .. }) = &entry.event
            && let Some(risk) = cards::risk(tx, card)?
        {
            risks.insert(card.clone(), risk);
        }
    }
    Ok(risks)
}

#[cfg(test)]
mod tests;
