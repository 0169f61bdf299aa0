//! The ledger, told in sentences, and what can be looked up of it.

use super::Spent;
use serde::{Deserialize, Serialize};
use silas_core::card::{Fact, Quote};
use silas_core::chain::Link;
use silas_core::checkpoint::Head;
use silas_core::event::Topic;
use silas_core::{ExecutionId, Timestamp};

/// What happened before an entry of the ledger, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ActivityPage {
    pub rows: Vec<Row>,
    /// What to ask for next; nothing if this reaches back to the beginning. There may be more even if no row is here.
    pub earlier: Option<u64>,
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

/// The ledger, told in sentences, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
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

/// One figure about how deciding goes, with what it should be. The note says what is off, if something is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct MeasureView {
    pub name: String,
    pub value: String,
    pub target: String,
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
