//! The witness: proof, in the type system, that a decision of the owner was checked and spent.
//!
//! A token is data and proves nothing. An [`Approved`] is proof and is not data: it can be neither copied, nor read from
//! anywhere, nor written down, and its fields are private to this room.
//!
//! This compiles, because an `Approved` may be used:
//! ```
//! use silas_approval::Approved;
//! use silas_core::work::WorkItem;
//! fn run(approved: Approved<WorkItem>) -> String { approved.item().definition().title.clone() }
//! ```
//! This does not, because it may not be made:
//! ```compile_fail,E0451
//! use silas_approval::Approved;
//! use silas_core::work::WorkItem;
//! fn forge(item: WorkItem, evidence: silas_core::evidence::Evidence, until: silas_core::Timestamp) -> Approved<WorkItem> {
//!     Approved { item, evidence, runs_until: until }
//! }
//! ```

use silas_core::call_order::CallOrder;
use silas_core::changeset::ChangeOrder;
use silas_core::evidence::Evidence;
use silas_core::model::{BudgetGrant, ModelGrant};
use silas_core::passkey::PasskeyGrant;
use silas_core::rehearsal::ApplyOrder;
use silas_core::roots::RootGrant;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_core::{ExecutionId, Timestamp, canonical};
use std::time::Duration;

/// Something that a card can ask about: the kind of token it needs and the bytes that are hashed.
pub trait Askable {
    fn kind(&self) -> Kind;
    fn payload(&self) -> Result<String, canonical::Error>;
}

/// Something that can be done once a decision about it was spent.
pub trait Approvable: Askable {
    /// How long one spending may take.
    fn runs_for(&self) -> Duration;
    /// The directories that it touches; each must be allowed by a decision of its own.
    fn places(&self) -> Vec<&str> {
        Vec::new()
    }
    /// The plan that it is about, where the payload is not the plan itself.
    fn plan(&self) -> Result<Option<String>, canonical::Error> {
        Ok(None)
    }
}

impl Askable for WorkItem {
    fn kind(&self) -> Kind {
        Kind::Plan
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        self.canonical()
    }
}

impl Approvable for WorkItem {
    fn runs_for(&self) -> Duration {
        Duration::from_secs(self.definition().budget.max_wall_time_seconds)
    }
    fn places(&self) -> Vec<&str> {
        self.definition().directories.iter().map(|directory| directory.path.as_str()).collect()
    }
}

/// A plan that is to be carried out with the apply withheld.
#[derive(Debug)]
pub struct Rehearsal(pub WorkItem);

impl Askable for Rehearsal {
    fn kind(&self) -> Kind {
        Kind::Rehearsal
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        self.0.payload()
    }
}

impl Approvable for Rehearsal {
    fn runs_for(&self) -> Duration {
        self.0.runs_for()
    }
    fn places(&self) -> Vec<&str> {
        self.0.places()
    }
}

/// Something whose changes wait in their private copy, and the order to put exactly them in place.
#[derive(Debug)]
pub struct Apply {
    pub order: ApplyOrder,
    /// The plan that was carried out; its directories must still be allowed.
    pub plan: WorkItem,
}

impl Askable for Apply {
    fn kind(&self) -> Kind {
        Kind::Apply
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(&self.order)
    }
}

impl Askable for ApplyOrder {
    fn kind(&self) -> Kind {
        self.kind
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Approvable for Apply {
    fn runs_for(&self) -> Duration {
        self.plan.runs_for()
    }
    fn places(&self) -> Vec<&str> {
        self.plan.places()
    }
    fn plan(&self) -> Result<Option<String>, canonical::Error> {
        self.plan.canonical().map(Some)
    }
}

/// Putting a change in place or taking it back is a matter of seconds; this is plenty.
const CHANGE_ORDER_SECS: u64 = 600;

impl Askable for ChangeOrder {
    fn kind(&self) -> Kind {
        self.kind
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Approvable for ChangeOrder {
    fn runs_for(&self) -> Duration {
        Duration::from_secs(CHANGE_ORDER_SECS)
    }
}

impl Askable for CallOrder {
    fn kind(&self) -> Kind {
        self.kind
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Approvable for CallOrder {
    fn runs_for(&self) -> Duration {
        Duration::from_secs(CHANGE_ORDER_SECS)
    }
}

impl Askable for RootGrant {
    fn kind(&self) -> Kind {
        Kind::Root
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Approvable for RootGrant {
    fn runs_for(&self) -> Duration {
        Duration::ZERO
    }
}

impl Askable for ModelGrant {
    fn kind(&self) -> Kind {
        Kind::Model
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Approvable for ModelGrant {
    fn runs_for(&self) -> Duration {
        Duration::ZERO
    }
}

impl Askable for PasskeyGrant {
    fn kind(&self) -> Kind {
        Kind::Device
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Approvable for PasskeyGrant {
    fn runs_for(&self) -> Duration {
        Duration::ZERO
    }
}

impl Askable for BudgetGrant {
    fn kind(&self) -> Kind {
        Kind::Budget
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Approvable for BudgetGrant {
    fn runs_for(&self) -> Duration {
        Duration::ZERO
    }
}

/// The owner approved exactly this item, and this is the one spending of that approval.
#[derive(Debug)]
pub struct Approved<T> {
    item: T,
    evidence: Evidence,
    runs_until: Timestamp,
}

impl<T> Approved<T> {
    /// Only the engine calls this, after it has checked and spent.
    pub(crate) fn new(item: T, evidence: Evidence, spent_at: Timestamp) -> Self
    where
        T: Approvable,
    {
        let runs_until = spent_at.plus(item.runs_for());
        Approved { item, evidence, runs_until }
    }

    pub fn item(&self) -> &T {
        &self.item
    }

    pub fn execution(&self) -> &ExecutionId {
        &self.evidence.execution
    }

    /// What the launcher asks for; it believes nothing else.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    pub fn runs_until(&self) -> Timestamp {
        self.runs_until
    }

    fn having_rested(self, rested: Duration) -> Self {
        Approved { runs_until: self.runs_until.plus(rested), ..self }
    }
}

/// Work that may be carried out, and how far.
#[derive(Debug)]
pub enum Admitted {
    /// To the end: applied when the checks turn green.
    Plan(Approved<WorkItem>),
    /// In the private copy only.
    Rehearsal(Approved<Rehearsal>),
}

impl Admitted {
    pub fn item(&self) -> &WorkItem {
        match self {
            Admitted::Plan(approved) => approved.item(),
            Admitted::Rehearsal(approved) => &approved.item().0,
        }
    }

    pub fn execution(&self) -> &ExecutionId {
        match self {
            Admitted::Plan(approved) => approved.execution(),
            Admitted::Rehearsal(approved) => approved.execution(),
        }
    }

    pub fn evidence(&self) -> &Evidence {
        match self {
            Admitted::Plan(approved) => approved.evidence(),
            Admitted::Rehearsal(approved) => approved.evidence(),
        }
    }

    /// When the time that was approved for it is over.
    pub fn runs_until(&self) -> Timestamp {
        match self {
            Admitted::Plan(approved) => approved.runs_until(),
            Admitted::Rehearsal(approved) => approved.runs_until(),
        }
    }

    /// Time in which it waited for a provider or the owner is none of its own.
    pub(crate) fn having_rested(self, rested: Duration) -> Self {
        match self {
            Admitted::Plan(approved) => Admitted::Plan(approved.having_rested(rested)),
            Admitted::Rehearsal(approved) => Admitted::Rehearsal(approved.having_rested(rested)),
        }
    }

    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.runs_until()
    }
}
