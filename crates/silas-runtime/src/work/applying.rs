//! Putting in place what waits in its private copy: the second half of a rehearsal, by a decision of its own.
//!
//! The launcher opens exactly the copy that was kept and compares everything; here the story of the run goes on.

use super::ending::Ending;
use super::job::{Conclusion, Failure, Job};
use super::reach::Recorder;
use super::{lost, not_known};
use crate::Trouble;
use crate::running::{Hold, RunningWork, Stop};
use crate::view::{StepState, StepView, Update};
use crate::work::Work;
use crate::work_record::WorkRecord;
use silas_approval::{Apply, Approved};
use silas_core::ExecutionId;
use silas_core::event::Phase;
use silas_core::execution::ExecutionState;
use silas_core::rehearsal::ApplyOrder;
use silas_sandbox::{Recovered, Waits};
use silas_store::executions;
use std::sync::Arc;

impl Work {
    pub(crate) fn spawn_apply(self: &Arc<Self>, approved: Approved<Apply>, record: WorkRecord, hold: Hold) {
        let work = self.clone();
        let mut job = Job::new(work.clone(), record, hold).by_order(approved.execution().clone());
        job.record.view.running = true;
        job.record.view.steps.push(StepView {
            label: "Apply the result".to_owned(),
            state: StepState::Waiting,
            took_ms: None,
        });
        let (execution, view) = (job.record.view.execution.clone(), job.record.view.clone());
        self.running.work().insert(execution.clone(), RunningWork::new(view.clone()));
        self.hub.publish(Update::Work { work: view });
        tokio::task::spawn_blocking(move || {
            let written = job.apply(&approved).map_or(Ok(()), |ending| job.finish(ending));
            work.running.work().remove(&execution);
            if let Err(trouble) = written {
                tracing::error!(%trouble, "the end of an apply could not be written down");
            }
        });
    }

    /// After a restart: the launcher knows whether it was applied. If it was not, what waited still waits, and the owner is
    /// asked again.
    pub(super) async fn reconcile_apply(
        self: &Arc<Self>,
        spending: &ExecutionId,
        order: &ApplyOrder,
        hold: Hold,
        recovered: &[Recovered],
    ) -> Result<(), Trouble> {
        let run = order.execution.clone();
        let known = self.house.store.read(move |tx| executions::get(tx, &run)).await?.ok_or_else(lost)?;
        let record = known.result.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok());
        let mut record = record.ok_or_else(lost)?;
        record.applied_by = spending_token(self, spending).await?;
        let truth = recovered.iter().find(|truth| truth.execution == order.execution);
        if let Some(open) = truth.filter(|truth| truth.is_open || truth.problem.is_some()) {
            return Err(not_known(open));
        }
        let mut job = Job::new(self.clone(), record, hold).by_order(spending.clone());
        match truth.map(|truth| (truth.state, truth.waits.clone())) {
            Some((ExecutionState::Applied, _)) => self.finish_recovered(job, truth).await,
            Some((ExecutionState::Rehearsed, Some(waits))) => {
                let taken_back = truth.and_then(|truth| truth.taken_back.as_ref());
                let why = taken_back.map_or("It was interrupted before it began.".to_owned(), ToString::to_string);
                let ending = Ending::Rehearsed { waits, again: Some(why) };
                tokio::task::spawn_blocking(move || job.finish(ending)).await.unwrap_or_else(|_| Err(lost()))
            }
            _ => {
                let ending = Ending::Untouched {
                    intent: "Could not be put in place".to_owned(),
                    reason: "The copy is no longer there.".to_owned(),
                };
                tokio::task::spawn_blocking(move || job.finish(ending)).await.unwrap_or_else(|_| Err(lost()))
            }
        }
    }
}

async fn spending_token(work: &Arc<Work>, spending: &ExecutionId) -> Result<Option<silas_core::TokenId>, Trouble> {
    let id = spending.clone();
    Ok(work.house.store.read(move |tx| executions::get(tx, &id)).await?.map(|known| known.token))
}

impl Job {
    /// The whole story of an apply. `None` means that the end is still open.
    fn apply(&mut self, approved: &Approved<Apply>) -> Option<Ending> {
        match self.try_apply(approved) {
            Ok(ending) => Some(ending),
            Err(Failure::Stopped) | Err(Failure::Hands(silas_sandbox::Error::Cancelled)) => match self.stop_wanted() {
                Stop::Leaving => None,
                Stop::Owner | Stop::No => Some(self.as_it_waits("You stopped it.")),
            },
            // It may work another time, and the copy is there.
            Err(Failure::Hands(error)) if is_passing(&error) => Some(self.as_it_waits(&error.to_string())),
            Err(failure) => self.failed(failure),
        }
    }

    fn try_apply(&mut self, approved: &Approved<Apply>) -> Result<Ending, Failure> {
        let recorder = Recorder {
            work: self.work.clone(),
            execution: self.record.view.execution.clone(),
            so_far: self.reach.clone(),
        };
        let mut shop = self.work.house.launcher.open(approved.evidence())?.telling(Box::new(recorder));
        self.let_be_stopped(&shop);
        if self.stop_wanted() != Stop::No {
            return Err(Failure::Stopped);
        }
        shop.reopen()?;
        loop {
            match self.put_in_place(shop)? {
                Conclusion::Ending(ending) => return Ok(ending),
                Conclusion::MovedOn(opened) => shop = opened,
            }
            self.let_be_stopped(&shop);
            let decided_about = self.record.view.outcome;
            self.record.after = self.check(&mut shop, Phase::After, &approved.item().plan)?;
            if self.outcome() != decided_about {
                return Ok(self.not_as_decided(shop));
            }
        }
    }

    /// Nothing was touched and the copy is there: the same question again.
    pub(super) fn as_it_waits(&self, why: &str) -> Ending {
        match self.waits() {
            Some(waits) => Ending::Rehearsed { waits, again: Some(why.to_owned()) },
            None => Ending::Untouched { intent: "Could not be put in place".to_owned(), reason: why.to_owned() },
        }
    }

    fn waits(&self) -> Option<Waits> {
        self.truth()?.waits
    }
}

/// Whether what stood in the way may be gone the next time.
fn is_passing(error: &silas_sandbox::Error) -> bool {
    use silas_sandbox::Error::{Busy, Full, Io, Isolation, Lost, PutBack, ReadOnly, TimeUp, Unsupported};
    matches!(
        error,
        Busy | Full
            | Io { .. }
            | Isolation { .. }
            | Lost
            | PutBack { .. }
            | ReadOnly { .. }
            | TimeUp
            | Unsupported { .. }
    )
}
