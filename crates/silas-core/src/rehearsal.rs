//! Rehearse, then ask: what the owner signs about a result that waits in its private copy.
//!
//! A rehearsal is a real run whose result is not applied. Its [`ApplyOrder`] names the very run, the plan, the changes, and
//! what was shown of them, so a card that tells another story than the workshop found cannot be turned into an apply.

use crate::changeset::FileDiff;
use crate::check::CheckResult;
use crate::token::Kind;
use crate::work::Definition;
use crate::{Digest, ExecutionId, canonical};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a result waits for its decision; longer than a night.
pub const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);
/// Results that wait at once. Whoever has more of them does not read them.
pub const WAITING_MAX: u32 = 16;

/// The payload of an `apply` decision: exactly these changes, of exactly this run of exactly this plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyOrder {
    pub kind: Kind,
    /// The run whose copy waits.
    pub execution: ExecutionId,
    /// SHA-256 of the plan's canonical text.
    pub plan_hash: Digest,
    pub changeset: Digest,
    /// See [`Findings::hash`].
    pub findings: Digest,
}

/// What the workshop found, as it stands on the card. Whoever shows it can compute its hash from what is shown.
#[derive(Serialize)]
pub struct Findings<'a> {
    pub before: &'a [CheckResult],
    pub after: &'a [CheckResult],
    pub diffs: &'a [FileDiff],
}

impl Findings<'_> {
    pub fn hash(&self) -> Result<Digest, canonical::Error> {
        canonical::digest(self)
    }
}

/// Why a plan cannot be rehearsed without being asked for: it has a way out of its private copy.
pub fn exit_of(plan: &Definition) -> Option<&'static str> {
    let exits = [
        (!plan.hosts.is_empty(), "the plan reaches a host"),
        (!plan.secrets.is_empty(), "the plan uses a secret"),
        (plan.callback_port.is_some(), "the plan opens a port"),
        (plan.commits, "the plan commits"),
        (plan.executor.as_ref().is_some_and(|mandate| mandate.has("web_search")), "the plan searches the web"),
    ];
    exits.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}

#[cfg(test)]
mod tests;
