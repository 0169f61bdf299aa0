//! The house: what every room stands in. Store, engine, clock, chance, the launcher's handle, words and settings, and whether
//! Silas is going away.
//!
//! Deliberately absent: any state of a room's.

mod afterwards;
mod upkeep;

pub(crate) use afterwards::AT_ONCE;

use crate::assignment::ModelOptions;
use crate::{Places, Trouble, Words};
use silas_approval::{Askable, Engine};
use silas_core::card::{Card, CardState, Face};
use silas_core::roots::Place;
use silas_core::{CardId, Clock, InstallationId, Random};
use silas_sandbox::Launcher;
use silas_store::queue::{self, Name};
use silas_store::{Commit, Store};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the owner may turn.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a card waits before it is parked.
    pub plan_timeout: Duration,
    pub undo_window: Duration,
    /// Whether wishes without outside effects are tried out before they are asked about, where the house rules allow it.
    pub rehearse_first: bool,
    /// Wall clock of a piece of work, and of one check.
    pub work_secs: u64,
    /// How old a signed message may be.
    pub message_freshness: Duration,
    /// How long nonces are remembered; longer than messages stay fresh.
    pub nonce_ttl: Duration,
    /// How long what was said is kept.
    pub chronicle_kept: Duration,
    /// Where Silas was started; offered as the first directory.
    pub start_dir: Option<PathBuf>,
    pub models: ModelOptions,
}

/// Shared by every room.
pub struct House {
    pub store: Store,
    pub engine: Engine,
    pub launcher: Arc<Launcher>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub words: Words,
    pub places: Places,
    pub options: Options,
    pub leaving: Leaving,
}

/// What is still to be done before Silas is gone.
#[derive(Default)]
pub struct Leaving {
    /// Whether it is going away. Written once, at the stop.
    is_stopping: watch::Sender<bool>,
    /// What is done and not written down yet. Written by whoever did it, drained at the stop.
    afterwards: Mutex<JoinSet<()>>,
}

impl House {
    pub(crate) fn installation(&self) -> &InstallationId {
        &self.engine.anchor().installation
    }

    /// Counts restores and resets.
    pub(crate) fn epoch(&self) -> u64 {
        self.engine.anchor().epoch
    }

    /// The directories that the owner named, oldest first.
    pub(crate) async fn roots(&self) -> Result<Vec<Place>, Trouble> {
        let engine = self.engine.clone();
        let allowed = self.store.read(move |tx| Ok(engine.roots(tx)?)).await?;
        Ok(allowed.into_iter().map(|(grant, _)| grant.place).collect())
    }

    /// A card with its offer; or, with nothing to decide, without one.
    pub(crate) fn card<T: Askable>(
        &self,
        face: Face,
        about: &str,
        item: Option<&T>,
        lasts: Duration,
    ) -> Result<Card, silas_approval::Error> {
        let (offer, payload) = match item {
            Some(item) => (Some(self.engine.offer(about, item, &face, lasts)?), Some(item.payload()?)),
            None => (None, None),
        };
        let breaches = face.breaches();
        if !breaches.is_empty() {
            tracing::error!(?breaches, kind = ?face.kind, "a card does not keep its contract");
        }
        Ok(Card { offer, payload, ..self.blank_card(face) })
    }

    /// A card that offers nothing yet.
    pub(crate) fn blank_card(&self, face: Face) -> Card {
        let id = CardId::new(self.random.as_ref());
        let (created_at, state) = (self.clock.now(), CardState::Open);
        let (offer, show_first, instead, payload, input) = (None, None, None, None, None);
        let (test_call, execution) = (false, None);
        Card { id, state, created_at, face, offer, show_first, instead, payload, input, test_call, execution }
    }

    /// The vault is open, or something that waits for it was stopped: whoever waits looks again.
    pub(crate) async fn hasten_work(&self) -> Result<(), Trouble> {
        let hastening = self.store.write_buffered(|tx| Ok(Commit(queue::hasten(tx, Name::Work)?)));
        hastening.await?;
        Ok(())
    }

    /// Nothing new begins from here on.
    pub(crate) fn leave(&self) {
        self.leaving.is_stopping.send_replace(true);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.leaving.is_stopping.borrow()
    }

    /// Moves when Silas goes away.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.leaving.is_stopping.subscribe()
    }

    /// Whether what somebody says or decides now will be dealt with by this process.
    pub(crate) fn takes_in(&self) -> Result<(), Trouble> {
        if !self.is_stopping() {
            return Ok(());
        }
        let todo = "Start it again, then say or decide it once more.";
        Err(Trouble::new("E_CHANNEL_BUSY", "Silas is stopping and takes in nothing new.", todo))
    }
}

/// A panic while holding one of these locks leaves a value that is still whole: each is written in one assignment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
