//! What the doors show: plain values, computed here, so that no door decides anything.
//!
//! Of grants, cards, rows and work a door is given the first page and how many more there are; it asks for the others.

mod activity;
mod models;
mod published;
mod stream;
mod trust;
mod work;

pub use activity::{
    ActivityPage, ActivityView, EvidenceView, Icon, LedgerPart, LedgerReport, LedgerTextView, MeasureView, PeriodView,
    Row,
};
pub use models::{ModelView, ModelsView, Spent};
pub use published::Published;
pub use stream::{
    AskedModelView, DeadLetterView, DeliveryView, DraftView, Entry, LookView, Sender, SessionView, SinceView,
};
pub use trust::{DeviceView, GrantView, GrantsPage, Uses};
pub use work::{
    OutputView, PatchView, PrintedView, ProofStep, ProofView, RanView, StepState, StepView, StopView, UndoView,
    WorkItemView, WorkListPage, WorkView,
};

use crate::Trouble;
use serde::{Deserialize, Serialize};
use silas_core::card::Card;
use silas_core::task::{TaskId, TaskState};
use silas_core::token::Verdict;
use silas_core::{CardId, InstallationId, Timestamp};

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
    /// What the commands of running work print.
    pub outputs: Vec<OutputView>,
    /// The answer that a model is giving now, as far as it has come.
    pub answering: Option<DraftView>,
    /// The models that were asked and have not answered yet, longest first.
    pub waiting_for: Vec<AskedModelView>,
    /// What was looked at for answers that are being made, oldest first.
    pub looking: Vec<LookView>,
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
    /// What was stopped and taken back last, if nothing has begun since.
    pub stopped: Option<StopView>,
    /// Commits since the start that were synced to disk.
    pub n_durable_commits: u64,
    /// Whether Silas is stopping: nothing new is taken in, and what is under way may finish.
    pub leaving: bool,
    /// What could not be read and is missing here, if anything. Whoever is connected can still say, stop and take back.
    pub trouble: Option<TroubleView>,
}

/// What went wrong, in the parts of an error.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct TroubleView {
    pub code: String,
    pub message: String,
    pub todo: String,
}

impl From<Trouble> for TroubleView {
    fn from(Trouble { code, message, todo }: Trouble) -> Self {
        TroubleView { code, message, todo }
    }
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Update {
    Cards(CardsPage),
    Work {
        work: WorkView,
    },
    /// What running work prints, in the place of what was shown of it before.
    Output {
        output: OutputView,
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
    /// All models that are waited for now.
    WaitingFor {
        waiting_for: Vec<AskedModelView>,
    },
    /// All that was looked at for answers that are being made.
    Looking {
        looking: Vec<LookView>,
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

/// Cards of the review queue, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct CardsPage {
    pub cards: Vec<Card>,
    /// How many come after these.
    pub n_more_cards: usize,
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
