//! "What did you do while I slept?": a stretch of time, counted from the ledger and told in one sentence. No model has a
//! part in it.
//!
//! When the owner was away is in the ledger too: the longest pause between two things that they did themselves.

use crate::activity::{self, Told};
use crate::stream::Lookup;
use crate::view::PeriodView;
use crate::words::{Words, count, duration};
use crate::{Stream, Trouble};
use silas_core::event::AuditEvent;
use silas_core::model::dollars;
use silas_core::reflex::Asked;
use silas_core::{Taint, Timestamp};
use silas_store::ReadTx;
use silas_store::ledger::{self, Entry};
use std::time::Duration;

/// How far back a pause of the owner's is looked for.
const LOOK_BACK: Duration = Duration::from_secs(24 * 3600);
/// A shorter pause is not being away.
const PAUSE_MIN: Duration = Duration::from_secs(30 * 60);
/// Entries that are read for one answer, at most; a busy week has fewer.
const ENTRIES_MAX: u64 = 20_000;

/// What happened in a stretch of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Tally {
    begun: usize,
    proved: usize,
    applied: usize,
    files: usize,
    rehearsed: usize,
    ended: usize,
    undone: usize,
    tasks: usize,
    reached: usize,
    refused: usize,
    asked_models: usize,
    microusd: u64,
    questions: usize,
    unknown: usize,
}

impl Stream {
    /// The sentence for the period that was asked for, and its rows, newest first.
    pub(crate) async fn tell_period(&self, asked: Asked, n_max: usize) -> Result<(String, Vec<Told>), Trouble> {
        let (now, words) = (self.clock.now(), self.words.clone());
        let telling = self.store.read(move |tx| {
            let from = match asked {
                Asked::Lately => Timestamp::EPOCH,
                // A pause may have begun before the day in which it ended.
                Asked::Away => before(now, LOOK_BACK + LOOK_BACK),
                Asked::Hours(hours) => before(now, Duration::from_secs(u64::from(hours) * 3600)),
            };
            let entries = since(tx, from)?;
            let (summary, from, to) = match asked {
                Asked::Lately => (None, from, now),
                Asked::Away => match pause(acts(&entries), now) {
                    Some((from, to)) => (Some(sentence("While you were away", from, to, &entries, &words)), from, to),
                    None => {
                        let none = "You were not away for half an hour in the last day. Lately:".to_owned();
                        (Some(none), from, now)
                    }
                },
                Asked::Hours(_) => (Some(sentence("In this time", from, now, &entries, &words)), from, now),
            };
            let mut told = activity::narrate(&entries, &Lookup(tx), &words);
            told.retain(|told| (from..=to).contains(&told.row.at));
            let summary = summary.unwrap_or_else(|| activity::summary(&told));
            told.truncate(n_max);
            Ok((summary, told))
        });
        Ok(telling.await?)
    }
}

/// The owner's last pause among these entries, for Activity.
pub(crate) fn away(entries: &[Entry], now: Timestamp, words: &Words) -> Option<PeriodView> {
    // Whoever opens Activity in the morning has not done anything yet; their pause goes on until now.
    let (from, to) = pause(acts(entries).chain([now]), now)?;
    let microusd = tally(from, to, entries).microusd;
    Some(PeriodView { from, to, text: sentence("While you were away", from, to, entries, words), microusd })
}

fn before(now: Timestamp, span: Duration) -> Timestamp {
    Timestamp::from_micros(now.micros().saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
}

/// Entries from this instant on, oldest first.
fn since(tx: &ReadTx<'_>, from: Timestamp) -> Result<Vec<Entry>, silas_store::Error> {
    let head = ledger::head(tx)?.map_or(0, |(seq, _)| seq);
    let page = u64::from(ledger::ENTRIES_MAX);
    let mut pages = Vec::new();
    let mut next = head;
    while next > 0 && head - next < ENTRIES_MAX {
        let first = next.saturating_sub(page - 1).max(1);
        let entries = ledger::entries(tx, first, ledger::ENTRIES_MAX)?;
        let entries: Vec<Entry> = entries.into_iter().filter(|entry| entry.seq <= next).collect();
        let is_last = entries.first().is_none_or(|entry| entry.at < from);
        pages.push(entries);
        next = first - 1;
        if is_last {
            break;
        }
    }
    Ok(pages.into_iter().rev().flatten().filter(|entry| entry.at >= from).collect())
}

/// Whether the owner did this themselves.
fn is_owners(event: &AuditEvent) -> bool {
    matches!(
        event,
        AuditEvent::MessageReceived { taint: Taint::Owner, .. }
            | AuditEvent::DecisionRecorded { .. }
            | AuditEvent::HouseRulesSigned { .. }
            | AuditEvent::DevicePaired { .. }
            | AuditEvent::QuestionAnswered { .. }
            | AuditEvent::GrantRevoked { .. }
    )
}

/// When the owner did something.
fn acts(entries: &[Entry]) -> impl Iterator<Item = Timestamp> {
    entries.iter().filter(|entry| entry.event.as_ref().is_some_and(is_owners)).map(|entry| entry.at)
}

/// The longest time between two things that the owner did, if it ended in the last day.
fn pause(acts: impl Iterator<Item = Timestamp>, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let mut acts: Vec<Timestamp> = acts.collect();
    acts.sort();
    let pauses = acts.windows(2).map(|pair| (pair[0], pair[1]));
    let recent = pauses.filter(|(from, to)| now.since(*to) <= LOOK_BACK && to.since(*from) >= PAUSE_MIN);
    recent.max_by_key(|(from, to)| to.since(*from))
}

fn sentence(when: &str, from: Timestamp, to: Timestamp, entries: &[Entry], words: &Words) -> String {
    let took = duration(to.since(from).as_secs() / 60 * 60);
    format!("{when}, {} ({took}): {}.", words.span(from, to), tally(from, to, entries).words())
}

fn tally(from: Timestamp, to: Timestamp, entries: &[Entry]) -> Tally {
    let within = entries.iter().filter(|entry| (from..=to).contains(&entry.at));
    within.filter_map(|entry| entry.event.as_ref()).fold(Tally::default(), counted)
}

fn counted(mut tally: Tally, event: &AuditEvent) -> Tally {
    match event {
        AuditEvent::WorkStarted { .. } => tally.begun += 1,
        AuditEvent::WorkApplied { files, outcome, .. } => {
            tally.applied += 1;
            tally.files += *files as usize;
            tally.proved += usize::from(*outcome == silas_core::check::Outcome::Proved);
        }
        AuditEvent::WorkRehearsed { .. } => tally.rehearsed += 1,
        AuditEvent::WorkEnded { .. } | AuditEvent::ApplyConflicted { .. } => tally.ended += 1,
        AuditEvent::EffectUnknown { .. } => tally.unknown += 1,
        AuditEvent::WorkUndone { .. } => tally.undone += 1,
        AuditEvent::TaskAdded { .. } | AuditEvent::TaskCompleted { .. } | AuditEvent::TaskReopened { .. } => {
            tally.tasks += 1;
        }
        AuditEvent::ConnectionMade { .. } => tally.reached += 1,
        AuditEvent::ModelAnswered { microusd, .. } => {
            tally.asked_models += 1;
            tally.microusd += microusd;
        }
        AuditEvent::CardOffered { .. } => tally.questions += 1,
        AuditEvent::DecisionRefused { .. }
        | AuditEvent::WithdrawalRefused { .. }
        | AuditEvent::MessageReplayed { .. }
        | AuditEvent::ExecutionBlockedNoApproval { .. }
        | AuditEvent::ConnectionRefused { .. }
        | AuditEvent::CredentialRefused { .. }
        | AuditEvent::ModelRefused { .. }
        | AuditEvent::InstructionRefused { .. } => tally.refused += 1,
        _ => {}
    }
    tally
}

impl Tally {
    fn words(&self) -> String {
        let mut parts = Vec::new();
        let mut say = |n: usize, words: String| {
            if n > 0 {
                parts.push(words);
            }
        };
        say(self.begun, format!("{} of work begun", count(self.begun, "piece")));
        say(self.applied, format!("{} applied in {}, {} proved", self.applied, count(self.files, "file"), self.proved));
        say(self.rehearsed, format!("{} tried out and kept for you", self.rehearsed));
        say(self.ended, format!("{} ended without touching anything", self.ended));
        say(self.unknown, format!("{} interrupted with an unknown effect", self.unknown));
        say(self.undone, format!("{} undone", self.undone));
        say(self.tasks, count(self.tasks, "task change"));
        say(self.reached, format!("{} outside", count(self.reached, "connection")));
        let cost = dollars(self.microusd);
        say(self.asked_models, format!("{} to models for {cost}", count(self.asked_models, "question")));
        say(self.questions, format!("{} put to you", count(self.questions, "question")));
        say(self.refused, count(self.refused, "refusal"));
        if parts.is_empty() { "nothing happened".to_owned() } else { parts.join(", ") }
    }
}

#[cfg(test)]
mod tests;
