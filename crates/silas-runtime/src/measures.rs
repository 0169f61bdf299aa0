//! How deciding goes: whether the questions are few, clear and worth asking, measured from the ledger of the last month.
//!
//! Nothing of it leaves the machine, and nothing is decided by it. What needs batches or thresholds enters with them.

use crate::view::MeasureView;
use crate::words::count;
use crate::{Stream, Trouble};
use silas_core::event::AuditEvent;
use silas_core::token::{Kind, Verdict};
use silas_core::{CardId, Taint, Timestamp};
use silas_store::ledger::{self, Entry};
use std::collections::HashMap;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(30 * 24 * 3600);
/// Entries that are looked at, at most; a busy month has fewer.
const ENTRIES_MAX: u32 = 20_000;
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
/// A decision in less was not read.
const QUICK: Duration = Duration::from_secs(1);
/// A decision that took longer than this was not clear.
const SLOW: Duration = Duration::from_secs(30);
/// So many quick ones in a row are a sign of too many questions.
const QUICK_IN_A_ROW: u32 = 5;

/// A card that was answered.
struct Answer {
    kind: Kind,
    verdict: Verdict,
    /// Since it was the one that could be answered: cards wait for the ones before them.
    took: Duration,
    at: Timestamp,
}

#[derive(Default)]
struct Seen {
    answers: Vec<Answer>,
    n_messages: usize,
    n_applied: usize,
    n_undone: usize,
}

impl Stream {
    pub async fn measures(&self) -> Result<Vec<MeasureView>, Trouble> {
        let now = self.clock.now();
        let from = Timestamp::from_micros(now.micros().saturating_sub(micros(WINDOW)));
        let entries = self.store.read(move |tx| {
            let head = ledger::head(tx)?.map_or(0, |(seq, _)| seq);
            ledger::entries(tx, head.saturating_sub(u64::from(ENTRIES_MAX)) + 1, ENTRIES_MAX)
        });
        Ok(measure(&seen(&entries.await?, from), now))
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn seen(entries: &[Entry], from: Timestamp) -> Seen {
    let mut seen = Seen::default();
    let mut offered: HashMap<&CardId, Timestamp> = HashMap::new();
    let mut last = None;
    for entry in entries {
        let at = entry.at;
        let counts = at >= from;
        match &entry.event {
            Some(AuditEvent::CardOffered { card, .. } | AuditEvent::CardRenewed { card }) => {
                offered.insert(card, at);
            }
            Some(AuditEvent::DecisionRecorded { card, kind, verdict, .. }) => {
                let since = offered.get(card).copied().max(last);
                last = Some(at);
                // What is signed as it is typed was never a question.
                let was_asked = *kind != Kind::Step || offered.contains_key(card);
                if let (true, Some(since), true) = (counts, since, was_asked) {
                    seen.answers.push(Answer { kind: *kind, verdict: *verdict, took: at.since(since), at });
                }
            }
            Some(AuditEvent::MessageReceived { taint: Taint::Owner, .. }) if counts => seen.n_messages += 1,
            Some(AuditEvent::WorkApplied { .. }) if counts => seen.n_applied += 1,
            Some(AuditEvent::WorkUndone { .. }) if counts => seen.n_undone += 1,
            _ => {}
        }
    }
    seen
}

fn measure(seen: &Seen, now: Timestamp) -> Vec<MeasureView> {
    let questions: Vec<&Answer> = seen.answers.iter().filter(|answer| answer.kind != Kind::Undo).collect();
    let n_of = |verdict: Verdict| questions.iter().filter(|answer| answer.verdict == verdict).count();
    let rate = |name: &str, n: usize, of: usize, target: (usize, usize), (few, many): (&str, &str)| {
        if of == 0 {
            return None;
        }
        let percent = n * 100 / of;
        // A share of a handful says nothing yet.
        let is_enough = of >= 10;
        let note = match () {
            () if is_enough && percent < target.0 => few,
            () if is_enough && percent > target.1 => many,
            () => "",
        };
        let range =
            if target.0 == 0 { format!("under {} %", target.1) } else { format!("{} to {} %", target.0, target.1) };
        Some(MeasureView {
            name: name.to_owned(),
            value: format!("{n} of {of}, {percent} %"),
            target: range,
            note: note.to_owned(),
        })
    };
    let rubber = "So few that they may not be read.";
    let n_decided = questions.len();
    let measures = [
        time(&questions),
        rate("Declined", n_of(Verdict::Declined), n_decided, (5, 15), (rubber, "Many proposals do not fit.")),
        rate("Sent back", n_of(Verdict::EditRequested), n_decided, (0, 10), ("", "Plans often need another try.")),
        rate("Undone", seen.n_undone, seen.n_applied, (0, 10), ("", "What was approved is often not what was meant.")),
        rate(
            "Typed",
            seen.n_messages,
            seen.n_messages + seen.answers.len(),
            (0, 20),
            ("", "More is said than tapped. That is fine without a model."),
        ),
        quick(&questions, now),
    ];
    measures.into_iter().flatten().collect()
}

/// The median.
fn time(questions: &[&Answer]) -> Option<MeasureView> {
    let mut times: Vec<Duration> = questions.iter().map(|answer| answer.took).collect();
    times.sort_unstable();
    let median = *times.get(times.len() / 2)?;
    let note = match median {
        quick if quick < QUICK => "Too quick to have been read.",
        slow if slow > SLOW => "Long: questions may be unclear, or wait for you.",
        _ => "",
    };
    let value = match median.as_secs() {
        0 => "under 1 s".to_owned(),
        s @ 1..60 => format!("{s} s"),
        s => format!("{} min", s / 60),
    };
    Some(MeasureView {
        name: "Time to decide".to_owned(),
        value,
        target: "2 to 15 s".to_owned(),
        note: note.to_owned(),
    })
}

/// How often in the last week five in a row were quick.
fn quick(questions: &[&Answer], now: Timestamp) -> Option<MeasureView> {
    let mut n_runs: usize = 0;
    let mut n_in_a_row = 0;
    for answer in questions.iter().filter(|answer| now.since(answer.at) <= WEEK) {
        n_in_a_row = if answer.took < QUICK { n_in_a_row + 1 } else { 0 };
        if n_in_a_row == QUICK_IN_A_ROW {
            n_runs += 1;
            n_in_a_row = 0;
        }
    }
    if questions.is_empty() {
        return None;
    }
    let note = if n_runs > 0 { "Too many questions. A grant may be better than another tap." } else { "" };
    Some(MeasureView {
        name: "Five quick ones in a row".to_owned(),
        value: format!("{} this week", count(n_runs, "time")),
        target: "none".to_owned(),
        note: note.to_owned(),
    })
}

#[cfg(test)]
mod tests;
