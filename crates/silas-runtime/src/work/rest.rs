//! Work that waits for a provider or for its owner: its time stands still, here and at the launcher, for a day at most, and
//! whoever looks is told what it waits for.
//!
//! The launcher's word about how long that was is the one that counts, and it outlives both of them.

use crate::house::lock;
use crate::minds::spending::Waits;
use crate::view::Update;
use crate::work::Work;
use silas_core::{ExecutionId, Timestamp};
use silas_sandbox::REST_MAX;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long one piece of work has waited, and whether it waits now.
pub(super) struct Rest {
    work: Arc<Work>,
    execution: ExecutionId,
    waited: Mutex<Waited>,
}

#[derive(Clone, Copy, Default)]
struct Waited {
    /// What is over, by the launcher's clock.
    before: Duration,
    /// Who waits now: several calls of one answer may ask at once.
    n: u32,
    since: Option<Timestamp>,
    /// Which line of the work is shown to wait.
    step: usize,
}

impl Rest {
    /// With what an earlier life of it has waited, which ends here if it ended in that.
    pub(super) fn of(work: &Arc<Work>, execution: &ExecutionId) -> Self {
        let before = work.house.launcher.go_on(execution).unwrap_or_else(|error| {
            tracing::warn!(%error, "how long work has waited is not known");
            Duration::ZERO
        });
        let waited = Mutex::new(Waited { before, ..Waited::default() });
        Rest { work: work.clone(), execution: execution.clone(), waited }
    }

    /// All of it, until now.
    pub(super) fn total(&self) -> Duration {
        let waited = *lock(&self.waited);
        let now = waited.since.map_or(Duration::ZERO, |since| self.work.house.clock.now().since(since));
        waited.before.saturating_add(now).min(REST_MAX)
    }

    /// From here on this line of the work says what is waited for.
    pub(super) fn shown_at(&self, step: usize) {
        lock(&self.waited).step = step;
    }

    fn show(&self, step: usize, label: &str) {
        if let Some(running) = self.work.running.work().get_mut(&self.execution) {
            if let Some(step) = running.view.steps.get_mut(step) {
                label.clone_into(&mut step.label);
            }
            let work = running.view.clone();
            self.work.hub.publish(Update::Work { work });
        }
    }
}

impl Work {
    /// How long an execution has waited, which ends here if it ended in that.
    pub(super) async fn rested(&self, execution: &ExecutionId) -> Duration {
        let (launcher, execution) = (self.house.launcher.clone(), execution.clone());
        match tokio::task::spawn_blocking(move || launcher.go_on(&execution)).await {
            Ok(Ok(rested)) => rested,
            // Nothing is given to work about which nothing is known.
            Ok(Err(_)) | Err(_) => Duration::ZERO,
        }
    }
}

impl Waits for Rest {
    fn begins(&self, label: &str) {
        let (is_first, step) = {
            let mut waited = lock(&self.waited);
            waited.n += 1;
            let is_first = waited.n == 1;
            if is_first {
                waited.since = Some(self.work.house.clock.now());
            }
            (is_first, waited.step)
        };
        // A launcher that does not know counts the time, which is never too long.
        if is_first && let Err(error) = self.work.house.launcher.rest(&self.execution) {
            tracing::warn!(%error, "the launcher was not told that work waits");
        }
        self.show(step, label);
    }

    fn ends(&self) {
        let (is_last, step) = {
            let mut waited = lock(&self.waited);
            waited.n = waited.n.saturating_sub(1);
            (waited.n == 0, waited.step)
        };
        if !is_last {
            return;
        }
        let total = self.total();
        let before = self.work.house.launcher.go_on(&self.execution).unwrap_or(total);
        let mut waited = lock(&self.waited);
        (waited.before, waited.since) = (before, None);
        drop(waited);
        self.show(step, "Working");
    }
}
