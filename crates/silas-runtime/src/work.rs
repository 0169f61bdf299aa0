//! Carrying out what was approved: copy, checks, commands, checks again, and only then the owner's files.
//!
//! The workshop outside this process does each step and keeps to this order by itself; what is decided here is only
//! what to ask for next, what to write down, and what to tell. The message of the queue that stands for the work is
//! acknowledged in the transaction that writes down its end, so work that was interrupted is always taken up again.

use crate::Trouble;
use crate::house::House;
use crate::hub::Hub;
use crate::minds::Minds;
use crate::post::{self, WORK};
use crate::questions::Questions;
use crate::running::{Hold, Running, RunningWork};
use crate::trouble::refused;
use crate::trust::Trust;
use crate::view::Update;
use crate::work_record::WorkRecord;
use planning_again::Again;
use silas_approval::house_rules::HouseRule;
use silas_approval::{Admitted, Refusal};
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::rehearsal::ApplyOrder;
use silas_core::token::Kind;
use silas_core::work::{Definition, WorkItem};
use silas_core::{ExecutionId, WorkItemId, canonical};
use silas_sandbox::Recovered;
use silas_store::{Abort, Commit, Tx, executions, queue, tokens, work_items};
use std::sync::Arc;

mod applying;
mod asking;
mod calls;
mod commands;
mod conflicting;
mod conflicts;
mod consulting;
mod ending;
mod executing;
mod hands;
mod job;
mod list;
mod locked;
mod moves;
mod outside;
mod planning_again;
mod reach;
mod refusing;
mod rehearsal;
mod rest;
mod run;
mod sample;
mod state;
mod stopped;
mod undo;
mod withheld;
mod without;
use ending::{CutBy, Ending, kept_words};
use job::Job;
pub(crate) use rehearsal::Discarded;
pub(crate) use without::Without;

/// Work that was admitted, with its story so far and its message of the queue.
pub(crate) struct Beginning {
    pub(crate) admitted: Admitted,
    pub(crate) record: WorkRecord,
    pub(crate) hold: Hold,
}

/// Carries out what was approved.
pub struct Work {
    house: Arc<House>,
    running: Arc<Running>,
    hub: Arc<Hub>,
    trust: Arc<Trust>,
    minds: Arc<Minds>,
    questions: Arc<Questions>,
}

impl Work {
    pub(crate) fn new(
        house: Arc<House>,
        running: Arc<Running>,
        hub: Arc<Hub>,
        trust: Arc<Trust>,
        minds: Arc<Minds>,
        questions: Arc<Questions>,
    ) -> Self {
        Work { house, running, hub, trust, minds, questions }
    }

    /// What the launcher says is true. Finishes what was committed or takes it back, removes what was not. Work whose end was
    /// told, and what was put aside, is left as it was told.
    pub(crate) async fn recover(&self) -> Result<Vec<Recovered>, Trouble> {
        let launcher = self.house.launcher.clone();
        let held = self.house.store.read(post::held).await?;
        let recovered = match tokio::task::spawn_blocking(move || launcher.recover_held(held)).await {
            Ok(Ok(recovered)) => recovered,
            Ok(Err(error)) => return Err(Trouble::new(error.code(), &error.to_string(), "See the log.")),
            Err(_) => return Err(Trouble::new("E_SANDBOX_LOST", "Recovery was interrupted.", "Start Silas again.")),
        };
        for truth in recovered.iter().filter(|truth| truth.problem.is_some()) {
            tracing::warn!(execution = %truth.execution, problem = ?truth.problem, "recovery is not finished");
        }
        Ok(recovered)
    }

    /// Writes down that approved work begins; part of the transaction that spent the approval.
    pub(crate) fn note_start(
        &self,
        tx: &mut Tx<'_>,
        approved: &Admitted,
        mut record: WorkRecord,
    ) -> Result<WorkRecord, Abort> {
        let title = tx.text(&record.view.title)?;
        let begun = tx.record(&AuditEvent::WorkStarted {
            work_item: approved.item().id().clone(),
            execution: approved.execution().clone(),
            title,
        })?;
        record.first_event = Some(begun.id);
        record.view.wish = work_items::get(tx, approved.item().id())?.map(|stored| stored.trace);
        executions::set_result(tx, approved.execution(), &record.to_json()?, None, None)?;
        let token = approved.evidence().token.id()?;
        state::begun(tx, approved.item().id(), &token, self.house.clock.now())?;
        Ok(record)
    }

    pub(crate) fn spawn_work(self: &Arc<Self>, beginning: Beginning) {
        let Beginning { admitted, record, hold } = beginning;
        let work = self.clone();
        let execution = admitted.execution().clone();
        self.running.work().insert(execution.clone(), RunningWork::new(record.view.clone()));
        self.hub.publish(Update::Work { work: record.view.clone() });
        tokio::task::spawn_blocking(move || {
            let mut job = Job::new(work.clone(), record, hold);
            // Work that has no end yet stays with its message of the queue, and is taken up again from there.
            let written = job.carry_out(&admitted).map_or(Ok(()), |ending| job.finish(ending));
            work.running.work().remove(&execution);
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
        let looking = self.house.store.read(move |tx| {
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
        if let Some(open) = truth.filter(|truth| truth.is_open) {
            return Err(not_known(open));
        }
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
        let acking = self.house.store.write(move |tx| Ok(Commit(queue::ack(tx, &lease, WORK)?)));
        acking.await?;
        Ok(())
    }

    /// It had been applied; only the writing down was missing.
    async fn finish_recovered(self: &Arc<Self>, mut job: Job, truth: Option<&Recovered>) -> Result<(), Trouble> {
        let window_ends = self.house.clock.now().plus(self.house.options.undo_window);
        let undo_until = truth.and_then(|truth| truth.undo_until).unwrap_or(window_ends);
        let files = truth.map_or(0, |truth| truth.files);
        job.record.settle_steps();
        job.record.last_moment = truth.map_or_else(Vec::new, |truth| truth.conflicts.iter().map(kept_words).collect());
        job.record.in_part = truth.and_then(|truth| truth.in_part.clone());
        let written = tokio::task::spawn_blocking(move || job.finish(Ending::Applied { files, undo_until })).await;
        written.unwrap_or_else(|_| Err(lost()))
    }

    /// Interrupted before anything was applied: begun again under the same approval, within the time that it gave. What was
    /// tried out under the house rules needs them for that. What may not begin again ends, and its plan asks again. What needs
    /// the vault waits until it is open.
    async fn resume(self: &Arc<Self>, execution: &ExecutionId, record: WorkRecord, hold: Hold) -> Result<(), Trouble> {
        let id = execution.clone();
        let engine = self.house.engine.clone();
        let rested = self.rested(execution).await;
        // What may not go on anyway is told why, below.
        if let Some(admitted) = self.still_admitted(execution, rested).await? {
            if self.was_stopped_waiting(execution) {
                return self.end_interrupted(record, hold, "You stopped it.".to_owned(), Again::NotAsked).await;
            }
            if self.trust.lacks_vault(admitted.item()).is_some() {
                return self.wait_for_vault(record, hold, admitted.runs_until()).await;
            }
        }
        let readmitting = self.house.store.write(move |tx| {
            let admitted = engine.readmit_rested(tx, &id, rested)?;
            let may_resume = match &admitted {
                Ok(admitted) if admitted.evidence().token.body.offer.kind == Kind::HouseRules => {
                    engine.use_house_rule(tx, HouseRule::ResumeInterrupted)?
                }
                // The owner decided about this very plan, and the execution is the one that was spent for it.
                Ok(_) => true,
                Err(_) => false,
            };
            if may_resume {
                tx.record(&AuditEvent::ExecutionResumed { execution: id.clone() })?;
            }
            Ok(Commit((admitted, may_resume)))
        });
        let (reason, may_ask) = match readmitting.await? {
            (Ok(admitted), true) => {
                let record = record.begun_again();
                self.spawn_work(Beginning { admitted, record, hold });
                return Ok(());
            }
            (Ok(_), false) => {
                ("The house rules under which it was tried out do not let it begin again.".to_owned(), true)
            }
            (Err(refusal), _) => (refused(&refusal).to_string(), matches!(refusal, Refusal::TimeIsUp)),
        };
        let again = if may_ask { self.asked_again(&record).await? } else { Again::NotAsked };
        self.end_interrupted(record, hold, reason, again).await
    }

    /// The plan of work that ended unfinished, for a new question.
    async fn asked_again(&self, record: &WorkRecord) -> Result<Again, Trouble> {
        let id = record.view.work_item.clone();
        let Some(before) = self.house.store.read(move |tx| work_items::get(tx, &id)).await? else {
            return Ok(Again::NotAsked);
        };
        let id = WorkItemId::new(self.house.random.as_ref());
        let item = WorkItem::new(Definition { id, ..before.item.definition().clone() });
        Ok(item.map_or(Again::NotAsked, |item| Again::Asked(Box::new(item), before.trace)))
    }

    async fn end_interrupted(
        self: &Arc<Self>,
        record: WorkRecord,
        hold: Hold,
        reason: String,
        again: Again,
    ) -> Result<(), Trouble> {
        let mut job = Job::new(self.clone(), record, hold);
        job.again = again;
        job.record.settle_steps();
        let ending = Ending::Untouched { intent: "Interrupted before it was done".to_owned(), reason };
        tokio::task::spawn_blocking(move || job.finish(ending)).await.unwrap_or_else(|_| Err(lost()))
    }
}

/// How far an apply or an undo came is not known yet; until it is, nobody says that anything is untouched, and nothing begins
/// anew.
fn not_known(open: &Recovered) -> Trouble {
    let why = open.problem.as_ref().map_or_else(|| "It is being finished.".to_owned(), ToString::to_string);
    Trouble::new("E_WORK_LOST", &why, "Look at the directory before you have it tried again.")
}

fn lost() -> Trouble {
    Trouble::new("E_WORK_LOST", "A worker ended unexpectedly.", "Restart Silas; it finishes what was committed.")
}
