//! "What did you do while I slept?": a stretch of time, counted from the ledger and told in one sentence. No model has a
//! part in it.
//!
//! When the owner was away is in the ledger too: the longest pause between two things that they did themselves.

use crate::hub::activity::{self, Told};
use crate::hub::{Hub, Lookup};
use crate::view::PeriodView;
use crate::words::{count, duration};
use crate::{Trouble, Words};
use silas_core::Timestamp;
use silas_core::event::AuditEvent;
use silas_core::model::dollars;
use silas_core::number::grouped;
use silas_core::reflex::Asked;
use silas_store::ReadTx;
use silas_store::ledger::{self, Entry};
use std::time::Duration;

/// How far back a pause of the owner's is looked for.
const LOOK_BACK: Duration = Duration::from_secs(24 * 3600);
/// A shorter pause is not being away.
const PAUSE_MIN: Duration = Duration::from_secs(30 * 60);
/// Entries that are read for one answer, at most; a busy week has fewer. Where there are more, the answer says so.
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

impl Hub {
    /// The sentence for the period that was asked for, and its rows, newest first.
    pub(crate) async fn tell_period(&self, asked: Asked, n_max: usize) -> Result<(String, Vec<Told>), Trouble> {
        let (now, words) = (self.house.clock.now(), self.house.words.clone());
        let telling = self.house.store.read(move |tx| {
            let (summary, mut told) = tell(tx, asked, now, &words, ENTRIES_MAX)?;
            told.truncate(n_max);
            Ok((summary, told))
        });
        Ok(telling.await?)
    }
}

fn tell(
    tx: &ReadTx<'_>,
    asked: Asked,
    now: Timestamp,
    words: &Words,
    n_max: u64,
) -> Result<(String, Vec<Told>), silas_store::Error> {
    let from = match asked {
        Asked::Lately => Timestamp::EPOCH,
        // A pause may have begun before the day in which it ended.
        Asked::Away => before(now, LOOK_BACK + LOOK_BACK),
        Asked::Hours(hours) => before(now, Duration::from_secs(u64::from(hours) * 3600)),
    };
    let (entries, read_from) = since(tx, from, n_max)?;
    let from = read_from.unwrap_or(from);
    let (summary, from, to) = match asked {
        Asked::Lately => (None, from, now),
        Asked::Away => match pause(acts(&entries), now) {
            Some((from, to)) => (Some(sentence("While you were away", from, to, &entries, words)), from, to),
            None => {
                let when = if read_from.is_some() { "in this time" } else { "in the last day" };
                (Some(format!("You were not away for half an hour {when}. Lately:")), from, now)
            }
        },
        Asked::Hours(_) => (Some(sentence("In this time", from, now, &entries, words)), from, now),
    };
    let mut told = activity::narrate(&entries, &Lookup(tx), words);
    told.retain(|told| (from..=to).contains(&told.row.at));
    let summary = summary.unwrap_or_else(|| activity::summary(&told, false));
    Ok(match read_from {
        Some(read_from) => (format!("{} {summary}", cut_short(read_from, words)), told),
        None => (summary, told),
    })
}

/// Said first, because what follows is true only of what was read.
fn cut_short(read_from: Timestamp, words: &Words) -> String {
    let since = words.moment(read_from);
    format!("So much happened that only the time since {since} is told here; Activity has the rest.")
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

/// Entries from this instant on, oldest first. If they are more than so many, the last of them, and since when.
fn since(tx: &ReadTx<'_>, from: Timestamp, n_max: u64) -> Result<(Vec<Entry>, Option<Timestamp>), silas_store::Error> {
    let head = ledger::head(tx)?.map_or(0, |(seq, _)| seq);
    let asked_for = ledger::first_since(tx, from)?;
    let first = asked_for.max((head + 1).saturating_sub(n_max));
    let mut all: Vec<Entry> = Vec::new();
    loop {
        let next = all.last().map_or(first, |last| last.seq + 1);
        let page = ledger::entries(tx, next, ledger::ENTRIES_MAX)?;
        if page.is_empty() {
            let read_from = all.first().filter(|_| first > asked_for).map(|first| first.at);
            return Ok((all, read_from));
        }
        all.extend(page);
    }
}

/// When the owner did something.
fn acts(entries: &[Entry]) -> impl Iterator<Item = Timestamp> {
    entries
        .iter()
        .filter(|entry| entry.event.as_ref().is_some_and(|event| event.about().is_owners))
        .map(|entry| entry.at)
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
        say(
            self.applied,
            format!(
                "{} applied in {}, {} proved",
                grouped(self.applied),
                count(self.files, "file"),
                grouped(self.proved)
            ),
        );
        say(self.rehearsed, format!("{} tried out and kept for you", grouped(self.rehearsed)));
        say(self.ended, format!("{} ended without touching anything", grouped(self.ended)));
        say(self.unknown, format!("{} interrupted with an unknown effect", self.unknown));
        say(self.undone, format!("{} undone", grouped(self.undone)));
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
