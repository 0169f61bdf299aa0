//! How deciding goes: whether the questions are few, clear and worth asking, counted from the ledger of the last month.
//!
//! Nothing of it leaves the machine, and nothing is decided by it. How risky a question was stands on its card, and which
//! kind of device answered it on the device's certificate, both beside the ledger. The ledger is read a page at a time and
//! what is kept of it does not grow with it. What needs batches or thresholds enters with them.

mod by_hand;
mod kept;
mod pace;
mod rows;
mod tally;

pub(crate) use kept::Kept;

use crate::Trouble;
use crate::hub::Hub;
use crate::view::MeasureView;
use kept::{Page, Stretch};
use silas_core::Timestamp;
use silas_core::event::AuditEvent;
use silas_store::{ReadTx, cards, devices, ledger};
use std::collections::btree_map::Entry;
use tally::{Known, NAMES};

/// Entries that one look goes over. A reader of the store is held for some milliseconds, and then others have their turn.
const PAGE: u64 = 4000;

impl Hub {
    pub async fn measures(&self) -> Result<Vec<MeasureView>, Trouble> {
        let look = |stretch| self.house.store.read(move |tx| page(tx, &stretch, PAGE));
        Ok(self.measured.rows(self.house.clock.now(), self.house.store.ledger_head(), look).await?)
    }
}

/// The beginning of a stretch: what counts in it, and what else is known of that.
fn page(tx: &ReadTx<'_>, stretch: &Stretch, n_max: u64) -> Result<Page, silas_store::Error> {
    let after = match stretch.after {
        Some(after) => after,
        None => ledger::first_since(tx, stretch.since)?.saturating_sub(1),
    };
    // A month in which nothing was recorded begins behind the head.
    let through = stretch.head.min(after.saturating_add(n_max)).max(after);
    let events = ledger::named(tx, after, through, &NAMES)?;
    let known = known(tx, &events)?;
    Ok(Page { through, events, known })
}

fn known(tx: &ReadTx<'_>, events: &[(Timestamp, AuditEvent)]) -> Result<Known, silas_store::Error> {
    let mut known = Known::default();
    for (_, event) in events {
        let AuditEvent::DecisionRecorded { card, key, .. } = event else { continue };
        known.risks.extend(cards::risk(tx, card)?.map(|risk| (card.clone(), risk)));
        if let Entry::Vacant(unknown) = known.devices.entry(key.clone())
            && let Some(kind) = devices::kind(tx, key)?
        {
            unknown.insert(kind);
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests;
