//! Work as it goes, the list of all of it, and the proof of what came of it.

use serde::{Deserialize, Serialize};
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Outcome};
use silas_core::execution::ExecutionState;
use silas_core::{ExecutionId, MessageId, Timestamp, WorkItemId};

/// Approved work, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WorkListPage {
    pub work_list: Vec<WorkItemView>,
    /// How many come after these.
    pub n_more_work: usize,
}

/// Applied work that can still be taken back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct UndoView {
    pub execution: ExecutionId,
    pub title: String,
    pub until: Timestamp,
}

/// A running or finished task, as one block of the Stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkView {
    pub execution: ExecutionId,
    pub work_item: WorkItemId,
    /// The message with which it all began. Work of earlier versions does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wish: Option<MessageId>,
    pub title: String,
    /// Where it works: "Working in a private copy", "Stopped", "Applied" …
    pub place: String,
    pub steps: Vec<StepView>,
    pub running: bool,
    pub started_at: Timestamp,
    /// The sentence that says what is safe: "Your files are untouched".
    pub footer: String,
    pub outcome: Option<Outcome>,
    /// Whether `proof` can be asked for.
    pub has_proof: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepView {
    pub label: String,
    pub state: StepState,
    pub took_ms: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Waiting,
    Running,
    Done,
    Failed,
}

/// What the commands of running work print, as far as somebody looks on. It is from outside, and in no file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct OutputView {
    pub execution: ExecutionId,
    /// The command that runs or ran last, or the checks side by side.
    pub printed: Vec<PrintedView>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct PrintedView {
    /// Which command or check of this work it is, in the order in which they first printed something.
    pub nth: u64,
    /// Whose it is, if it is a check's.
    pub check: Option<String>,
    /// Characters before the text that are not shown.
    pub n_left_out: u64,
    /// What came last, with hidden characters made visible.
    pub text: String,
}

/// What happened to one execution, each line backed by the ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ProofView {
    pub execution: ExecutionId,
    pub title: String,
    pub state: ExecutionState,
    pub outcome: Outcome,
    pub claim: String,
    /// What the claim does not rule out, in sentences.
    pub caveats: Vec<String>,
    pub steps: Vec<ProofStep>,
    /// What each command of the plan printed, and how it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<RanView>,
    pub before: Vec<CheckResult>,
    pub after: Vec<CheckResult>,
    pub diffs: Vec<FileDiff>,
    pub patch: PatchView,
    /// Why it cannot be had as a file; `None` if it can.
    pub no_bundle: Option<String>,
}

/// A command of a plan as it went. What it printed is its own words, with characters that could mislead made visible.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RanView {
    pub run: String,
    /// As a shell would say it: 128 and the signal's number where one ended it, 124 where its time was up.
    pub exit_code: i32,
    /// How it ended, where that was not with success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    pub stdout: String,
    pub stderr: String,
    /// More was printed than is kept.
    pub is_cut: bool,
}

/// The same changes as a patch, as far as they are shown letter by letter.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PatchView {
    /// What `patch -p1` and `git apply` read.
    pub text: String,
    /// Changed files that are not shown whole and so are not in it.
    pub left_out: Vec<String>,
    /// Changed files of which nothing is shown.
    pub n_hidden: u32,
}

impl PatchView {
    pub fn is_whole(&self) -> bool {
        self.n_hidden == 0 && self.left_out.is_empty()
    }
}

/// One piece of approved work, in the list of all of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkItemView {
    pub execution: ExecutionId,
    pub work_item: WorkItemId,
    pub title: String,
    /// What it was allowed to change, in few words.
    pub place: String,
    pub state: ExecutionState,
    /// What the checks came to; `None` until they have spoken.
    pub outcome: Option<Outcome>,
    /// How many files were put in place.
    pub files: u32,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Until when it can be taken back; `None` if it cannot.
    pub undo_until: Option<Timestamp>,
    pub has_proof: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ProofStep {
    pub title: String,
    pub note: String,
}

/// Everything was stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StopView {
    pub at: Timestamp,
    pub n_works: usize,
    /// Grants that were taken back with it.
    pub n_grants: usize,
    /// Models that a message waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}
