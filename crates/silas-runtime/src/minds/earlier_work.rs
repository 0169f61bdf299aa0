//! The tool that tells of work that was done: what was asked, what became of it, which files changed, what ran, and how the
//! checks ended. Everything is from the record that was kept of it, nothing is asked of a model, and all of it is bounded.
//!
//! Only an id that was told here can be gone on with: a model that makes one up has not seen what it goes on with.

use crate::Trouble;
use crate::minds::Minds;
use crate::words::claim;
use crate::words::count;
use crate::words::result::failed;
use crate::work_record::WorkRecord;
use serde_json::json;
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::changeset::{DiffLine, FileDiff};
use silas_core::check::CheckResult;
use silas_core::execution::ExecutionState;
use silas_core::taint::Source;
use silas_core::tool::{Spec, object};
use silas_core::{Scope, Tainted, Timestamp, WorkItemId};
use silas_gates::scrub;
use silas_store::executions::{self, Execution};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// How far back is looked, and how much of it is told at once.
const LOOKED_AT: u32 = 50;
const TOLD_MAX: usize = 5;
const FILES_MAX: usize = 20;
const LINES_MAX: usize = 10;
const LINE_CHARS_MAX: usize = 200;
const ABOUT_CHARS_MAX: u64 = 200;

/// The ids that a model was told in one answer.
#[derive(Default)]
pub(crate) struct Shown(Mutex<BTreeSet<WorkItemId>>);

impl Shown {
    pub(crate) fn add(&self, id: WorkItemId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    pub(crate) fn list(&self) -> Vec<WorkItemId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The id in a model's words, if it was told.
    pub(crate) fn known(&self, named: &str) -> Option<WorkItemId> {
        self.list().into_iter().find(|id| id.as_str() == named)
    }
}

pub(crate) struct EarlierWork<'a> {
    spec: Spec,
    minds: &'a Minds,
    shown: &'a Shown,
}

impl<'a> EarlierWork<'a> {
    pub(crate) fn new(minds: &'a Minds, shown: &'a Shown) -> Self {
        EarlierWork { spec: earlier_work(), minds, shown }
    }
}

impl Tool<Trouble> for EarlierWork<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Trouble> {
        Box::pin(async move {
            let about = call.arguments()["about"].as_str().unwrap_or_default().to_lowercase();
            let house = &self.minds.house;
            let looking = house.store.read(|tx| executions::recent(&tx.leaving_out(), &Scope::Owner, LOOKED_AT));
            let now = house.clock.now();
            let mut told = Vec::new();
            let mut n_more = 0;
            for mut execution in looking.await? {
                let Some(result) = execution.result.take() else { continue };
                // What cannot be read is told of by nobody.
                let Ok(record) = serde_json::from_value::<WorkRecord>(result) else { continue };
                if !is_about(&record, &execution, &about) {
                    continue;
                }
                if told.len() == TOLD_MAX {
                    n_more += 1;
                    continue;
                }
                told.push(self.tell(&record, &execution, now));
                self.shown.add(execution.work_item);
            }
            let remark = match (told.is_empty(), n_more) {
                (true, _) => Some("There is no such work.".to_owned()),
                (false, 0) => None,
                (false, n) => Some(format!("{} more: say in `about` which.", count(n, "piece"))),
            };
            // Titles, names of checks and of files may be anybody's.
            let for_model = Tainted::new(told.join("\n\n"), Source::Elsewhere.taint());
            let source = "the record of earlier work".to_owned();
            Ok(Done { for_model, remark, is_private: true, source, is_success: true })
        })
    }
}

impl EarlierWork<'_> {
    fn tell(&self, record: &WorkRecord, execution: &Execution, now: Timestamp) -> String {
        let state = match execution.state {
            ExecutionState::Running => "still running",
            ExecutionState::Rehearsed => "done in a private copy; waits for the owner's word",
            ExecutionState::Applied => "applied",
            ExecutionState::Ended => "ended; nothing was changed",
            ExecutionState::Undone => "applied, and taken back",
        };
        let line = |text: &str| scrub::visible_line(text, LINE_CHARS_MAX);
        let mut lines = vec![
            format!("{}: {}", execution.work_item, line(&record.view.title)),
            format!("when: {}", self.minds.house.words.time(execution.started_at, now)),
            format!("where: {}", line(&record.directory)),
            format!("state: {state}"),
        ];
        if let Some(asked) = record.asked() {
            lines.push(format!("asked: {}", line(asked)));
        }
        if let Some(outcome) = record.view.outcome {
            lines.push(format!("checks say: {}", line(&claim::claim(outcome, &record.before, &record.after))));
        }
        lines.extend(within(FILES_MAX, &record.diffs, |diff| format!("changed: {}", line(&changed(diff)))));
        let ended = |n: usize| record.results.get(n).map(|result| failed(result).unwrap_or("ended well".to_owned()));
        let commands: Vec<(usize, &String)> = record.facts().commands.iter().enumerate().collect();
        lines.extend(within(LINES_MAX, &commands, |(n, command)| {
            format!("ran: {} ({})", line(command), ended(*n).unwrap_or("not known how it ended".to_owned()))
        }));
        lines.extend(within(LINES_MAX, &record.after, |after| {
            let before = record.before.iter().find(|before| before.name == after.name);
            let colour = |result: &CheckResult| if result.passed { "green" } else { "red" };
            let before = before.map_or("not run before".to_owned(), |before| format!("{} before", colour(before)));
            format!("check: {}: {before}, {} after", line(&after.shown()), colour(after))
        }));
        if let Some(why) = &record.gave_up {
            lines.push(format!("given up: {}", line(why)));
        }
        lines.join("\n")
    }
}

/// As many as are told, and how many are not.
fn within<T>(max: usize, all: &[T], one: impl Fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().take(max).map(one).collect();
    if all.len() > max {
        lines.push(format!("and {} more", all.len() - max));
    }
    lines
}

fn changed(diff: &FileDiff) -> String {
    let at =
        if diff.directory.is_empty() { diff.path.to_string() } else { format!("{}/{}", diff.directory, diff.path) };
    format!("{at} (+{} -{})", diff.added, diff.removed)
}

/// Whether each of the words stands in what is known of it: its id, its title, what was asked, its files and what changed in
/// them.
fn is_about(record: &WorkRecord, execution: &Execution, about: &str) -> bool {
    let mut known =
        vec![execution.work_item.to_string(), record.view.title.to_lowercase(), record.directory.to_lowercase()];
    known.extend(record.asked().map(str::to_lowercase));
    known.extend(record.facts().commands.iter().map(|command| command.to_lowercase()));
    for diff in &record.diffs {
        known.push(diff.path.to_string().to_lowercase());
        let lines = diff.lines.iter().flatten().filter_map(|line| match line {
            DiffLine::Added(text) | DiffLine::Removed(text) => Some(text.to_lowercase()),
            DiffLine::Same(_) | DiffLine::Gap(_) | DiffLine::NotShown(_) => None,
        });
        known.extend(lines);
    }
    about.split_whitespace().all(|word| known.iter().any(|text| text.contains(word)))
}

pub(crate) fn earlier_work() -> Spec {
    let schema = object(&[("about", json!({ "type": ["string", "null"], "maxLength": ABOUT_CHARS_MAX }))]);
    let about = "Work that was approved: id, outcome, changes, commands, checks. about: words, a file or an id.";
    let spec = Spec::reading("earlier_work", about, schema);
    Spec { capabilities: vec!["work.recall".to_owned()], shown_by: Some("about".to_owned()), ..spec }
}
