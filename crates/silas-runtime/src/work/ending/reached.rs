//! What each way of ending leaves behind: a state, a card, a sentence in the Stream and a word in the ledger. Writing them
//! down is `ending.rs`'s.

use super::{CutBy, Ending, Job, Timestamp};
use crate::Trouble;
use crate::review::kinds::refusal::{Refused, Rule};
use crate::words::{basis, count, name_of, were_changed};
use crate::work::conflicting::Conflict;
use crate::work::job::u32_of;
use crate::work::lost;
use crate::work_record::{Begun, WorkRecord};
use silas_approval::Rehearsal;
use silas_core::card::Card;
use silas_core::changeset::ChangeOrder;
use silas_core::check::Outcome;
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::rehearsal::ApplyOrder;
use silas_core::taint::Source;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_core::{Digest, EventId, ExecutionId, MessageId, Tainted};
use silas_gates::scrub;
use silas_sandbox::{InPart, Waits};
use silas_store::Tx;

/// Of the names in the sentence about a refusal; the card has all of them.
const NAMES_CHARS_MAX: usize = 120;
const UNTOUCHED: &str = "Your files are untouched";
const NOTHING_APPLIED: &str = "Nothing applied";

/// An ending that is not written down yet.
pub(super) struct Reached {
    pub(super) state: ExecutionState,
    pub(super) card: Card,
    /// Counts, and a name that is in what the owner signed; what was printed stays on the card.
    pub(super) sentence: Tainted<String>,
    /// A plan that the card asks about and nobody has seen before, and the message with which it all began.
    pub(super) offered: Option<(WorkItem, MessageId)>,
    pub(super) undo_until: Option<Timestamp>,
    pub(super) event: Event,
}

impl Reached {
    fn new(state: ExecutionState, card: Card, sentence: String, event: Event) -> Self {
        let sentence = Tainted::new(sentence, Source::Own.taint());
        Reached { state, card, sentence, offered: None, undo_until: None, event }
    }

    /// A name on disk or of a host is in its sentence, which was for somebody else to say.
    fn said_elsewhere(self) -> Self {
        let elsewhere = Tainted::new((), Source::Elsewhere.taint());
        Reached { sentence: self.sentence.join(elsewhere, |sentence, ()| sentence), ..self }
    }
}

/// Hosts that were refused, and the plan that would have been enough.
struct Wanted<'a> {
    kind: Kind,
    rule: Rule,
    intent: &'a str,
    reason: &'a str,
}

impl Job {
    pub(super) fn reached(&mut self, ending: Ending, now: Timestamp) -> Result<Reached, Trouble> {
        match ending {
            Ending::Applied { files, undo_until } => self.reached_applied(files, undo_until, now),
            Ending::Rehearsed { waits, again } => self.reached_rehearsed(&waits, again, now),
            Ending::Untouched { intent, reason } => self.reached_untouched(intent, &reason),
            Ending::Refused { plan, trace, kind, rule, intent, reason } => {
                let wanted = Wanted { kind, rule, intent: &intent, reason: &reason };
                self.reached_refused(*plan, trace, wanted)
            }
            Ending::Conflict { paths } => self.reached_conflict(paths),
            Ending::Unknown { begun, plan, is_rehearsal, by } => self.reached_unknown(begun, *plan, is_rehearsal, by),
        }
    }

    fn stands_at(&mut self, place: &str, footer: &str) {
        self.record.view.place = place.to_owned();
        self.record.view.footer = footer.to_owned();
    }

    fn directory_name(&self) -> String {
        name_of(&self.record.directory)
    }

    fn reached_applied(&mut self, files: u32, undo_until: Timestamp, now: Timestamp) -> Result<Reached, Trouble> {
        if let Some(part) = self.record.in_part.clone() {
            return self.reached_in_part(&part, files, undo_until, now);
        }
        let said = format!("{} changed in {}", count(files as usize, "file"), self.directory_name());
        self.stands_at("Applied", &said);
        self.record.view.has_proof = true;
        self.record.files = files;
        let changeset = self.record.changeset.ok_or_else(lost)?;
        // Nothing is put in place that was not judged.
        self.record.view.outcome.ok_or_else(lost)?;
        let card = self.done_card(files, undo_until, now)?;
        let sentence = format!("{said}. {}.", claimed(&self.record));
        let event = Event::Applied { changeset, files, landed: self.record.take_landed() };
        let reached = Reached::new(ExecutionState::Applied, card, sentence, event);
        Ok(Reached { undo_until: Some(undo_until), ..reached })
    }

    /// Some of it is in place, and that is nothing that any check has seen: there is no proof of it, and it can be undone.
    fn reached_in_part(
        &mut self,
        part: &InPart,
        files: u32,
        undo_until: Timestamp,
        now: Timestamp,
    ) -> Result<Reached, Trouble> {
        let said = format!("Only {} changed in {}", count(files as usize, "file"), self.directory_name());
        self.stands_at("Applied in part", &said);
        self.record.files = files;
        self.record.view.outcome = Some(Outcome::Unproven);
        let changeset = self.record.changeset.ok_or_else(lost)?;
        let card = self.done_card(files, undo_until, now)?;
        let names = |paths: &[String]| scrub::visible_line(&paths.join(", "), NAMES_CHARS_MAX);
        let sentence = format!(
            "{said}: {}. Still as it was: {}. {} No check has seen this mix; it can be undone.",
            names(&part.new),
            names(&part.old),
            scrub::visible(&part.why)
        );
        let event = Event::Applied { changeset, files, landed: None };
        let reached = Reached::new(ExecutionState::Applied, card, sentence, event).said_elsewhere();
        Ok(Reached { undo_until: Some(undo_until), ..reached })
    }

    /// Tells what is in place, and offers to undo it.
    fn done_card(&self, files: u32, undo_until: Timestamp, now: Timestamp) -> Result<Card, Trouble> {
        let changeset = self.record.changeset.ok_or_else(lost)?;
        let execution = self.record.view.execution.clone();
        let window = undo_until.since(now);
        let house = &self.work.house;
        let face = house.words.done(&self.record.facts(), files, window.as_secs().div_ceil(60) * 60);
        let order = ChangeOrder { kind: Kind::Undo, execution, changeset };
        Ok(house.card(face, self.record.view.work_item.as_str(), Some(&order), window)?)
    }

    fn reached_rehearsed(&mut self, waits: &Waits, again: Option<String>, now: Timestamp) -> Result<Reached, Trouble> {
        self.stands_at("Rehearsed", UNTOUCHED);
        self.record.files = waits.files;
        // Nothing waits that was not judged.
        self.record.view.outcome.ok_or_else(lost)?;
        let house = &self.work.house;
        let face = house.words.rehearsed(&self.record.facts(), waits.files, house.options.undo_window.as_secs());
        let order = ApplyOrder {
            kind: Kind::Apply,
            execution: self.record.view.execution.clone(),
            plan_hash: self.record.plan_hash.ok_or_else(lost)?,
            changeset: waits.changeset,
            findings: waits.findings,
        };
        let card = house.card(face, self.record.view.work_item.as_str(), Some(&order), waits.until.since(now))?;
        let name = self.directory_name();
        if let Some(why) = again {
            // Why something could not be done may quote a name on disk.
            let sentence = format!("Nothing was applied in {name}. {why} The result still waits in Review.");
            return Ok(Reached::new(ExecutionState::Rehearsed, card, sentence, Event::Again).said_elsewhere());
        }
        let (n, checks) = (count(waits.files as usize, "file"), claimed(&self.record));
        let unnamed = match self.record.undeclared.len() {
            0 => String::new(),
            n => format!(" The plan does not name {n} of them."),
        };
        let sentence =
            format!("{n} would change in {name}. {checks}.{unnamed} Nothing is applied before you say so, in Review.");
        let event = Event::Rehearsed { changeset: waits.changeset, files: waits.files };
        Ok(Reached::new(ExecutionState::Rehearsed, card, sentence, event))
    }

    fn reached_untouched(&mut self, intent: String, reason: &str) -> Result<Reached, Trouble> {
        self.stands_at(NOTHING_APPLIED, UNTOUCHED);
        let house = &self.work.house;
        let face = house.words.report(&self.record.facts(), &intent, reason);
        let card = house.card::<ChangeOrder>(face, "", None, std::time::Duration::ZERO)?;
        let name = self.directory_name();
        let ran = self.record.ran().map_or_else(String::new, |ran| format!(" {ran}."));
        let sentence = format!("{intent}.{ran} Your files in {name} are untouched.{}", self.again.words());
        let event = Event::Ended { reason: format!("{intent}. {reason}") };
        Ok(Reached::new(ExecutionState::Ended, card, sentence, event))
    }

    fn reached_refused(&mut self, plan: WorkItem, trace: MessageId, wanted: Wanted<'_>) -> Result<Reached, Trouble> {
        let Wanted { kind, rule, intent, reason } = wanted;
        self.stands_at(NOTHING_APPLIED, UNTOUCHED);
        let said = self.record.said.as_deref();
        let house = &self.work.house;
        let refused = Refused { plan: &plan, rule, kind, intent, reason, said };
        let face = house.words.refusal(&self.record.facts(), &refused);
        let (about, lasts) = (plan.id().to_string(), house.options.plan_timeout);
        let card = match kind {
            Kind::Rehearsal => house.card(face, &about, Some(&Rehearsal(plan.clone())), lasts)?,
            _ => house.card(face, &about, Some(&plan), lasts)?,
        };
        let (name, names) =
            (self.directory_name(), scrub::visible_line(&self.wanted_names().join(", "), NAMES_CHARS_MAX));
        let sentence = format!(
            "{intent}. Your files in {name} are untouched. It asked for {names}, which it may not reach: nothing was sent \
             there. What now is asked in Review."
        );
        let event = Event::Ended { reason: format!("{intent}. {reason}") };
        // Which name that is was for the command to say.
        let reached = Reached::new(ExecutionState::Ended, card, sentence, event).said_elsewhere();
        Ok(Reached { offered: Some((plan, trace)), ..reached })
    }

    fn reached_conflict(&mut self, paths: Vec<String>) -> Result<Reached, Trouble> {
        self.stands_at(NOTHING_APPLIED, UNTOUCHED);
        let Conflict { card, merge } = self.conflict(&paths)?;
        let ways = match (&merge, card.offer.is_some()) {
            (Some(_), _) => " Both edits go together; merge them or have it done again, in Review.",
            (None, true) => " It can be done again on your version, in Review.",
            (None, false) => "",
        };
        let place = format!(" in {}", self.directory_name());
        let sentence = format!("Nothing was applied: {} meanwhile.{ways}", were_changed(paths.len(), &place));
        let reached = Reached::new(ExecutionState::Ended, card, sentence, Event::Conflicted { paths });
        Ok(Reached { offered: merge, ..reached })
    }

    fn reached_unknown(
        &mut self,
        begun: Begun,
        plan: WorkItem,
        is_rehearsal: bool,
        by: CutBy,
    ) -> Result<Reached, Trouble> {
        let cut = match by {
            CutBy::Interruption => "Interrupted",
            CutBy::Owner => "Stopped",
        };
        self.stands_at(cut, UNTOUCHED);
        let house = &self.work.house;
        let face = house.words.unknown_effect(&plan);
        let (about, lasts) = (plan.id().to_string(), house.options.plan_timeout);
        // The same question again, of the same kind: what was to be shown first is not applied now either.
        let card = match is_rehearsal {
            true => house.card(face, &about, Some(&Rehearsal(plan)), lasts)?,
            false => house.card(face, &about, Some(&plan), lasts)?,
        };
        let sentence = format!(
            "{cut} while it may have acted outside. Your files in {} are untouched. What is true is asked in Review.",
            self.directory_name()
        );
        Ok(Reached::new(ExecutionState::Ended, card, sentence, Event::Unknown { begun }))
    }
}

/// The ledger's word about an ending; texts enter the ledger in its own transaction.
#[derive(Clone)]
pub(super) enum Event {
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
    pub(super) fn record(
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

/// What the checks said, as a sentence begins.
fn claimed(record: &WorkRecord) -> String {
    let turned = crate::words::turned(&record.before, &record.after);
    match record.view.outcome {
        _ if turned.is_empty() => {
            let ran = record.ran().map_or_else(String::new, |ran| format!("{ran}. "));
            format!("{ran}No check says whether that is right")
        }
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
