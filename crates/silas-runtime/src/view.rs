//! What the doors show: plain values, computed here, so that no door decides anything.

use serde::{Deserialize, Serialize};
use silas_core::card::{Card, Fact, Quote};
use silas_core::chain::Link;
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Outcome};
use silas_core::checkpoint::Head;
use silas_core::device::DeviceKind;
use silas_core::execution::ExecutionState;
use silas_core::model::Role;
use silas_core::passkey::Site;
use silas_core::session::SessionType;
use silas_core::task::{TaskId, TaskState};
use silas_core::token::Verdict;
use silas_core::{CardId, ExecutionId, InstallationId, KeyId, MessageId, SessionId, Timestamp, TokenId, WorkItemId};
use std::sync::{Arc, OnceLock};

/// Everything a door needs to draw itself after connecting; later changes come as [`Update`]s.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Snapshot {
    pub installation: InstallationId,
    /// Counts restores; a withdrawal names it.
    pub epoch: u64,
    pub now: Timestamp,
    pub entries: Vec<Entry>,
    /// The number in the channel outbox up to which `entries` tells; what comes later is delivered.
    pub seq: u64,
    /// Open and parked cards, the active one first; not more than a page of them.
    pub cards: Vec<Card>,
    /// How many more there are.
    pub n_more_cards: usize,
    /// The work shown in the Stream, oldest first.
    pub work: Vec<WorkView>,
    pub activity: ActivityView,
    /// Not more than a page of them.
    pub grants: Vec<GrantView>,
    /// How many more there are.
    pub n_more_grants: usize,
    pub devices: Vec<DeviceView>,
    /// The sentences that are understood without a model.
    pub understood: Vec<String>,
    /// What could not be done and was put aside, oldest first.
    pub dead_letters: Vec<DeadLetterView>,
    /// What can still be taken back, the one whose time is over first at the top.
    pub undoable: Vec<UndoView>,
    /// What is answered to an open question while no model is set up; absent when one is.
    pub no_model: Option<String>,
    /// Commits since the start that were synced to disk.
    pub n_durable_commits: u64,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Update {
    Cards(CardsPage),
    Work {
        work: WorkView,
    },
    Activity {
        activity: ActivityView,
        grants: Vec<GrantView>,
        n_more_grants: usize,
        devices: Vec<DeviceView>,
        no_model: Option<String>,
    },
    /// A card was decided, by whatever device; the cards without it follow.
    Answered {
        answered: AnsweredView,
    },
    /// An answer as far as it is made; the entry with the same id takes its place.
    Draft {
        draft: DraftView,
    },
}

/// Who decided a card, so that another page that shows it can say so before it goes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AnsweredView {
    pub card: CardId,
    pub verdict: Verdict,
    /// The name of the device that signed.
    pub device: String,
    pub at: Timestamp,
}

/// What a model has said so far.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct DraftView {
    /// The id that the answer will have.
    pub reply: MessageId,
    /// Whole sentences, all of them from the beginning.
    pub text: String,
}

/// The model of one role.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelView {
    pub role: Role,
    pub model: String,
    /// To whom everything is sent.
    pub host: String,
    pub is_local: bool,
    /// Where the key is, in words.
    pub key: String,
    pub has_key: bool,
    pub price: String,
    /// Named by the configuration, not by `silas model add`.
    pub is_configured: bool,
    /// Whether the owner has agreed that what is said goes there.
    pub is_agreed: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelsView {
    pub models: Vec<ModelView>,
    pub local_only: bool,
    pub day: Spent,
    pub month: Spent,
}

/// What was spent on models, and what may be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Spent {
    pub period: String,
    pub microusd: u64,
    pub cap_microusd: u64,
}

/// An update as it goes to every door that listens. It is written as JSON once, however many they are.
#[derive(Debug)]
pub struct Published {
    update: Update,
    text: OnceLock<Option<Arc<str>>>,
}

impl Published {
    pub fn new(update: Update) -> Self {
        Published { update, text: OnceLock::new() }
    }

    /// Nothing if it cannot be written, which no update of ours is.
    pub fn text(&self) -> Option<Arc<str>> {
        self.text.get_or_init(|| serde_json::to_string(&self.update).ok().map(Arc::from)).clone()
    }

    /// Whether whoever has `later` needs this one no more: both are the whole state of the same thing.
    pub fn is_outdated_by(&self, later: &Published) -> bool {
        match (&self.update, &later.update) {
            (Update::Cards(_), Update::Cards(_)) | (Update::Activity { .. }, Update::Activity { .. }) => true,
            (Update::Work { work }, Update::Work { work: later }) => work.execution == later.execution,
            (Update::Draft { draft }, Update::Draft { draft: later }) => draft.reply == later.reply,
            (
                Update::Cards(_)
                | Update::Activity { .. }
                | Update::Work { .. }
                | Update::Answered { .. }
                | Update::Draft { .. },
                _,
            ) => false,
        }
    }
}

/// Cards of the review queue, in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct CardsPage {
    pub cards: Vec<Card>,
    /// How many come after these.
    pub n_more_cards: usize,
}

/// Grants, in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct GrantsPage {
    pub grants: Vec<GrantView>,
    /// How many come after these.
    pub n_more_grants: usize,
}

/// What happened before an entry of the ledger, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ActivityPage {
    pub rows: Vec<Row>,
    /// What to ask for next; nothing if this reaches back to the beginning. There may be more even if no row is here.
    pub earlier: Option<u64>,
}

/// Approved work, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WorkListPage {
    pub work_list: Vec<WorkItemView>,
    /// How many come after these.
    pub n_more_work: usize,
}

/// An entry of the Stream with its number in the channel outbox, by which it is acknowledged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct DeliveryView {
    pub seq: u64,
    pub entry: Entry,
}

/// What a device finds that was away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct SinceView {
    /// When it was last here.
    pub at: Timestamp,
    /// Entries of the Stream that came since.
    pub n_entries: u64,
}

/// One place at which the owner and Silas talk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SessionView {
    pub session: SessionId,
    pub session_type: SessionType,
    pub title: String,
    pub created_at: Timestamp,
    pub last_active: Timestamp,
    pub turn_count: u64,
    pub active: bool,
    /// Entries that it has not shown yet.
    pub n_waiting: u64,
}

/// Applied work that can still be taken back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct UndoView {
    pub execution: ExecutionId,
    pub title: String,
    pub until: Timestamp,
}

/// An entry of the ledger whose text may be forgotten.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LedgerTextView {
    pub seq: u64,
    pub at: Timestamp,
    /// The event's name.
    pub event: String,
    /// Nothing if it has none, or it is gone already.
    pub text: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    Owner,
    Silas,
}

/// One turn's text in the Stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Entry {
    pub id: MessageId,
    pub sender: Sender,
    /// Whether Silas only passes on what a model said. What Silas says itself is computed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_models_words: bool,
    pub text: String,
    pub at: Timestamp,
}

/// A running or finished task, as one block of the Stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkView {
    pub execution: ExecutionId,
    pub work_item: WorkItemId,
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

/// The ledger, told in sentences, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ActivityView {
    pub summary: String,
    /// The owner's last long pause, and what happened in it.
    pub away: Option<PeriodView>,
    /// What was spent on models today, and what may be.
    pub spent: Spent,
    pub rows: Vec<Row>,
    /// Before which entry there is more to tell; nothing if these rows are all.
    pub earlier: Option<u64>,
    pub n_entries: u64,
    /// The last entry. A device keeps it, and refuses one that does not extend what it has kept.
    pub head: Option<Head>,
    /// Counts restores: after one, the ledger need not extend what was seen before.
    pub epoch: u64,
    /// Whether the chain holds; `None` until it was checked.
    pub verified: Option<bool>,
}

/// A stretch of time, told in one sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct PeriodView {
    pub from: Timestamp,
    pub to: Timestamp,
    pub text: String,
    /// What models cost in it.
    pub microusd: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Row {
    pub seq: u64,
    pub at: Timestamp,
    pub icon: Icon,
    pub text: String,
    pub note: String,
    /// What it is about; a row may be about nothing that one would look for.
    pub topics: Vec<Topic>,
}

/// What stands behind a row: who, what and why as far as it is known, and the entry that the row tells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EvidenceView {
    pub seq: u64,
    /// What the row says; of an entry without a row, the name of its event.
    pub text: String,
    pub note: String,
    /// Computed.
    pub facts: Vec<Fact>,
    /// Words that Silas did not compute, each with whose they are.
    pub quotes: Vec<Quote>,
    /// The work whose proof can be asked for.
    pub proof: Option<ExecutionId>,
    /// Whether the hash is that of the entry, as the runtime computes it; whoever believes nobody computes it again.
    pub holds: bool,
    pub link: Link,
}

/// What somebody looks for in Activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Files or records became other ones, were put back, or could be by one tap.
    Change,
    /// What the owner signed, gave or took back.
    Decision,
    Refusal,
    /// Money: what models cost, caps that were reached, sums that were added.
    Spending,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Icon {
    Tick,
    Cross,
    Seal,
    Refused,
    Shield,
    Pen,
    Undo,
}

/// Something the owner has allowed, in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GrantView {
    /// What a withdrawal names.
    pub token: TokenId,
    pub title: String,
    /// What it allows, in a sentence or two.
    pub text: String,
    /// How often it can still be used, and how often at first; `None` if it does not run out by use.
    pub uses: Option<Uses>,
    pub since: Timestamp,
    /// `None` if it holds until it is revoked.
    pub until: Option<Timestamp>,
    /// The device that signed it.
    pub signed_on: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Uses {
    pub left: u32,
    pub of: u32,
}

/// A device of the owner's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeviceView {
    pub key: KeyId,
    pub name: String,
    pub kind: DeviceKind,
    pub since: Timestamp,
    pub is_revoked: bool,
    /// The house rules and directories that it signed and that go with it.
    pub n_grants: u32,
    /// Where a passkey counts, so that the page can ask for it; other devices have none.
    pub site: Option<Site>,
}

/// A task of the owner's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskView {
    pub id: TaskId,
    pub title: String,
    pub state: TaskState,
    pub version: u64,
    pub created_at: Timestamp,
    pub done_at: Option<Timestamp>,
}

/// A message that was tried often enough and put aside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeadLetterView {
    pub message: MessageId,
    /// What could not be done: the owner's words, or the title of the work.
    pub text: String,
    pub attempts: u32,
}

/// One figure about how deciding goes, with what it should be. The note says what is off, if something is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct MeasureView {
    pub name: String,
    pub value: String,
    pub target: String,
    pub note: String,
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
    pub before: Vec<CheckResult>,
    pub after: Vec<CheckResult>,
    pub diffs: Vec<FileDiff>,
    pub patch: PatchView,
    /// Why it cannot be had as a file; `None` if it can.
    pub no_bundle: Option<String>,
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

/// The part of the chain between what somebody has seen and now: whoever computes its hashes needs to believe nobody.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LedgerPart {
    pub after: u64,
    /// The next entries; not all of them, if there are many.
    pub links: Vec<Link>,
    pub head: Option<Head>,
}

/// What checking the whole ledger showed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LedgerReport {
    pub n_entries: u64,
    /// Hash of the last entry; whoever wrote it down earlier can see whether the ledger still extends it.
    pub head: Option<String>,
    /// Where and why the chain does not hold; `None` if it does.
    pub broken: Option<String>,
    /// Texts beside the chain that were forgotten. It holds without them.
    pub n_forgotten: u64,
}
