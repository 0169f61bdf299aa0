//! What this process is at: work under way with how to stop it, calls that wait for the owner, and the leases that it holds.
//!
//! Only kept in memory. What must outlive the process is in the durable queue.

mod hold;
mod output;
mod waiting;

pub(crate) use hold::{Hold, Holds};
pub(crate) use waiting::{Answer, Waiting};

use crate::house::lock;
use crate::view::WorkView;
use output::Output;
use silas_core::ExecutionId;
use silas_sandbox::Canceller;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::watch;

/// Shared by the rooms that show it, stop it and do it.
#[derive(Default)]
pub struct Running {
    /// Written by the workers, bounded by what the owner approves.
    work: Mutex<BTreeMap<ExecutionId, RunningWork>>,
    /// Runs whose next call waits for the owner.
    pub(crate) waiting: Waiting,
    /// The leases that turns and workers of this process hold. Written by them, read by the consumer.
    pub(crate) holds: Holds,
}

/// Work under way: what it shows, and how to stop it.
pub(crate) struct RunningWork {
    pub(crate) view: WorkView,
    /// What its commands print. Written by its workshop, bounded, and never kept.
    pub(crate) output: Output,
    /// There from the opening of the workshop until the apply begins: what is being put in place is never torn.
    pub(crate) canceller: Option<Canceller>,
    /// Written by whoever stops it; watched by the work where it waits for something else than its workshop.
    stop: watch::Sender<Stop>,
    /// Whether it waits for the vault to be opened, and nothing of it runs.
    pub(crate) waits: bool,
}

/// Why work should end early, if it should.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    /// The owner pressed Stop.
    Owner,
    /// Silas is going away; the next start takes the work up again.
    Leaving,
}

impl RunningWork {
    pub(crate) fn new(view: WorkView) -> Self {
        RunningWork {
            view,
            output: Output::default(),
            canceller: None,
            stop: watch::Sender::new(Stop::No),
            waits: false,
        }
    }

    /// Work that waits for the vault.
    pub(crate) fn waiting(view: WorkView) -> Self {
        RunningWork { waits: true, ..RunningWork::new(view) }
    }

    /// Moves when somebody wants it to stop.
    pub(crate) fn stops(&self) -> watch::Receiver<Stop> {
        self.stop.subscribe()
    }

    pub(crate) fn stop_wanted(&self) -> Stop {
        *self.stop.borrow()
    }

    pub(crate) fn stop(&mut self, why: Stop) {
        self.stop.send_replace(why);
        if let Some(canceller) = &self.canceller {
            canceller.cancel();
        }
    }
}

impl Running {
    pub(crate) fn work(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, RunningWork>> {
        lock(&self.work)
    }

    /// Ends one piece of running work; how many there were. Its copy is thrown away; only what is being put in place already
    /// is finished.
    pub fn end_work(&self, one: &ExecutionId) -> usize {
        self.stop_work(Some(one), Stop::Owner)
    }

    pub(crate) fn stop_work(&self, one: Option<&ExecutionId>, why: Stop) -> usize {
        let mut work = self.work();
        let ends = work.iter_mut().filter(|(execution, _)| one.is_none_or(|one| one == *execution));
        ends.map(|(execution, running)| {
            running.stop(why);
            self.waiting.leave(execution);
        })
        .count()
    }
}
