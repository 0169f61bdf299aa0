//! How a piece of work ends, and the one transaction that writes it down.

mod reached;

use super::job::Job;
use super::state;
use crate::Trouble;
use crate::post::WORK;
use crate::question::Question;
use crate::review::kinds::refusal::Rule;
use crate::view::Update;
use crate::work_record::Begun;
use reached::Reached;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::changeset::Changeset;
use silas_core::check::Outcome;
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::token::Kind;
use silas_core::work::{WorkItem, WorkState};
use silas_core::{ExecutionId, MessageId, Scope, Timestamp};
use silas_sandbox::{KeptText, Waits};
use silas_store::{Commit, Tx, answers, cards, executions, queue, work_items};

/// How a piece of work ended, before it is written down.
pub(super) enum Ending {
    Applied {
        files: u32,
        undo_until: Timestamp,
    },
    /// Nothing was touched, and the result waits for a decision; perhaps again, because it could not be carried out.
    Rehearsed {
        waits: Waits,
        /// Why it is asked again, if it is.
        again: Option<String>,
    },
    /// Nothing was touched: the card's intent and, in the details, why.
    Untouched {
        intent: String,
        reason: String,
    },
    /// Nothing was touched, and hosts were refused; the plan that would have been enough.
    Refused {
        plan: Box<WorkItem>,
        /// The message with which it all began.
        trace: MessageId,
        kind: Kind,
        rule: Rule,
        intent: String,
        reason: String,
    },
    Conflict {
        paths: Vec<String>,
    },
    /// It was cut short after this had begun, which may have acted outside: nobody knows, and the owner is asked.
    Unknown {
        begun: Begun,
        plan: Box<WorkItem>,
        is_rehearsal: bool,
        by: CutBy,
    },
}

/// What cut it short.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CutBy {
    Interruption,
    /// The owner stopped it, or took back what it needed.
    Owner,
}

impl Job {
    /// One transaction: the acknowledgement, the state, the ledger, the result card and the sentence in the Stream.
    pub(super) fn finish(&mut self, ending: Ending) -> Result<(), Trouble> {
        let work = self.work.clone();
        let now = work.house.clock.now();
        self.record.view.running = false;
        if self.order.is_none() {
            let took = now.since(self.record.view.started_at);
            self.record.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        }
        let Reached { state: reached, card, sentence, offered, undo_until, event } = self.reached(ending, now)?;
        let instead = self.question_instead()?;
        self.record.settle_steps();
        // What landed is beside the ledger now; of what never will, the diffs are enough.
        if reached != ExecutionState::Rehearsed {
            self.record.changes = Changeset::default();
        }
        let execution = self.record.view.execution.clone();
        let shown = Question::about(Card { execution: Some(execution.clone()), ..card }, execution.to_string());
        let changeset = self.record.changeset;
        let outcome = self.record.view.outcome.unwrap_or(Outcome::Failed);
        let mut record = self.record.clone();
        let teller = work.clone();
        let lease = self.hold.lease().clone();
        let order = self.order.clone();
        let is_over = order.is_some() && reached == ExecutionState::Ended;
        let change = move |tx: &mut Tx<'_>| {
            if !queue::ack(tx, &lease, WORK)? {
                return Ok(Commit(None));
            }
            close_questions(tx, &execution)?;
            executions::set_state(tx, &execution, reached, now)?;
            if let Some(order) = &order {
                executions::set_state(tx, order, ExecutionState::Ended, now)?;
            }
            state::ended(tx, &record, reached, outcome, order.is_some(), now)?;
            answers::forget(tx, &execution)?;
            if let Some(told) = event.record(tx, &execution, outcome)? {
                record.last_event = Some(told);
            }
            executions::set_result(tx, &execution, &record.to_json()?, changeset.as_ref(), undo_until)?;
            if let Some((plan, trace)) = &offered {
                work_items::insert(tx, &Scope::Owner, plan, &WorkState::new(now), trace, now)?;
            }
            shown.ask(tx)?;
            if let Some(question) = &instead {
                question.ask(tx)?;
            }
            let posted = teller.hub.tell_in(tx, &sentence)?;
            Ok(Commit(Some((posted, record.view.clone()))))
        };
        // It has ended, whoever holds the database, and does not look as if it ran on.
        let written = work.house.write_until_done(change, || self.show_ended());
        let Some((posted, view)) = written? else {
            tracing::warn!(execution = %self.record.view.execution, "somebody else has written down the end of this work");
            return Ok(());
        };
        fail::point(FailPoint::ResultRecorded);
        if is_over && let Err(error) = work.house.launcher.discard(&view.execution) {
            tracing::warn!(code = error.code(), %error, "a copy is left for later");
        }
        if self.order.is_none() {
            self.drop_laid();
        }
        work.running.work().remove(&view.execution);
        work.hub.publish(Update::Work { work: view });
        work.hub.deliver(posted);
        work.hub.publish_soon();
        Ok(())
    }
}

impl Job {
    fn show_ended(&self) {
        let view = &self.record.view;
        if let Some(running) = self.work.running.work().get_mut(&view.execution) {
            running.view.clone_from(view);
        }
        self.work.hub.publish(Update::Work { work: view.clone() });
    }
}

/// Questions about calls of a run that is over.
fn close_questions(tx: &mut Tx<'_>, execution: &ExecutionId) -> Result<(), silas_store::Error> {
    let asks = |card: &Card| card.face.kind == CardKind::Step && card.state == CardState::Open;
    for card in cards::find_by_subject(tx, &Scope::Owner, execution.as_str())?.into_iter().filter(asks) {
        cards::update(tx, &Card { state: CardState::Closed, ..card })?;
    }
    Ok(())
}

pub(super) fn kept_words(kept: &KeptText) -> String {
    format!("{}: the other text is kept at {}/{}", kept.path, kept.directory, kept.kept_at)
}
