//! How deciding goes: whether the questions are few, clear and worth asking, measured from the ledger of the last month.
//!
//! Nothing of it leaves the machine, and nothing is decided by it. How risky a question was stands on its card, beside the
//! ledger. What needs batches or thresholds enters with them.

use crate::view::MeasureView;
use crate::words::count;
use crate::{Stream, Trouble};
use silas_core::card::Risk;
use silas_core::event::AuditEvent;
use silas_core::number::grouped;
use silas_core::token::{Kind, Verdict};
use silas_core::{CardId, Taint, Timestamp};
use silas_store::cards;
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
/// A share of fewer says nothing yet.
const ENOUGH: usize = 10;
/// More taps than these for one result are in the way.
const TAPS_MAX: usize = 3;

/// A card that was answered.
struct Answer {
    kind: Kind,
    verdict: Verdict,
    /// `None` where its card is not kept any more or names none.
    risk: Option<Risk>,
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
        let looking = self.store.read(move |tx| {
            let head = ledger::head(tx)?.map_or(0, |(seq, _)| seq);
            let entries = ledger::entries(tx, head.saturating_sub(u64::from(ENTRIES_MAX)) + 1, ENTRIES_MAX)?;
            let mut risks = HashMap::new();
            for entry in &entries {
                if let Some(AuditEvent::DecisionRecorded { card, .. }) = &entry.event
                    && let Some(risk) = cards::risk(tx, card)?
                {
                    risks.insert(card.clone(), risk);
                }
            }
            Ok((entries, risks))
        });
        let (entries, risks) = looking.await?;
        Ok(measure(&seen(&entries, &risks, from), now))
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn seen(entries: &[Entry], risks: &HashMap<CardId, Risk>, from: Timestamp) -> Seen {
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
                    let (risk, took) = (risks.get(card).copied(), at.since(since));
                    seen.answers.push(Answer { kind: *kind, verdict: *verdict, risk, took, at });
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
    let rubber = "So few that they may not be read.";
    let n_decided = questions.len();
    let mut measures = vec![time("Time to decide", "2 to 15 s", &questions, |_| true)];
    measures.extend(RISKS.map(|(name, target, is_of)| time(name, target, &questions, is_of)));
    measures.extend([
        taps(&questions, seen.n_applied),
        rate("Declined", n_of(Verdict::Declined), n_decided, (5, 15), (rubber, "Many proposals do not fit.")),
        rate("Sent back", n_of(Verdict::EditRequested), n_decided, (0, 10), ("", "Plans often need another try.")),
        rate("Undone", seen.n_undone, seen.n_applied, (0, 10), ("", "What was approved is often not what was meant.")),
    ]);
    measures.extend(FAMILIES.map(|family| corrected(family, &questions, seen.n_undone)));
    measures.extend([
        rate(
            "Typed",
            seen.n_messages,
            seen.n_messages + seen.answers.len(),
            (0, 20),
            ("", "More is said than tapped. That is fine without a model."),
        ),
        quick(&questions, now),
    ]);
    measures.into_iter().flatten().collect()
}

fn rate(name: &str, n: usize, of: usize, target: (usize, usize), (few, many): (&str, &str)) -> Option<MeasureView> {
    if of == 0 {
        return None;
    }
    let percent = n * 100 / of;
    let note = match () {
        () if of >= ENOUGH && percent < target.0 => few,
        () if of >= ENOUGH && percent > target.1 => many,
        () => "",
    };
    let range = if target.0 == 0 { format!("under {} %", target.1) } else { format!("{} to {} %", target.0, target.1) };
    Some(MeasureView {
        name: name.to_owned(),
        value: format!("{} of {}, {percent} %", grouped(n), grouped(of)),
        target: range,
        note: note.to_owned(),
    })
}

type IsOf = fn(Option<Risk>) -> bool;

/// What is risky should be looked at for longer. For the highest there is no other bound than the one for unclear questions.
const RISKS: [(&str, &str, IsOf); 3] = [
    ("Time to decide, low risk", "2 to 5 s", |risk| risk == Some(Risk::Low)),
    ("Time to decide, medium risk", "5 to 15 s", |risk| risk == Some(Risk::Medium)),
    ("Time to decide, high risk", "5 to 30 s", |risk| matches!(risk, Some(Risk::High | Risk::Irreversible))),
];

/// The median.
fn time(name: &str, target: &str, questions: &[&Answer], is_of: IsOf) -> Option<MeasureView> {
    let mut times: Vec<Duration> =
        questions.iter().filter(|answer| is_of(answer.risk)).map(|answer| answer.took).collect();
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
    Some(MeasureView { name: name.to_owned(), value, target: target.to_owned(), note: note.to_owned() })
}

/// What decisions are about, where being corrected says something about the proposals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Work,
    Calls,
    Directories,
    Models,
}

const FAMILIES: [(Family, &str); 4] = [
    (Family::Work, "Corrected, of work"),
    (Family::Calls, "Corrected, of calls"),
    (Family::Directories, "Corrected, of directories"),
    (Family::Models, "Corrected, of models"),
];

fn family(kind: Kind) -> Option<Family> {
    match kind {
        Kind::Plan | Kind::Rehearsal | Kind::Apply => Some(Family::Work),
        Kind::Step => Some(Family::Calls),
        Kind::Root => Some(Family::Directories),
        Kind::Model | Kind::Budget => Some(Family::Models),
        // Nobody proposes these; the owner asks for them.
        Kind::HouseRules | Kind::Undo | Kind::Device => None,
    }
}

/// How often a family was sent back or undone, once there is enough of it. A no is an answer and corrects nothing.
fn corrected((of, name): (Family, &str), questions: &[&Answer], n_undone: usize) -> Option<MeasureView> {
    let decided: Vec<&&Answer> = questions.iter().filter(|answer| family(answer.kind) == Some(of)).collect();
    if decided.len() < ENOUGH {
        return None;
    }
    let n_sent_back = decided.iter().filter(|answer| answer.verdict == Verdict::EditRequested).count();
    let n_undone = if of == Family::Work { n_undone } else { 0 };
    let many = "What is proposed often has to be put right.";
    rate(name, (n_sent_back + n_undone).min(decided.len()), decided.len(), (0, 10), ("", many))
}

/// How many decisions a finished piece of work took.
fn taps(questions: &[&Answer], n_applied: usize) -> Option<MeasureView> {
    if n_applied == 0 {
        return None;
    }
    let is_of_work = |answer: &&&Answer| matches!(family(answer.kind), Some(Family::Work | Family::Calls));
    let n_taps = questions.iter().filter(is_of_work).count();
    let tenths = n_taps * 10 / n_applied;
    let note = if n_taps > TAPS_MAX * n_applied { "One result takes too many taps." } else { "" };
    Some(MeasureView {
        name: "Taps for finished work".to_owned(),
        value: format!("{}.{} each, {} for {}", tenths / 10, tenths % 10, grouped(n_taps), grouped(n_applied)),
        target: format!("{TAPS_MAX} or fewer"),
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
