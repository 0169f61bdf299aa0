//! Upkeep: what is too old goes, at every start and once a day, behind everything that somebody waits for.

use super::House;
use crate::Trouble;
use silas_core::Timestamp;
use silas_store::retention::{self, Policy, Pruned};
use silas_store::{Commit, model_calls};
use std::time::Duration;

/// How often it is looked what is too old.
const EVERY: Duration = Duration::from_secs(24 * 3600);
/// How long it is remembered which messages were dealt with. Nobody delivers one again after so long.
const PROCESSED_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long a device can be away and still be given exactly what it missed. Later it is shown the whole.
const OUTBOX_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Calls of models count for their month; twice that for whoever wants to look back.
const CALLS_KEPT: Duration = Duration::from_secs(62 * 24 * 3600);

impl House {
    /// Runs until it is dropped.
    pub(crate) async fn keep_up(&self) {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            if let Err(trouble) = self.forget_what_is_old().await {
                tracing::error!(%trouble, "what is too old could not be removed; tomorrow again");
            }
        }
    }

    /// Piece by piece, each a small transaction of its own.
    async fn forget_what_is_old(&self) -> Result<(), Trouble> {
        let policy = Policy {
            chronicle_before: self.ago(self.options.chronicle_kept),
            outbox_before: self.ago(OUTBOX_KEPT),
            nonces_before: self.ago(self.options.nonce_ttl),
            processed_before: self.ago(PROCESSED_KEPT),
        };
        let calls_before = self.ago(CALLS_KEPT);
        let pruning = self.store.write_background(move |tx| Ok(Commit(model_calls::prune(tx, calls_before)?)));
        pruning.await?;
        loop {
            let pruning = self.store.write_background(move |tx| Ok(Commit(retention::prune(tx, &policy)?)));
            let pruned: Pruned = pruning.await?;
            if pruned.is_nothing() {
                return Ok(());
            }
            tracing::info!(?pruned, "forgot what was too old");
        }
    }

    fn ago(&self, time: Duration) -> Timestamp {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(self.clock.now().micros().saturating_sub(micros))
    }
}
