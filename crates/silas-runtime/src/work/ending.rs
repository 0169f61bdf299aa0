//! How a piece of work ends, and the one transaction that writes it down.

use super::conflicting::Conflict;
use super::job::{Job, u32_of};
use super::{lost, state};
use crate::Trouble;
use crate::post::WORK;
use crate::review::kinds::refusal::{Refused, Rule};
use crate::view::Update;
use crate::words::{basis, count, name_of, were_changed};
use crate::work_record::{Begun, WorkRecord};
use silas_approval::Rehearsal;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::changeset::{ChangeOrder, Changeset};
use silas_core::check::Outcome;
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::rehearsal::ApplyOrder;
use silas_core::taint::Source;
use silas_core::token::Kind;
use silas_core::work::{WorkItem, WorkState};
use silas_core::{Digest, EventId, ExecutionId, MessageId, Scope, Tainted, Timestamp};
use silas_gates::scrub;
use silas_sandbox::{KeptText, Waits};
use silas_store::{Commit, Tx, answers, cards, executions, queue, work_items};

/// Of the names in the sentence about a refusal; the card has all of them.
const NAMES_CHARS_MAX: usize = 120;

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
        let name = name_of(&self.record.directory);
        let mut said_by = Source::Own;
        // A plan that the card asks about and nobody has seen before.
        let mut offered = None;
        let (reached, card, sentence, undo_until, event) = match ending {
            Ending::Applied { files, undo_until } => {
                self.record.view.place = "Applied".to_owned();
                self.record.view.footer = format!("{} changed in {name}", count(files as usize, "file"));
                self.record.view.has_proof = true;
                self.record.files = files;
                let changeset = self.record.changeset.ok_or_else(lost)?;
                let execution = self.record.view.execution.clone();
                // Nothing is put in place that was not judged.
                self.record.view.outcome.ok_or_else(lost)?;
                let window = undo_until.since(now);
                let face = work.house.words.done(&self.record.facts(), files, window.as_secs().div_ceil(60) * 60);
                let order = ChangeOrder { kind: Kind::Undo, execution, changeset };
                let card = work.house.card(face, self.record.view.work_item.as_str(), Some(&order), window)?;
                let sentence =
                    format!("{} changed in {name}. {}.", count(files as usize, "file"), claimed(&self.record));
                let event = Event::Applied { changeset, files, landed: self.record.take_landed() };
                (ExecutionState::Applied, card, sentence, Some(undo_until), event)
            }
            Ending::Rehearsed { waits, again } => {
                self.record.view.place = "Rehearsed".to_owned();
                self.record.view.footer = "Your files are untouched".to_owned();
                self.record.files = waits.files;
                // Nothing waits that was not judged.
                self.record.view.outcome.ok_or_else(lost)?;
                let execution = self.record.view.execution.clone();
                let undo_secs = work.house.options.undo_window.as_secs();
                let face = work.house.words.rehearsed(&self.record.facts(), waits.files, undo_secs);
                let order = ApplyOrder {
                    kind: Kind::Apply,
                    execution,
                    plan_hash: self.record.plan_hash.ok_or_else(lost)?,
                    changeset: waits.changeset,
                    findings: waits.findings,
                };
                let card =
                    work.house.card(face, self.record.view.work_item.as_str(), Some(&order), waits.until.since(now))?;
                let (n, checks) = (count(waits.files as usize, "file"), claimed(&self.record));
                let sentence = match &again {
                    Some(why) => format!("Nothing was applied in {name}. {why} The result still waits in Review."),
                    None => {
                        let unnamed = match self.record.undeclared.len() {
                            0 => String::new(),
                            n => format!(" The plan does not name {n} of them."),
                        };
                        format!(
                            "{n} would change in {name}. {checks}.{unnamed} Nothing is applied before you say so, in Review."
                        )
                    }
                };
                // Why something could not be done may quote a name on disk.
                said_by = if again.is_some() { Source::Elsewhere } else { Source::Own };
                let files = waits.files;
                let event = match again {
                    Some(_) => Event::Again,
                    None => Event::Rehearsed { changeset: waits.changeset, files },
                };
                (ExecutionState::Rehearsed, card, sentence, None, event)
            }
            Ending::Untouched { intent, reason } => {
                self.record.view.place = "Nothing applied".to_owned();
                self.record.view.footer = "Your files are untouched".to_owned();
                let face = work.house.words.report(&self.record.facts(), &intent, &reason);
                let card = work.house.card::<ChangeOrder>(face, "", None, std::time::Duration::ZERO)?;
                let sentence = format!("{intent}. Your files in {name} are untouched.{}", self.again.words());
                (ExecutionState::Ended, card, sentence, None, Event::Ended { reason: format!("{intent}. {reason}") })
            }
            Ending::Refused { plan, trace, kind, rule, intent, reason } => {
                self.record.view.place = "Nothing applied".to_owned();
                self.record.view.footer = "Your files are untouched".to_owned();
                let said = self.record.said.as_deref();
                let (intent, reason) = (intent.as_str(), reason.as_str());
                let refused = Refused { plan: &plan, rule, kind, intent, reason, said };
                let face = work.house.words.refusal(&self.record.facts(), &refused);
                let (about, lasts) = (plan.id().to_string(), work.house.options.plan_timeout);
                let card = match kind {
                    Kind::Rehearsal => work.house.card(face, &about, Some(&Rehearsal(plan.as_ref().clone())), lasts)?,
                    _ => work.house.card(face, &about, Some(plan.as_ref()), lasts)?,
                };
                let names = scrub::visible_line(&self.wanted_names().join(", "), NAMES_CHARS_MAX);
                let sentence = format!(
                    "{intent}. Your files in {name} are untouched. It asked for {names}, which it may not reach: nothing \
                     was sent there. What now is asked in Review."
                );
                // Which name that is was for the command to say.
                said_by = Source::Elsewhere;
                offered = Some((*plan, trace));
                let event = Event::Ended { reason: format!("{intent}. {reason}") };
                (ExecutionState::Ended, card, sentence, None, event)
            }
            Ending::Conflict { paths } => {
                self.record.view.place = "Nothing applied".to_owned();
                self.record.view.footer = "Your files are untouched".to_owned();
                let Conflict { card, merge } = self.conflict(&paths)?;
                let ways = match (&merge, card.offer.is_some()) {
                    (Some(_), _) => " Both edits go together; merge them or have it done again, in Review.",
                    (None, true) => " It can be done again on your version, in Review.",
                    (None, false) => "",
                };
                offered = merge;
                let sentence = format!(
                    "Nothing was applied: {} meanwhile.{ways}",
                    were_changed(paths.len(), &format!(" in {name}"))
                );
                (ExecutionState::Ended, card, sentence, None, Event::Conflicted { paths })
            }
            Ending::Unknown { begun, plan, is_rehearsal, by } => {
                let cut = match by {
                    CutBy::Interruption => "Interrupted",
                    CutBy::Owner => "Stopped",
                };
                self.record.view.place = cut.to_owned();
                self.record.view.footer = "Your files are untouched".to_owned();
                let face = work.house.words.unknown_effect(&plan);
                let (about, lasts) = (plan.id().to_string(), work.house.options.plan_timeout);
                // The same question again, of the same kind: what was to be shown first is not applied now either.
                let card = match is_rehearsal {
                    true => work.house.card(face, &about, Some(&Rehearsal(*plan)), lasts)?,
                    false => work.house.card(face, &about, Some(plan.as_ref()), lasts)?,
                };
                let sentence = format!(
                    "{cut} while it may have acted outside. Your files in {name} are untouched. What is true is \
                     asked in Review."
                );
                (ExecutionState::Ended, card, sentence, None, Event::Unknown { begun })
            }
        };
        let instead = self.question_instead()?;
        self.record.settle_steps();
        // What landed is beside the ledger now; of what never will, the diffs are enough.
        if reached != ExecutionState::Rehearsed {
            self.record.changes = Changeset::default();
        }
        // Counts, and a name that is in what the owner signed; what was printed stays on the card.
        let sentence = Tainted::new(sentence, said_by.taint());
        let execution = self.record.view.execution.clone();
        let card = Card { execution: Some(execution.clone()), ..card };
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
            cards::insert(tx, &Scope::Owner, &card, execution.as_str())?;
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

/// The ledger's word about an ending; texts enter the ledger in its own transaction.
#[derive(Clone)]
enum Event {
    Applied {
        changeset: Digest,
        files: u32,
        landed: Option<String>,
    },
    Rehearsed {
        changeset: Digest,
        files: u32,
    },
    /// Nothing new happened.
    Again,
    Ended {
        reason: String,
    },
    Conflicted {
        paths: Vec<String>,
    },
    Unknown {
        begun: Begun,
    },
}

impl Event {
    /// Writes it down, and says what the entry is called.
    fn record(
        &self,
        tx: &mut Tx<'_>,
        execution: &ExecutionId,
        outcome: Outcome,
    ) -> Result<Option<EventId>, silas_store::Error> {
        let execution = execution.clone();
        let event = match self {
            Event::Applied { changeset, files, landed } => {
                let landed = landed.as_ref().map(|text| tx.text(text)).transpose()?;
                AuditEvent::WorkApplied { execution, changeset: *changeset, files: *files, outcome, landed }
            }
            Event::Rehearsed { changeset, files } => {
                AuditEvent::WorkRehearsed { execution, changeset: *changeset, files: *files, outcome }
            }
            Event::Again => return Ok(None),
            Event::Ended { reason } => {
                let reason = tx.text(reason)?;
                AuditEvent::WorkEnded { execution, outcome, reason }
            }
            Event::Conflicted { paths } => {
                let files = u32_of(paths.len());
                let paths = tx.text(&paths.join("\n"))?;
                AuditEvent::ApplyConflicted { execution, files, paths }
            }
            Event::Unknown { begun } => {
                let step = match begun {
                    Begun::Step(step) => Some(*step),
                    Begun::Checks(_) => None,
                };
                AuditEvent::EffectUnknown { execution, step }
            }
        };
        Ok(Some(tx.record(&event)?.id))
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

/// What the checks said, as a sentence begins.
fn claimed(record: &WorkRecord) -> String {
    let turned = crate::words::turned(&record.before, &record.after);
    match record.view.outcome {
        _ if turned.is_empty() => "No check says whether that is right".to_owned(),
        Some(Outcome::GreenByExitCode) => {
            let judges = basis::changed_judges(&record.after).map_or_else(String::new, |said| format!(". {said}"));
            format!("{turned} by exit code{}", judges.trim_end_matches('.'))
        }
        Some(Outcome::Guarded) => {
            let judges = basis::changed_judges(&record.after).map_or_else(String::new, |said| format!(". {said}"));
            let shows_nothing = match record.is_checked_by_a_models_choice() {
                true => ". A model chose them, and none shows that what you asked is done",
                false => "",
            };
            format!("{turned}{}{shows_nothing}", judges.trim_end_matches('.'))
        }
        _ => turned,
    }
}

pub(super) fn kept_words(kept: &KeptText) -> String {
    format!("{}: the other text is kept at {}/{}", kept.path, kept.directory, kept.kept_at)
}
