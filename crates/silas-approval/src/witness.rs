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

use silas_core::changeset::ChangeOrder;
use silas_core::evidence::Evidence;
use silas_core::model::{BudgetGrant, ModelGrant};
use silas_core::roots::RootGrant;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_core::{ExecutionId, Timestamp, canonical};
use std::time::Duration;

/// Something that a decision can be about: the kind of token it needs and the bytes that are hashed.
pub trait Approvable {
    fn kind(&self) -> Kind;
    fn payload(&self) -> Result<String, canonical::Error>;
    /// How long one spending may take.
    fn runs_for(&self) -> Duration;
    /// The directories that it touches; each must be allowed by a decision of its own.
    fn places(&self) -> Vec<&str> {
        Vec::new()
    }
}

impl Approvable for WorkItem {
    fn kind(&self) -> Kind {
        Kind::Plan
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        self.canonical()
    }
    fn runs_for(&self) -> Duration {
        Duration::from_secs(self.definition().budget.max_wall_time_seconds)
    }
    fn places(&self) -> Vec<&str> {
        self.definition().directories.iter().map(|directory| directory.path.as_str()).collect()
    }
}

/// Putting a change in place or taking it back is a matter of seconds; this is plenty.
const CHANGE_ORDER_SECS: u64 = 600;

impl Approvable for ChangeOrder {
    fn kind(&self) -> Kind {
        self.kind
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
    fn runs_for(&self) -> Duration {
        Duration::from_secs(CHANGE_ORDER_SECS)
    }
}

impl Approvable for RootGrant {
    fn kind(&self) -> Kind {
        Kind::Root
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
    fn runs_for(&self) -> Duration {
        Duration::ZERO
    }
}

impl Approvable for ModelGrant {
    fn kind(&self) -> Kind {
        Kind::Model
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
    fn runs_for(&self) -> Duration {
        Duration::ZERO
    }
}

impl Approvable for BudgetGrant {
    fn kind(&self) -> Kind {
        Kind::Budget
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
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
}
