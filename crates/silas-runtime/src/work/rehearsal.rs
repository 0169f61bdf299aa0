//! Rehearse, then ask: a wish without outside effects is tried out in a private copy under the house rules, and its result
//! waits in Review for the one decision.
//!
//! What waits is the launcher's: it keeps the copy and refuses to apply anything else. Here is only written down that it
//! waits, and what became of it.

use crate::view::{Update, WorkView};
use crate::work::{Beginning, Work};
use crate::work_record::WorkRecord;
use crate::{Trouble, post};
use silas_approval::Admitted;
use silas_core::card::{Card, CardState};
use silas_core::changeset::Changeset;
use silas_core::check::Outcome;
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::rehearsal::{ApplyOrder, exit_of};
use silas_core::work::{Status, WorkItem, WorkState};
use silas_core::{ExecutionId, MessageId, Scope};
use silas_sandbox::Recovered;
use silas_store::{Abort, Commit, ReadTx, Tx, cards, executions, work_items};
use std::sync::Arc;

/// What the owner did not want.
pub(crate) struct Discarded {
    pub(crate) dropped: Option<WorkView>,
    /// Whether it is wanted differently, and not at all.
    pub(crate) is_change: bool,
}

impl Work {
    /// Whether this would be tried out first, if the house rules allow it.
    pub(crate) fn would_rehearse(&self, item: &WorkItem) -> bool {
        self.house.options.rehearse_first && exit_of(item.definition()).is_none()
    }

    /// Spends a use of the house rules on a rehearsal and writes down that it begins. `None` if they do not allow it now;
    /// then nothing was spent, and the owner is asked instead.
    pub(crate) fn begin_rehearsal(
        &self,
        tx: &mut Tx<'_>,
        item: &WorkItem,
        trace: &MessageId,
    ) -> Result<Option<Beginning>, Abort> {
        let approved = match self.house.engine.rehearse(tx, item)? {
            Ok(approved) => approved,
            Err(refusal) => {
                tracing::debug!(%refusal, "not rehearsed");
                return Ok(None);
            }
        };
        let now = self.house.clock.now();
        work_items::insert(tx, &Scope::Owner, item, &WorkState::new(now), trace, now)?;
        self.note_beginning(tx, Admitted::Rehearsal(approved)).map(Some)
    }

    /// Writes down that admitted work begins, and puts it into the queue, in the caller's hands.
    pub(crate) fn note_beginning(&self, tx: &mut Tx<'_>, admitted: Admitted) -> Result<Beginning, Abort> {
        let now = self.house.clock.now();
        let record = WorkRecord::begin(&admitted, now)?;
        let record = record.laying(tx, admitted.item())?;
        let record = self.note_start(tx, &admitted, record)?;
        let lease = post::execution(tx, admitted.execution(), now)?;
        Ok(Beginning { admitted, record, hold: self.running.holds.take(lease) })
    }

    /// The plan and the story of a result that waits, if it still does.
    pub(crate) fn waiting_work(
        &self,
        tx: &ReadTx<'_>,
        order: &ApplyOrder,
    ) -> Result<Option<(WorkItem, WorkRecord)>, silas_store::Error> {
        let Some(run) = executions::get(tx, &order.execution)? else { return Ok(None) };
        if run.state != ExecutionState::Rehearsed {
            return Ok(None);
        }
        let record = run.result.and_then(|result| serde_json::from_value(result).ok());
        let plan = work_items::get(tx, &run.work_item)?.map(|stored| stored.item);
        Ok(plan.zip(record))
    }

    /// Writes down that a result is not wanted. The copy goes when that is on disk; a crash between is made good at the
    /// next start.
    pub(crate) fn drop_result(
        &self,
        tx: &mut Tx<'_>,
        execution: &str,
        reason: &str,
    ) -> Result<Option<WorkView>, silas_store::Error> {
        let Ok(execution) = ExecutionId::parse(execution) else { return Ok(None) };
        let Some(run) = executions::get(tx, &execution)?.filter(|run| run.state == ExecutionState::Rehearsed) else {
            return Ok(None);
        };
        let now = self.house.clock.now();
        executions::set_state(tx, &execution, ExecutionState::Ended, now)?;
        let record = run.result.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok());
        let outcome = record.as_ref().and_then(|record| record.view.outcome).unwrap_or(Outcome::Unproven);
        let text = tx.text(reason)?;
        let ended = tx.record(&AuditEvent::WorkEnded { execution: execution.clone(), outcome, reason: text })?;
        let Some(mut record) = record else { return Ok(None) };
        record.view.place = "Discarded".to_owned();
        record.last_event = Some(ended.id);
        record.changes = Changeset::default();
        executions::set_result(tx, &execution, &record.to_json()?, None, None)?;
        if let Some(stored) = work_items::get(tx, &run.work_item)? {
            let state = WorkState { status: Status::Failed, ..stored.state };
            work_items::set_state(tx, &run.work_item, &state, now)?;
        }
        Ok(Some(record.view))
    }

    pub(crate) async fn discard(self: &Arc<Self>, discarded: Discarded) -> Result<String, Trouble> {
        if let Some(view) = discarded.dropped {
            self.throw_away(view).await;
        }
        let sentence = match discarded.is_change {
            true => {
                "Noted: not like that. The copy is discarded, your files are untouched. Say it again with what should be different."
            }
            false => "The copy is discarded. Your files are untouched.",
        };
        self.hub.tell(sentence).await?;
        Ok(sentence.to_owned())
    }

    /// Has the launcher remove the copy. What cannot be removed now goes with its time, or at the next start.
    pub(crate) async fn throw_away(self: &Arc<Self>, view: WorkView) {
        let (launcher, execution) = (self.house.launcher.clone(), view.execution.clone());
        let discarded = tokio::task::spawn_blocking(move || launcher.discard(&execution)).await;
        if let Ok(Err(error)) = discarded {
            tracing::warn!(code = error.code(), %error, "a copy is left for later");
        }
        self.hub.publish(Update::Work { work: view });
        self.hub.publish_activity().await;
    }

    /// At the start: what waits here must wait at the launcher too, with a card that asks, and the other way round.
    pub(crate) async fn settle_waiting(self: &Arc<Self>, recovered: &[Recovered]) -> Result<(), Trouble> {
        let work = self.clone();
        let truths: Vec<Recovered> = recovered.to_vec();
        let settling = self.house.store.write(move |tx| {
            let mut gone = Vec::new();
            for run in executions::list_waiting(tx)? {
                let truth = truths.iter().find(|truth| truth.execution == run.id).map(|truth| truth.state);
                let asks = |card: &Card| card.state == CardState::Open && card.offer.is_some();
                let open: Vec<Card> =
                    cards::find_by_subject(tx, &Scope::Owner, run.id.as_str())?.into_iter().filter(asks).collect();
                let is_decided = truth == Some(ExecutionState::Applied);
                let is_asked = truth == Some(ExecutionState::Rehearsed) && !open.is_empty();
                if is_decided || is_asked || executions::is_being_decided(tx, &run)? {
                    continue;
                }
                for mut card in open {
                    card.state = CardState::Closed;
                    cards::update(tx, &card)?;
                }
                gone.extend(work.drop_result(tx, run.id.as_str(), "It is no longer kept.")?);
            }
            let mut orphans = Vec::new();
            for truth in truths.iter().filter(|truth| truth.state == ExecutionState::Rehearsed) {
                let known = executions::get(tx, &truth.execution)?.map(|run| run.state);
                if !matches!(known, Some(ExecutionState::Running | ExecutionState::Rehearsed)) {
                    orphans.push(truth.execution.clone());
                }
            }
            Ok(Commit((gone, orphans)))
        });
        let (gone, orphans) = settling.await?;
        for view in gone {
            self.throw_away(view).await;
        }
        for execution in orphans {
            let launcher = self.house.launcher.clone();
            let discarding = tokio::task::spawn_blocking(move || launcher.discard(&execution)).await;
            if let Ok(Err(error)) = discarding {
                tracing::warn!(code = error.code(), %error, "a copy is left for later");
            }
        }
        Ok(())
    }
}
