//! The rows that the owner sees: what was counted, what it should be, and a note where it says something.
//!
//! What a figure should be and from where on it is a sign are two things: a month with few or many noes is a month like
//! any other until it is far out. Nothing is done about a sign here.

use super::pace::{QUICK, RECENT};
use super::tally::{Answers, Family, Tally, Times};
use crate::view::MeasureView;
use crate::words::count;
use silas_core::card::Risk;
use silas_core::number::grouped;

/// A share of fewer says nothing yet, and a kind of decision with fewer is not settled.
const ENOUGH: usize = 10;
/// A median above this is a sign of questions that are not clear.
const SLOW_SECONDS: u64 = 30;
/// A result should take no more of a hand than this.
const MOVES_MAX: usize = 3;

/// A share in percent: what it should be, and below and above which it is a sign of what.
struct Share {
    name: &'static str,
    target: &'static str,
    few: Option<(usize, &'static str)>,
    many: (usize, &'static str),
}

const DECLINED: Share = Share {
    name: "Declined",
    target: "5 to 15 %",
    few: Some((2, "So few that they may not be read.")),
    many: (30, "Many proposals do not fit."),
};
const SENT_BACK: Share =
    Share { name: "Sent back", target: "under 10 %", few: None, many: (10, "Plans often need another try.") };
const UNDONE: Share = Share {
    name: "Undone",
    target: "under 10 %",
    few: None,
    many: (10, "What was approved is often not what was meant."),
};
const TYPED: Share = Share {
    name: "Typed",
    target: "under 20 %",
    few: None,
    many: (20, "Much is typed. That is fine, and shows where buttons are missing."),
};

/// As a correction counts whatever was not taken as proposed: a no, "Ask for a change", and an undo of what was approved.
const fn corrected(name: &'static str) -> Share {
    Share { name, target: "under 10 %", few: None, many: (10, "What is proposed often has to be put right.") }
}

const FAMILIES: [(Family, Share); 4] = [
    (Family::Work, corrected("Corrected, of work")),
    (Family::Calls, corrected("Corrected, of calls")),
    (Family::Directories, corrected("Corrected, of directories")),
    (Family::Models, corrected("Corrected, of models")),
];

type IsOf = fn(Option<Risk>) -> bool;

/// What is risky should be looked at for longer. What is too quick or too slow is the same for all of them; for the highest
/// there is no other bound.
const TIMES: [(&str, &str, IsOf); 4] = [
    ("Time to decide", "2 to 15 s", |_| true),
    ("Time to decide, low risk", "2 to 5 s", |risk| risk == Some(Risk::Low)),
    ("Time to decide, medium risk", "5 to 15 s", |risk| risk == Some(Risk::Medium)),
    ("Time to decide, high risk", "5 to 30 s", |risk| matches!(risk, Some(Risk::High | Risk::Irreversible))),
];

pub(super) fn of(tally: &Tally) -> Vec<MeasureView> {
    let all = tally.answers.values().fold(Answers::default(), |sum, answers| sum.and(*answers));
    let n_undone = tally.n_undone.min(tally.n_applied);
    let mut rows: Vec<Option<MeasureView>> = TIMES.map(|(name, target, is_of)| time(name, target, tally, is_of)).into();
    rows.extend([
        by_hand(tally),
        share(&DECLINED, all.declined, all.total()),
        share(&SENT_BACK, all.sent_back, all.total()),
        share(&UNDONE, n_undone, tally.n_applied),
    ]);
    rows.extend(FAMILIES.map(|(family, row)| of_family(family, &row, tally)));
    rows.extend([
        share(&TYPED, tally.n_messages, tally.n_messages + tally.n_decided),
        (all.total() > 0).then(|| too_quick(tally.n_too_quick)),
    ]);
    rows.into_iter().flatten().collect()
}

fn row(name: &str, value: String, target: &str, note: &str) -> MeasureView {
    MeasureView { name: name.to_owned(), value, target: target.to_owned(), note: note.to_owned() }
}

fn share(Share { name, target, few, many }: &Share, n: usize, of: usize) -> Option<MeasureView> {
    if of == 0 {
        return None;
    }
    // Compared as it is, not as it is rounded for the eye.
    let hundredfold = n * 100;
    let note = match (few, many) {
        _ if of < ENOUGH => "",
        (Some((percent, sign)), _) if hundredfold < percent * of => sign,
        (_, (percent, sign)) if hundredfold > percent * of => sign,
        _ => "",
    };
    Some(row(name, format!("{} of {}, {} %", grouped(n), grouped(of), hundredfold / of), target, note))
}

/// The median.
fn time(name: &str, target: &str, tally: &Tally, is_of: IsOf) -> Option<MeasureView> {
    let times = tally.times.iter().filter(|(risk, _)| is_of(**risk));
    let times = times.fold(Times::default(), |sum, (_, times)| sum.and(times));
    let seconds = times.median()?;
    let note = match seconds {
        _ if times.len() < RECENT => "",
        quick if quick < QUICK.as_secs() => "Too quick to have been read.",
        slow if slow > SLOW_SECONDS => "Long: questions may be unclear, or wait for you.",
        _ => "",
    };
    let value = match seconds {
        0 => "under 1 s".to_owned(),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => "an hour or more".to_owned(),
    };
    Some(row(name, value, target, note))
}

fn of_family(family: Family, row: &Share, tally: &Tally) -> Option<MeasureView> {
    let of_it = tally.answers.iter().filter(|(kind, _)| Family::of(**kind) == Some(family));
    let answers = of_it.fold(Answers::default(), |sum, (_, answers)| sum.and(*answers));
    // Only what was applied can be undone.
    let n_undone = if family == Family::Work { tally.n_undone } else { 0 };
    let n_corrected = (answers.declined + answers.sent_back + n_undone).min(answers.total());
    (answers.total() >= ENOUGH).then(|| share(row, n_corrected, answers.total())).flatten()
}

/// What the hand did about work for each piece that was finished. What came to nothing is in it: that took a hand too.
fn by_hand(tally: &Tally) -> Option<MeasureView> {
    let (moves, n_finished) = (tally.moves, tally.n_applied);
    let tenths = (moves.total() * 10).checked_div(n_finished)?;
    let note = if moves.total() > MOVES_MAX * n_finished { "One result takes too much of your hands." } else { "" };
    let value =
        format!("{}.{} each: {} for {}", tenths / 10, tenths % 10, moves.in_words(), count(n_finished, "piece"));
    Some(row("By hand, for finished work", value, &format!("{MOVES_MAX} or fewer"), note))
}

fn too_quick(n_times: usize) -> MeasureView {
    let note = if n_times > 0 { "Too many questions. A grant may be better than another tap." } else { "" };
    row("Five too quick to be read", format!("{} this week", count(n_times, "time")), "less than once", note)
}
