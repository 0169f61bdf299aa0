//! Carrying out what was approved: copy, checks, commands, checks again, and only then the owner's files.
//!
//! The workshop outside this process does each step and keeps to this order by itself; what is decided here is only
//! what to ask for next, what to write down, and what to tell. The message of the queue that stands for the work is
//! acknowledged in the transaction that writes down its end, so work that was interrupted is always taken up again.

use crate::consumer::{Hold, WORK};
use crate::review::refused;
use crate::view::{Update, WorkView};
use crate::{Stream, Trouble};
use silas_approval::Admitted;
use silas_approval::house_rules::HouseRule;
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::rehearsal::ApplyOrder;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_core::{ExecutionId, canonical};
use silas_sandbox::{Canceller, Recovered};
use silas_store::{Abort, Commit, Tx, executions, queue, tokens};
use std::sync::Arc;
use tokio::sync::watch;

mod applying;
mod asking;
mod consulting;
mod ending;
mod executing;
mod hands;
mod job;
mod locked;
mod moves;
mod outside;
mod planning_again;
mod reach;
mod record;
mod refusing;
mod run;
mod state;
mod stopped;
use ending::{CutBy, Ending, kept_words};
pub(crate) use hands::{list_files, read_file};
use job::Job;
pub(crate) use record::WorkRecord;
pub(crate) use refusing::NOT_GRANTED;

/// Work that was admitted, with its story so far and its message of the queue.
pub(crate) struct Beginning {
    pub(crate) admitted: Admitted,
    pub(crate) record: WorkRecord,
    pub(crate) hold: Hold,
}

/// Work under way: what it shows, and how to stop it.
pub(crate) struct Running {
    pub(crate) view: WorkView,
    /// There from the opening of the workshop until the apply begins: what is being put in place is never torn.
    canceller: Option<Canceller>,
    /// Written by whoever stops it; watched by the work where it waits for something else than its workshop.
    stop: watch::Sender<Stop>,
    /// Whether it waits for the vault to be opened, and nothing of it runs.
    waits: bool,
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

impl Running {
    fn new(view: WorkView) -> Self {
        Running { view, canceller: None, stop: watch::Sender::new(Stop::No), waits: false }
    }

    /// Moves when somebody wants it to stop.
    fn stops(&self) -> watch::Receiver<Stop> {
        self.stop.subscribe()
    }

    pub(crate) fn stop(&mut self, why: Stop) {
        self.stop.send_replace(why);
        if let Some(canceller) = &self.canceller {
            canceller.cancel();
        }
    }
}

impl Stream {
    /// Writes down that approved work begins; part of the transaction that spent the approval.
    pub(crate) fn note_start(
        &self,
        tx: &mut Tx<'_>,
        approved: &Admitted,
        mut record: WorkRecord,
    ) -> Result<WorkRecord, Abort> {
        let title = tx.text(&record.view.title)?;
        record.first_entry = tx.record(&AuditEvent::WorkStarted {
            work_item: approved.item().id().clone(),
            execution: approved.execution().clone(),
            title,
        })?;
        executions::set_result(tx, approved.execution(), &record.to_json()?, None, None)?;
        let token = approved.evidence().token.id()?;
        state::begun(tx, approved.item().id(), &token, self.clock.now())?;
        Ok(record)
    }

    pub(crate) fn spawn_work(self: &Arc<Self>, beginning: Beginning) {
        let Beginning { admitted, record, hold } = beginning;
        let stream = self.clone();
        let execution = admitted.execution().clone();
        self.running().insert(execution.clone(), Running::new(record.view.clone()));
        self.publish(Update::Work { work: record.view.clone() });
        tokio::task::spawn_blocking(move || {
            let mut job = Job::new(stream.clone(), record, hold);
            // Work that has no end yet stays with its message of the queue, and is taken up again from there.
            let written = job.carry_out(&admitted).map_or(Ok(()), |ending| job.finish(ending));
            stream.running().remove(&execution);
            if let Err(trouble) = written {
                tracing::error!(%trouble, "the end of a piece of work could not be written down");
            }
        });
    }

    /// Goes on with an execution that was interrupted, from what the launcher says is true.
    pub(crate) async fn go_on(
        self: &Arc<Self>,
        execution: &ExecutionId,
        hold: Hold,
        recovered: &[Recovered],
    ) -> Result<(), Trouble> {
        let id = execution.clone();
        let looking = self.store.read(move |tx| {
            let Some(known) = executions::get(tx, &id)? else { return Ok(None) };
            let stored = tokens::get(tx, &known.token)?;
            Ok(Some((known, stored)))
        });
        let (known, stored) = looking.await?.ok_or_else(lost)?;
        let kind = stored.as_ref().map(|stored| stored.token.body.offer.kind);
        if known.state != ExecutionState::Running {
            return self.let_go(hold).await;
        }
        if kind == Some(Kind::Undo) {
            return self.reconcile_undo(&known.id, hold, recovered).await.map(drop);
        }
        if let (Some(Kind::Apply), Some(stored)) = (kind, &stored) {
            let order: ApplyOrder = canonical::read(&stored.payload)?;
            return self.reconcile_apply(&known.id, &order, hold, recovered).await;
        }
        let record = known.result.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok());
        let record = record.ok_or_else(lost)?;
        let truth = recovered.iter().find(|truth| truth.execution == known.id);
        match truth.map(|truth| truth.state) {
            Some(ExecutionState::Applied) => self.finish_recovered(Job::new(self.clone(), record, hold), truth).await,
            Some(ExecutionState::Rehearsed) => {
                let waits = truth.and_then(|truth| truth.waits.clone()).ok_or_else(lost)?;
                let mut job = Job::new(self.clone(), record, hold);
                job.record.settle_steps();
                let ending = Ending::Rehearsed { waits, again: None };
                tokio::task::spawn_blocking(move || job.finish(ending)).await.unwrap_or_else(|_| Err(lost()))
            }
            _ => match (record.begun_outside, stored) {
                // What may have happened outside is not simply done again.
                (Some(begun), Some(stored)) => {
                    let plan = Box::new(WorkItem::from_canonical(&stored.payload).map_err(|_| lost())?);
                    let mut job = Job::new(self.clone(), record, hold);
                    job.record.settle_steps();
                    let ending = Ending::Unknown {
                        begun,
                        plan,
                        is_rehearsal: kind == Some(Kind::Rehearsal),
                        by: CutBy::Interruption,
                    };
                    tokio::task::spawn_blocking(move || job.finish(ending)).await.unwrap_or_else(|_| Err(lost()))
                }
                _ => self.resume(&known.id, record, hold).await,
            },
        }
    }

    /// It has its end already, so there is nothing left to do.
    async fn let_go(&self, hold: Hold) -> Result<(), Trouble> {
        let lease = hold.lease().clone();
        let acking = self.store.write(move |tx| Ok(Commit(queue::ack(tx, &lease, WORK)?)));
        acking.await?;
        Ok(())
    }

    /// It had been applied; only the writing down was missing.
    async fn finish_recovered(self: &Arc<Self>, mut job: Job, truth: Option<&Recovered>) -> Result<(), Trouble> {
        let window_ends = self.clock.now().plus(self.options.undo_window);
        let undo_until = truth.and_then(|truth| truth.undo_until).unwrap_or(window_ends);
        let files = truth.map_or(0, |truth| truth.files);
        job.record.settle_steps();
        job.record.last_moment = truth.map_or_else(Vec::new, |truth| truth.conflicts.iter().map(kept_words).collect());
        let written = tokio::task::spawn_blocking(move || job.finish(Ending::Applied { files, undo_until })).await;
        written.unwrap_or_else(|_| Err(lost()))
    }

    /// Interrupted before anything was applied: begun again if the house rules say so, ended otherwise. What needs the vault
    /// waits until it is open.
    async fn resume(self: &Arc<Self>, execution: &ExecutionId, record: WorkRecord, hold: Hold) -> Result<(), Trouble> {
        let id = execution.clone();
        let engine = self.engine.clone();
        // What may not go on anyway is told why, below.
        if let Some(admitted) = self.still_admitted(execution).await? {
            if self.was_stopped_waiting(execution) {
                return self.end_interrupted(record, hold, "You stopped it.".to_owned()).await;
            }
            if self.lacks_vault(admitted.item()).is_some() {
                return self.wait_for_vault(record, hold, admitted.runs_until()).await;
            }
        }
        let readmitting = self.store.write(move |tx| {
            let admitted = engine.readmit(tx, &id)?;
            let may_resume = admitted.is_ok() && engine.use_house_rule(tx, HouseRule::ResumeInterrupted)?;
            if may_resume {
                tx.record(&AuditEvent::ExecutionResumed { execution: id.clone() })?;
            }
            Ok(Commit((admitted, may_resume)))
        });
        let reason = match readmitting.await? {
            (Ok(admitted), true) => {
                let record = record.begun_again();
                self.spawn_work(Beginning { admitted, record, hold });
                return Ok(());
            }
            (Ok(_), false) => {
                "It was interrupted, and the house rules do not let Silas begin again by itself.".to_owned()
            }
            (Err(refusal), _) => refused(&refusal).to_string(),
        };
        self.end_interrupted(record, hold, reason).await
    }

    async fn end_interrupted(self: &Arc<Self>, record: WorkRecord, hold: Hold, reason: String) -> Result<(), Trouble> {
        let mut job = Job::new(self.clone(), record, hold);
        job.record.settle_steps();
        let ending = Ending::Untouched { intent: "Interrupted before it was done".to_owned(), reason };
        tokio::task::spawn_blocking(move || job.finish(ending)).await.unwrap_or_else(|_| Err(lost()))
    }
}

fn lost() -> Trouble {
    Trouble::new("E_WORK_LOST", "A worker ended unexpectedly.", "Restart Silas; it finishes what was committed.")
}
