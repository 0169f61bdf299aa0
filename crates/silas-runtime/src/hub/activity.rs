//! The ledger, told in rows. Every row carries the number of the entry that it tells; its words are in `sentences.rs`.

use crate::Trouble;
use crate::hub::{Hub, Lookup};
use crate::view::{ActivityPage, ActivityView, Icon, PeriodView, Row, Spent};
use crate::words::{Words, count};
use sentences::sentence;
use silas_core::check::Outcome;
use silas_core::checkpoint::Head;
use silas_core::event::{AuditEvent, Text, Topic};
use silas_core::number::grouped;
use silas_core::{CallId, ExecutionId, KeyId, Taint, TokenId};
use silas_store::ledger::{self, Entry};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) mod evidence;
mod sentences;

/// Rows that Activity shows at first.
pub(crate) const ROWS_MAX: usize = 100;
/// Rows of each page before those, and the entries that one is told from. A page is a message, and those are counted.
const PAGE_ROWS_MAX: usize = 500;
const PAGE_ENTRIES_MAX: u32 = 1_000;

/// What a narrator may look up beside the chain.
pub(crate) trait Beside {
    fn text(&self, text: &Text) -> Option<String>;
    fn device(&self, key: &KeyId) -> Option<String>;
    /// What a grant is called in the list of grants.
    fn grant(&self, token: &TokenId, words: &Words) -> Option<String>;
}

/// A row, and whose words are in it.
pub(crate) struct Told {
    pub(crate) row: Row,
    pub(crate) taint: Taint,
    /// The run that was proved: it is told of when it was tried out, and again when it was applied.
    proved: Option<ExecutionId>,
}

fn proved(event: &AuditEvent) -> Option<ExecutionId> {
    match event {
        AuditEvent::WorkRehearsed { execution, outcome: Outcome::Proved, .. }
        | AuditEvent::WorkApplied { execution, outcome: Outcome::Proved, .. } => Some(execution.clone()),
        _ => None,
    }
}

/// Newest first. Entries that are only of use to a machine have no row.
pub(crate) fn narrate(entries: &[Entry], beside: &dyn Beside, words: &Words) -> Vec<Told> {
    let called = called(entries);
    let told = |entry: &Entry| {
        let event = entry.event.as_ref()?;
        let about = event.about();
        let told = Told { row: row(entry, &called, beside, words)?, taint: about.taint, proved: proved(event) };
        Some((told, about.may_repeat))
    };
    let mut rows: Vec<(Told, bool)> = entries.iter().filter_map(told).collect();
    rows.sort_by_key(|(told, _)| std::cmp::Reverse(told.row.seq));
    told_once(rows)
}

/// The newest of these rows, and before which entry there is more to tell.
pub(crate) fn newest(mut rows: Vec<Told>, entries: &[Entry], rows_max: usize) -> (Vec<Told>, Option<u64>) {
    let earlier = match rows.get(rows_max) {
        Some(first_left_out) => Some(first_left_out.row.seq + 1),
        None => entries.first().map(|oldest| oldest.seq).filter(|seq| *seq > 1),
    };
    rows.truncate(rows_max);
    (rows, earlier)
}

impl Hub {
    /// What happened before an entry of the ledger.
    pub async fn activity_before(&self, seq: u64) -> Result<ActivityPage, Trouble> {
        let words = self.house.words.clone();
        let telling = self.house.store.read(move |tx| {
            let entries = ledger::before(tx, seq, PAGE_ENTRIES_MAX)?;
            let (rows, earlier) = newest(narrate(&entries, &Lookup(tx), &words), &entries, PAGE_ROWS_MAX);
            Ok(ActivityPage { rows: rows.into_iter().map(|told| told.row).collect(), earlier })
        });
        Ok(telling.await?)
    }
}

/// Which model each call went to.
fn called(entries: &[Entry]) -> BTreeMap<&CallId, &str> {
    let calls = entries.iter().filter_map(|entry| match entry.event.as_ref()? {
        AuditEvent::ModelCalled { call, model, .. } => Some((call, model.as_str())),
        _ => None,
    });
    calls.collect()
}

/// The row that tells an entry, if it is told.
fn row(entry: &Entry, called: &BTreeMap<&CallId, &str>, beside: &dyn Beside, words: &Words) -> Option<Row> {
    let event = entry.event.as_ref()?;
    let (icon, text, note) = sentence(event, called, beside, words)?;
    // Every refusal is told with its icon, so none is left out here.
    let refusal = (icon == Icon::Refused).then_some(Topic::Refusal);
    let topics: BTreeSet<Topic> = event.about().topics.iter().copied().chain(refusal).collect();
    Some(Row { seq: entry.seq, at: entry.at, icon, text, note, topics: topics.into_iter().collect() })
}

/// What repeats itself without anything between is one row, that of the last time.
fn told_once(rows: Vec<(Told, bool)>) -> Vec<Told> {
    let mut once: Vec<(Told, usize)> = Vec::with_capacity(rows.len());
    for (told, may_repeat) in rows {
        match once.last_mut() {
            Some((last, n)) if may_repeat && last.row.text == told.row.text && last.row.note == told.row.note => {
                *n += 1
            }
            _ => once.push((told, 1)),
        }
    }
    let counted = |(mut told, n): (Told, usize)| {
        if n > 1 {
            told.row.note = format!("{}, {} times", told.row.note, grouped(n));
        }
        told
    };
    once.into_iter().map(counted).collect()
}

pub(crate) fn view(
    (told, earlier): (Vec<Told>, Option<u64>),
    head: Option<Head>,
    epoch: u64,
    verified: Option<bool>,
    away: Option<PeriodView>,
    spent: Spent,
) -> ActivityView {
    let n_entries = head.map_or(0, |head| head.seq);
    let summary = summary(&told, earlier.is_some());
    let rows = told.into_iter().map(|told| told.row).collect();
    ActivityView { summary, away, spent, rows, earlier, n_entries, head, epoch, verified }
}

/// Of the rows that are shown; whether there are more before them.
pub(crate) fn summary(rows: &[Told], has_earlier: bool) -> String {
    if rows.is_empty() {
        return "Nothing yet. Everything Silas does will be listed here.".to_owned();
    }
    let n = |icon: Icon| rows.iter().filter(|told| told.row.icon == icon).count();
    let n_things = count(rows.len(), "thing");
    let mut parts = vec![if has_earlier { format!("The last {n_things}") } else { format!("{n_things} so far") }];
    let n_proved = rows.iter().filter_map(|told| told.proved.as_ref()).collect::<BTreeSet<_>>().len();
    for (n, word) in [(n_proved, "proved"), (n(Icon::Refused), "refused"), (n(Icon::Undo), "undone")] {
        if n > 0 {
            parts.push(format!("{} {word}", grouped(n)));
        }
    }
    format!("{}.", parts.join(", "))
}

#[cfg(test)]
mod tests;
