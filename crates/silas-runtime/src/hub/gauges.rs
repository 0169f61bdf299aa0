//! Numbers for whoever watches Silas from outside. They are counted from the ledger and the tables; nothing keeps a second
//! book. Deliberately absent: texts, names, ids.

use crate::Trouble;
use crate::house::lock;
use crate::hub::Hub;
use silas_store::{Pressure, Store, Waiting, counts, ledger, queue};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A word, as `open` or `work_started`, and how many.
pub type Tally = BTreeMap<String, u64>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gauges {
    /// Events of the whole ledger, by name.
    pub events: Tally,
    /// Cards that wait for the owner, by state.
    pub cards: Tally,
    /// Messages of the queue, by state.
    pub queue: Tally,
    /// Messages of the key that has most of them, and how many it may have.
    pub fullest: Waiting,
    /// What waits for the store.
    pub pressure: Pressure,
    /// Pieces of work under way in this process.
    pub n_running: u64,
    /// Changes since the start that were kept, by file.
    pub changes: Tally,
    /// Commits since the start that were synced to disk.
    pub n_durable_commits: u64,
}

/// What was counted of the ledger already. It only grows, so nothing is counted twice.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    through: u64,
    events: Tally,
}

/// Changes that the store has kept since the start, in each of its files, as it tells of them.
#[derive(Default)]
pub(crate) struct Changes {
    agent: AtomicU64,
    human: AtomicU64,
}

fn count(changes: &AtomicU64) {
    changes.fetch_add(1, Ordering::Relaxed);
}

impl Changes {
    /// From here on every change is counted.
    pub(crate) fn counted(store: &Store) -> Arc<Self> {
        let changes = Arc::<Changes>::default();
        let (agent, human) = (changes.clone(), changes.clone());
        let is_first =
            store.on_change(move |_| count(&agent.agent)) && store.human().on_change(move |_| count(&human.human));
        if !is_first {
            tracing::error!("somebody else is told of the changes already; none is counted");
        }
        changes
    }

    fn tally(&self) -> Tally {
        tally([("agent", self.agent.load(Ordering::Relaxed)), ("human", self.human.load(Ordering::Relaxed))])
    }
}

impl Hub {
    pub async fn gauges(&self) -> Result<Gauges, Trouble> {
        let events = self.count_events().await?;
        let pressure = self.store_pressure();
        let counting = self.house.store.read(|tx| Ok((counts::cards(tx)?, counts::queue(tx)?)));
        let (cards, queued) = counting.await?;
        let fullest = self.turns_waiting().await?;
        let cards = [("open", cards.open), ("parked", cards.parked)];
        let queue = [("alive", queued.alive), ("dead", queued.dead)];
        Ok(Gauges {
            events,
            cards: tally(cards),
            queue: tally(queue),
            fullest,
            pressure,
            n_running: self.running.work().len() as u64,
            changes: self.changes.tally(),
            n_durable_commits: self.house.store.n_durable_commits(),
        })
    }

    /// What waits for the store, without asking it.
    pub fn store_pressure(&self) -> Pressure {
        self.house.store.pressure()
    }

    /// Messages of the key that has most of them in the durable queue, and how many it may have.
    pub async fn turns_waiting(&self) -> Result<Waiting, Trouble> {
        let n = self.house.store.read(counts::fullest_key).await?;
        Ok(Waiting { n: usize::try_from(n).unwrap_or(usize::MAX), max: queue::KEY_MESSAGES_MAX as usize })
    }

    /// Piece by piece: the first look at a long ledger keeps nobody waiting.
    async fn count_events(&self) -> Result<Tally, Trouble> {
        loop {
            let after = lock(&self.counted).through;
            let (through, head, found) = self
                .house
                .store
                .read(move |tx| {
                    let head = ledger::head(tx)?.map_or(0, |(seq, _)| seq);
                    let through = head.min(after.saturating_add(counts::ENTRIES_COUNTED_MAX));
                    Ok((through, head, counts::events(tx, after, through)?))
                })
                .await?;
            let mut counted = lock(&self.counted);
            // Two who ask at once both look; only the first adds what it found.
            if counted.through == after {
                counted.through = through;
                for (event, n) in found {
                    *counted.events.entry(event).or_default() += n;
                }
            }
            if counted.through >= head {
                return Ok(counted.events.clone());
            }
        }
    }
}

fn tally<const N: usize>(counted: [(&str, u64); N]) -> Tally {
    counted.into_iter().map(|(word, n)| (word.to_owned(), n)).collect()
}
