//! What is known about a piece of work while it runs and after it ended; kept with its execution.

use crate::view::{RanView, StepState, StepView, WorkView};
use crate::words::chooser::Chooser;
use crate::words::{self, COMMAND_CHARS_MAX, ResultFacts, changed_name, in_code};
use serde::{Deserialize, Serialize};
use silas_approval::Admitted;
use silas_core::bundle::Landed;
use silas_core::changeset::{Changeset, FileDiff};
use silas_core::check::{CheckResult, Ended, Outcome};
use silas_core::envelope::ExecutionResult;
use silas_core::event::Phase;
use silas_core::exits::Undeclared;
use silas_core::model::dollars;
use silas_core::outside::Reach;
use silas_core::planned;
use silas_core::seen::Seen;
use silas_core::taint::{Lineage, Source, Taint};
use silas_core::wanted::Wanted;
use silas_core::work::{Budget, BudgetUsed};
use silas_core::{Digest, EventId, ExecutionId, Timestamp, TokenId, canonical};
use silas_gates::scrub;
use silas_sandbox::InPart;
use silas_store::ReadTx;
use silas_store::ledger::{self, TEXT_BYTES_MAX};

/// Something that may reach a host of the plan's. A number alone is a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Begun {
    Step(u32),
    Checks(Phase),
}

/// What a shell says of a command that a signal ended, and `timeout` of one that took too long.
const SIGNALLED_BASE: i32 = 128;
const TIMED_OUT: i32 = 124;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkRecord {
    pub(crate) view: WorkView,
    /// What the steps are called before they are begun.
    labels: Vec<String>,
    /// The owner's words. Records of earlier versions may have a model's in them.
    #[serde(default)]
    asked: Option<String>,
    /// What is changed, in few words.
    pub(crate) directory: String,
    /// The commands that the plan has, made visible.
    #[serde(default)]
    commands: Vec<String>,
    /// How many of them were begun. Records of earlier versions do not say; what they tell of has run.
    #[serde(default)]
    n_begun: Option<usize>,
    #[serde(default)]
    chooser: Option<Chooser>,
    /// What the whole of it may use up; looked at before every step.
    #[serde(default)]
    budget: Budget,
    pub(crate) before: Vec<CheckResult>,
    pub(crate) after: Vec<CheckResult>,
    /// What the commands printed, made visible.
    pub(crate) outputs: Vec<String>,
    /// How far outputs and changes can be trusted: no further than what the commands could read. Records of earlier
    /// versions do not say, and what is not said is external.
    #[serde(default = "unknown")]
    pub(crate) taint: Taint,
    /// How many places in them read like orders to an assistant.
    #[serde(default)]
    pub(crate) orders_found: u32,
    /// What each step gave back, as its executor said it; what is for a model and what is for the record kept apart.
    #[serde(default)]
    pub(crate) results: Vec<ExecutionResult>,
    pub(crate) diffs: Vec<FileDiff>,
    /// What to look at twice, in sentences.
    #[serde(default)]
    pub(crate) flags: Vec<String>,
    /// Changed files that the checks saw as they were approved.
    #[serde(default)]
    pub(crate) unseen: Vec<String>,
    /// What git ignores was left out, in sentences.
    #[serde(default)]
    pub(crate) left_out: Vec<String>,
    /// Where the owner's text met ours while it was being put in place; both are kept.
    #[serde(default)]
    pub(crate) last_moment: Vec<String>,
    #[serde(default)]
    pub(crate) is_in_two_steps: bool,
    /// Set if only some of it is in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) in_part: Option<InPart>,
    /// What the owner changed elsewhere meanwhile; the checks ran again with it.
    #[serde(default)]
    pub(crate) moved_on: Vec<String>,
    /// What the mind that did the work has read. Empty where commands were fixed by the plan: nothing could steer them.
    #[serde(default)]
    pub(crate) seen: Seen,
    /// The earlier run whose change this lays over the owner's edit, and what the mind behind that had read.
    #[serde(default)]
    pub(crate) lays: Option<ExecutionId>,
    #[serde(default)]
    pub(crate) met: Seen,
    /// What would leave the copy and was not declared; then it waits.
    #[serde(default)]
    pub(crate) undeclared: Vec<Undeclared>,
    /// Hosts that commands asked for and were refused.
    #[serde(default)]
    pub(crate) wanted: Vec<Wanted>,
    #[serde(default)]
    pub(crate) reach: Reach,
    /// What began last and may reach something outside; on disk before it did.
    #[serde(default)]
    pub(crate) begun_outside: Option<Begun>,
    pub(crate) changeset: Option<Digest>,
    /// Every changed file, until the end is written down; from then on the ledger's text has it.
    #[serde(default)]
    pub(crate) changes: Changeset,
    /// Of the plan's canonical text. Records of earlier versions do not say; nothing of theirs waits.
    #[serde(default)]
    pub(crate) plan_hash: Option<Digest>,
    /// The decision that had what waited put in place.
    #[serde(default)]
    pub(crate) applied_by: Option<TokenId>,
    /// How many files were put in place; the diffs may show fewer.
    #[serde(default)]
    pub(crate) files: u32,
    pub(crate) took_ms: u64,
    /// What a model used up. Nothing where no model worked.
    #[serde(default)]
    pub(crate) used: BudgetUsed,
    /// What the model says it did, in its own words; for whoever is asked for advice.
    #[serde(default)]
    pub(crate) said: Option<String>,
    /// Why a model did not go on, if checks were still red.
    #[serde(default)]
    pub(crate) gave_up: Option<String>,
    /// The ledger's events between which all of it is told.
    #[serde(default)]
    pub(crate) first_event: Option<EventId>,
    #[serde(default)]
    pub(crate) last_event: Option<EventId>,
    /// The same by their places in the chain, in records of earlier versions.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) first_entry: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) last_entry: u64,
}

fn is_none(entry: &u64) -> bool {
    *entry == 0
}

/// What the one step of a merge does, after "Ran".
pub(crate) const LAID: &str = "both edits together";
const WORKING: &str = "Working in a private copy";
const REHEARSING: &str = "Rehearsing in a private copy";
const CHECK_FIRST: &str = "Run the checks first";
pub(crate) const CHECK_AGAIN: &str = "Run the checks again";
const KEEP: &str = "Keep the result for you";
const UNTOUCHED: &str = "Your files are untouched";

/// Where it works, by its last step.
fn place(last: &str) -> &'static str {
    if last == KEEP { REHEARSING } else { WORKING }
}

impl WorkRecord {
    pub(crate) fn begin(approved: &Admitted, now: Timestamp) -> Result<Self, canonical::Error> {
        let d = approved.item().definition();
        let directory = changed_name(&d.directories);
        let has_checks = !d.verify.is_empty();
        let mut labels = vec!["Copy the directory".to_owned()];
        labels.extend(has_checks.then(|| CHECK_FIRST.to_owned()));
        labels.extend(d.steps.iter().map(|step| match &d.merges {
            Some(_) => format!("Run {LAID}"),
            None => format!("Run {}", in_code(&step.run.words(), 60)),
        }));
        if let Some(model) = d.executor.as_ref().and_then(|mandate| mandate.model.as_ref()) {
            labels.push(format!("Work on it with {}", model.model()));
        }
        let last = match approved {
            Admitted::Plan(_) => "Apply the result",
            Admitted::Rehearsal(_) => KEEP,
        };
        labels.extend(has_checks.then(|| CHECK_AGAIN.to_owned()));
        labels.push(last.to_owned());
        Ok(WorkRecord {
            view: WorkView {
                execution: approved.execution().clone(),
                work_item: approved.item().id().clone(),
                wish: None,
                title: d.title.clone(),
                place: place(last).to_owned(),
                steps: labels.iter().cloned().map(waiting).collect(),
                running: true,
                started_at: now,
                footer: UNTOUCHED.to_owned(),
                outcome: None,
                has_proof: false,
            },
            labels,
            asked: d.owners_words().map(str::to_owned),
            directory,
            commands: d.steps.iter().map(|step| scrub::visible(&step.run.words())).collect(),
            n_begun: Some(0),
            chooser: Some(Chooser::of(d)),
            budget: d.budget.clone(),
            before: Vec::new(),
            after: Vec::new(),
            outputs: Vec::new(),
            taint: Source::Own.taint(),
            orders_found: 0,
            results: Vec::new(),
            diffs: Vec::new(),
            flags: Vec::new(),
            unseen: Vec::new(),
            left_out: Vec::new(),
            last_moment: Vec::new(),
            is_in_two_steps: false,
            in_part: None,
            moved_on: Vec::new(),
            seen: Seen::default(),
            lays: None,
            met: Seen::default(),
            undeclared: Vec::new(),
            wanted: Vec::new(),
            reach: Reach::default(),
            begun_outside: None,
            changeset: None,
            changes: Changeset::default(),
            plan_hash: Some(Digest::of(approved.item().canonical()?.as_bytes())),
            applied_by: None,
            files: 0,
            took_ms: 0,
            used: BudgetUsed::default(),
            said: None,
            gave_up: None,
            first_event: None,
            last_event: None,
            first_entry: 0,
            last_entry: 0,
        })
    }

    /// A fresh copy, a fresh story; only what was asked and when it began stays.
    pub(crate) fn begun_again(self) -> Self {
        let steps = self.labels.iter().cloned().map(waiting).collect();
        let last = self.labels.last().map_or("", String::as_str);
        let (place, footer) = (place(last).to_owned(), UNTOUCHED.to_owned());
        let view = WorkView { steps, place, footer, running: true, outcome: None, ..self.view };
        WorkRecord {
            view,
            n_begun: Some(0),
            before: Vec::new(),
            after: Vec::new(),
            outputs: Vec::new(),
            orders_found: 0,
            results: Vec::new(),
            diffs: Vec::new(),
            flags: Vec::new(),
            unseen: Vec::new(),
            left_out: Vec::new(),
            moved_on: Vec::new(),
            seen: self.met.clone(),
            undeclared: Vec::new(),
            wanted: Vec::new(),
            changeset: None,
            changes: Changeset::default(),
            said: None,
            gave_up: None,
            ..self
        }
    }

    /// The owner's own words, where they are known to be that.
    pub(crate) fn asked(&self) -> Option<&str> {
        self.asked.as_deref().filter(|words| !words.is_empty() && !planned::is_mixed(words))
    }

    /// Whether a model chose what judges it.
    pub(crate) fn is_checked_by_a_models_choice(&self) -> bool {
        matches!(&self.chooser, Some(Chooser::Model(_) | Chooser::PlanBefore))
    }

    /// What result cards are computed from.
    pub(crate) fn facts(&self) -> ResultFacts<'_> {
        ResultFacts {
            asked: self.asked(),
            directory: &self.directory,
            commands: &self.commands[..self.n_begun.unwrap_or(usize::MAX).min(self.commands.len())],
            ended: &self.results[..self.results.len().min(self.commands.len())],
            chooser: self.chooser.as_ref(),
            outcome: self.view.outcome.unwrap_or(Outcome::Failed),
            before: &self.before,
            after: &self.after,
            diffs: &self.diffs,
            flags: &self.flags,
            unseen: &self.unseen,
            left_out: &self.left_out,
            outputs: &self.outputs,
            taint: self.taint,
            orders_found: self.orders_found,
            last_moment: &self.last_moment,
            is_in_two_steps: self.is_in_two_steps,
            in_part: self.in_part.as_ref(),
            moved_on: &self.moved_on,
            undeclared: &self.undeclared,
            wanted: &self.wanted,
            took_ms: self.took_ms,
            cost_microusd: self.used.cost_microusd,
        }
    }

    /// The commands of the plan that did not succeed, each with how it ended.
    pub(crate) fn failed(&self) -> Vec<String> {
        let ended = self.commands.iter().zip(&self.results);
        let told = |(command, result): (&String, &ExecutionResult)| {
            Some(format!("{}: {}", in_code(command, COMMAND_CHARS_MAX), words::failed(result)?))
        };
        ended.filter_map(told).collect()
    }

    /// What landed, as it is kept beside the ledger's entry. `None` if it would be too long, or is not known whole: work
    /// that an earlier version began.
    pub(crate) fn take_landed(&mut self) -> Option<String> {
        let changeset = std::mem::take(&mut self.changes);
        if changeset.hash().ok() != self.changeset {
            return None;
        }
        let (diffs, flags, unseen) = (self.diffs.clone(), self.flags.clone(), self.unseen.clone());
        let landed = Landed { changeset, diffs, flags, unseen };
        // A decision about the changes names the hash of all that was shown, so nothing can be left out of it.
        let is_whole =
            |text: &String| self.applied_by.is_none() || canonical::text(&landed).ok().as_ref() == Some(text);
        landed.to_text(TEXT_BYTES_MAX).ok().flatten().filter(is_whole)
    }

    /// What the plan's commands printed, each apart.
    pub(crate) fn printed(&self) -> Vec<RanView> {
        let told = |(run, result): (&String, &ExecutionResult)| {
            let content = result.for_model.peek();
            RanView {
                run: run.clone(),
                exit_code: match result.metadata.ended {
                    Ended::Exited(code) => code,
                    Ended::Signalled(signal) => SIGNALLED_BASE + signal,
                    Ended::TimedOut { .. } => TIMED_OUT,
                },
                failed: words::failed(result),
                stdout: scrub::visible(&content.return_value),
                stderr: content.artifacts.get("stderr").map_or_else(String::new, |text| scrub::visible(text)),
                is_cut: result.metadata.is_truncated,
            }
        };
        self.commands.iter().zip(&self.results).map(told).collect()
    }

    /// How the commands of a plan without any check ended: "`make test`: exit code 2".
    pub(crate) fn ran(&self) -> Option<String> {
        if !self.before.is_empty() || self.commands.is_empty() || self.results.len() < self.commands.len() {
            return None;
        }
        Some(match (self.failed().as_slice(), self.commands.as_slice()) {
            ([], [only]) => format!("{}: exit code 0", in_code(only, COMMAND_CHARS_MAX)),
            ([], all) => format!("{} ended with exit code 0", words::count(all.len(), "command")),
            ([only], _) => only.clone(),
            (failed, _) => format!("{} did not succeed", words::count(failed.len(), "command")),
        })
    }

    pub(crate) fn to_json(&self) -> Result<serde_json::Value, silas_store::Error> {
        Ok(serde_json::to_value(self)?)
    }

    /// Between which entries of the chain all of it is told.
    pub(crate) fn entries(&self, tx: &ReadTx<'_>) -> Result<(u64, u64), silas_store::Error> {
        let place = |event: &Option<EventId>| event.as_ref().map_or(Ok(None), |event| ledger::place_of(tx, event));
        let (first, last) = (place(&self.first_event)?, place(&self.last_event)?);
        Ok((first.unwrap_or(self.first_entry), last.unwrap_or(self.last_entry)))
    }

    /// Whether there is anything left to use. Reaching a limit exhausts it.
    pub(crate) fn is_within_budget(&self, now: Timestamp, waited: std::time::Duration) -> bool {
        let elapsed = now.since(self.view.started_at).saturating_sub(waited);
        let elapsed = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        !BudgetUsed { wall_time_micros: elapsed, ..BudgetUsed::default() }.exceeds(&self.budget)
    }

    /// What a model used up, and how often it began. What it cost is told while it works.
    pub(crate) fn note_use(&mut self, used: BudgetUsed) {
        if let Some(footer) = footer_of(used.cost_microusd, &self.budget) {
            self.view.footer = footer;
        }
        self.used = used;
    }

    /// Which step shows the checks before the work, and which those after it; none in a plan without any.
    pub(crate) fn step_of_checks(&self, phase: Phase) -> Option<usize> {
        let label = match phase {
            Phase::Before => CHECK_FIRST,
            Phase::After => CHECK_AGAIN,
        };
        self.labels.iter().rposition(|known| known == label)
    }

    /// Which step shows a command of the plan; the work of a model comes after the last.
    pub(crate) fn step_of_command(&self, n: usize) -> usize {
        self.step_of_checks(Phase::Before).map_or(1, |first| first + 1) + n
    }

    /// A command of the plan is about to run.
    pub(crate) fn begin_command(&mut self, n: usize) {
        self.n_begun = Some(n + 1);
    }

    pub(crate) fn relabel(&mut self, step: usize, label: &str) {
        if let Some(step) = self.view.steps.get_mut(step) {
            step.label = label.to_owned();
        }
    }

    pub(crate) fn enter(&mut self, step: usize) {
        if let Some(step) = self.view.steps.get_mut(step) {
            step.state = StepState::Running;
            step.label = under_way(&step.label);
        }
    }

    pub(crate) fn leave(&mut self, step: usize, label: String, state: StepState, took_ms: u64) {
        if let Some(step) = self.view.steps.get_mut(step) {
            *step = StepView { label, state, took_ms: Some(took_ms) };
        }
    }

    /// Nothing runs any more: what was under way did not finish.
    pub(crate) fn settle_steps(&mut self) {
        self.view.running = false;
        for step in &mut self.view.steps {
            if step.state == StepState::Running {
                step.state = StepState::Failed;
            }
        }
    }
}

fn unknown() -> Taint {
    Lineage::default().taint()
}

fn waiting(label: String) -> StepView {
    StepView { label, state: StepState::Waiting, took_ms: None }
}

/// "Run the checks first" while it happens: "Running the checks first".
fn under_way(label: &str) -> String {
    let (verb, rest) = label.split_once(' ').unwrap_or((label, ""));
    let verb = match verb {
        "Run" => "Running",
        "Copy" => "Copying",
        "Apply" => "Applying",
        "Keep" => "Keeping",
        "Work" => "Working",
        other => other,
    };
    format!("{verb} {rest}")
}

/// What all models have cost that took part so far, once that is anything.
pub(crate) fn footer_of(cost_microusd: u64, budget: &Budget) -> Option<String> {
    let (spent, cap) = (dollars(cost_microusd), dollars(budget.max_cost_microusd));
    (cost_microusd > 0).then(|| format!("{UNTOUCHED} · {spent} of {cap}"))
}
