//! What was stopped and taken back, shown for as long as nothing has begun since.

use super::Hub;
use crate::Trouble;
use crate::view::StopView;
use silas_core::Timestamp;
use silas_store::{Commit, settings};
use std::sync::Arc;
use std::time::Duration;

/// The setting that holds it.
const LAST_STOP: &str = "last_stop";
/// What is taken back this soon after a stop was taken back with it: one tap sends both.
const TOGETHER: Duration = Duration::from_secs(120);

impl Hub {
    /// What was stopped is stopped, whether or not it can be told later.
    pub(crate) async fn remember_stop(self: &Arc<Self>, n_works: usize, n_grants: usize, models: Vec<String>) {
        if n_works + n_grants + models.len() == 0 {
            return;
        }
        let (hub, at) = (self.clone(), self.house.clock.now());
        self.house
            .write_afterwards("that everything was stopped", move || {
                let (hub, models) = (hub.clone(), models.clone());
                async move { hub.note_stop(at, n_works, n_grants, models).await }
            })
            .await;
    }

    async fn note_stop(
        &self,
        at: Timestamp,
        n_works: usize,
        n_grants: usize,
        models: Vec<String>,
    ) -> Result<(), Trouble> {
        let noting = self.house.store.write_buffered(move |tx| {
            // Ending work and taking back grants are one stop; two that ended work are two.
            let is_one = |before: &StopView| n_works + models.len() == 0 || before.n_works + before.models.len() == 0;
            let before = settings::get::<StopView>(tx, LAST_STOP)?;
            let before = before.filter(|before| at.since(before.at) < TOGETHER && is_one(before));
            let mut stop = before.unwrap_or(StopView { at, n_works: 0, n_grants: 0, models: Vec::new() });
            stop = StopView { at, n_works: stop.n_works + n_works, n_grants: stop.n_grants + n_grants, ..stop };
            stop.models.extend(models.iter().cloned());
            settings::set(tx, LAST_STOP, &stop)?;
            Ok(Commit(()))
        });
        Ok(noting.await?)
    }
}

/// What the last stop did; whoever shows it looks whether anything has begun since.
pub(crate) fn last(tx: &silas_store::ReadTx<'_>) -> Result<Option<StopView>, silas_store::Error> {
    settings::get(tx, LAST_STOP)
}
