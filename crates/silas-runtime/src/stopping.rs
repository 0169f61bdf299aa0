//! Everything is stopped: what ended with it and what was taken back, for as long as nothing has begun since.
//!
//! Deliberately absent: the stopping itself, which is the work's own affair, and the revocation, which is [`crate::grants`]'s.
//! This only remembers, so that somebody who looks later is told.

use crate::Stream;
use crate::view::StopView;
use crate::work::Stop;
use silas_store::{Commit, settings};
use std::time::Duration;

/// The setting that holds it.
const LAST_STOP: &str = "last_stop";
/// What is taken back this soon after a stop was taken back with it: one tap sends both.
const TOGETHER: Duration = Duration::from_secs(120);

impl Stream {
    /// Ends what a model is saying and all work. Says how much work that was.
    pub async fn end_everything(&self) -> usize {
        self.interrupt();
        let n_works = self.stop_work(None, Stop::Owner);
        self.remember_stop(n_works, 0).await;
        n_works
    }

    /// All grants were taken back at once.
    pub(crate) async fn note_grants_gone(&self, n_grants: usize) {
        self.remember_stop(0, n_grants).await;
    }

    async fn remember_stop(&self, n_works: usize, n_grants: usize) {
        if n_works + n_grants == 0 {
            return;
        }
        let at = self.clock.now();
        let noting = self.store.write_buffered(move |tx| {
            let before = settings::get::<StopView>(tx, LAST_STOP)?.filter(|before| at.since(before.at) < TOGETHER);
            let (works, grants) = before.map_or((0, 0), |before| (before.n_works, before.n_grants));
            let stop = StopView { at, n_works: works + n_works, n_grants: grants + n_grants };
            settings::set(tx, LAST_STOP, &stop)?;
            Ok(Commit(()))
        });
        // What was stopped is stopped, whether or not it can be told later.
        if let Err(cause) = noting.await {
            tracing::warn!(%cause, "that everything was stopped could not be kept");
        }
    }
}

/// What the last stop did; whoever shows it looks whether anything has begun since.
pub(crate) fn last(tx: &silas_store::ReadTx<'_>) -> Result<Option<StopView>, silas_store::Error> {
    settings::get(tx, LAST_STOP)
}
