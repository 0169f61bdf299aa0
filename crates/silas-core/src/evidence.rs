//! The one reading of an approval. The engine in the front and the launcher outside it call [`verify`] with the same
//! evidence, so bypassing one does not get past the other.
//!
//! Architecture invariant (INV-01, INV-02): nothing here looks at a database or a clock; whoever calls brings the trust
//! anchor and the time, and counts spendings itself.

use crate::device::{Certificate, Mismatch};
use crate::house_rules::{HouseRules, RehearsalBudget};
use crate::rehearsal::{self, ApplyOrder};
use crate::revocation::Revocations;
use crate::roots::{self, RootGrant};
use crate::signature::PublicKey;
use crate::token::{Kind, Offer, Token, Verdict};
use crate::work::WorkItem;
use crate::{Digest, ExecutionId, InstallationId, Timestamp, TokenId, canonical};
use serde::{Deserialize, Serialize};

/// What must be shown to have something done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    pub token: Token,
    pub certificate: Certificate,
    /// The canonical text of what was approved: its hash is in the token.
    pub payload: String,
    pub execution: ExecutionId,
    /// For a plan: the decisions that allow its directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<Allowance>,
    /// For a rehearsal under the house rules and for an apply, whose payload is not the plan: its canonical text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// A decision that allows a directory, with everything that is needed to check it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowance {
    pub token: Token,
    pub certificate: Certificate,
    pub payload: String,
}

/// What every verification is relative to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Anchor {
    pub root: PublicKey,
    pub installation: InstallationId,
    pub epoch: u64,
}

/// Whether time still matters. Finishing what was committed checks who and what, not when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    At(Timestamp),
    AlreadyCommitted,
}

/// Why evidence is not enough. Each names the one thing that did not match.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    #[error("the certificate of the device does not count: {0}")]
    Certificate(Mismatch),
    #[error("the list of what was revoked does not count: {0}")]
    Revocations(Mismatch),
    #[error("the device that signed this was revoked")]
    RevokedDevice,
    #[error("this approval was revoked")]
    RevokedGrant,
    #[error("plans are not allowed in {0}, or no longer")]
    Root(String),
    #[error("this is decided with your passkey, and another key signed it")]
    NoPasskey,
    #[error("the decision names another key than the certificate")]
    Key,
    #[error("the signature does not fit the decision")]
    Signature,
    #[error("the decision was not an approval")]
    Verdict,
    #[error("the decision was made for another installation")]
    Installation,
    #[error("the decision was made before this data directory was restored or reset")]
    Epoch,
    #[error("the house rules do not allow this: {0}")]
    HouseRules(String),
    #[error("the decision approves another kind of thing")]
    Kind,
    #[error("the decision allows more uses or more time than its kind may")]
    Bounds,
    #[error("what would be done is not what was approved")]
    Content,
    #[error("the execution does not belong to this decision")]
    Execution,
    #[error("the approval has expired")]
    Expired,
    #[error("the approval is dated in the future")]
    NotYet,
    #[error("the approval cannot be read: {0}")]
    Malformed(String),
}

/// How far two clocks of one machine may disagree before a date counts as the future.
const CLOCK_SLACK_SECS: u64 = 60;

/// Checks everything that signatures, hashes and times can show. Returns the token's id.
pub fn verify(
    evidence: &Evidence,
    kind: Kind,
    anchor: &Anchor,
    revocations: &Revocations,
    when: When,
) -> Result<TokenId, Refusal> {
    let id = verify_token(&evidence.token, &evidence.certificate, kind, anchor, revocations, when)?;
    if Digest::of(evidence.payload.as_bytes()) != evidence.token.body.offer.plan_hash {
        return Err(Refusal::Content);
    }
    let uses = evidence.token.body.offer.max_executions;
    if !(0..uses.min(USES_MAX)).any(|n| ExecutionId::derive(&id, n) == evidence.execution) {
        return Err(Refusal::Execution);
    }
    Ok(id)
}

/// A rehearsal under the house rules: they name it, and the plan keeps to what they say. Gives the plan and its budget.
pub fn verify_rehearsal(
    evidence: &Evidence,
    anchor: &Anchor,
    revocations: &Revocations,
    when: When,
) -> Result<(TokenId, WorkItem, RehearsalBudget), Refusal> {
    let id = verify(evidence, Kind::HouseRules, anchor, revocations, when)?;
    let refuse = |why: &str| Refusal::HouseRules(why.to_owned());
    let rules: HouseRules = canonical::read(&evidence.payload).map_err(malformed)?;
    let budget = rules.rehearsals().ok_or_else(|| refuse("they do not name rehearsals"))?;
    let plan = read_plan(evidence)?;
    if let Some(exit) = rehearsal::exit_of(plan.definition()) {
        return Err(refuse(exit));
    }
    if plan.definition().budget.max_wall_time_seconds > budget.max_wall_time_seconds {
        return Err(refuse("the plan takes more time than a rehearsal may"));
    }
    Ok((id, plan, budget))
}

/// A decision to apply what a run left: it names the plan that comes with it. Gives the order and the plan.
pub fn verify_apply(
    evidence: &Evidence,
    anchor: &Anchor,
    revocations: &Revocations,
    when: When,
) -> Result<(TokenId, ApplyOrder, WorkItem), Refusal> {
    let id = verify(evidence, Kind::Apply, anchor, revocations, when)?;
    let order: ApplyOrder = canonical::read(&evidence.payload).map_err(malformed)?;
    if order.kind != Kind::Apply {
        return Err(Refusal::Kind);
    }
    let plan = read_plan(evidence)?;
    if Digest::of(evidence.plan.as_deref().unwrap_or_default().as_bytes()) != order.plan_hash {
        return Err(Refusal::Content);
    }
    Ok((id, order, plan))
}

fn read_plan(evidence: &Evidence) -> Result<WorkItem, Refusal> {
    let text = evidence.plan.as_deref().ok_or_else(|| Refusal::Malformed("the plan is missing".to_owned()))?;
    WorkItem::from_canonical(text).map_err(Refusal::Malformed)
}

fn malformed(bad: canonical::Error) -> Refusal {
    Refusal::Malformed(bad.to_string())
}

/// More uses than any token may have; bounds the search for an execution's number.
pub const USES_MAX: u32 = 1000;

/// The part of [`verify`] that needs no payload: is this an approval of this kind, here and now, by a device of ours?
pub fn verify_token(
    token: &Token,
    certificate: &Certificate,
    kind: Kind,
    anchor: &Anchor,
    revocations: &Revocations,
    when: When,
) -> Result<TokenId, Refusal> {
    verify_signature(token, certificate, anchor)?;
    revocations.allow(token)?;
    let offer = &token.body.offer;
    match token.body.verdict {
        Verdict::Approved => {}
        Verdict::Declined | Verdict::EditRequested | Verdict::Conditional => return Err(Refusal::Verdict),
    }
    if offer.kind != kind || offer.scope != kind.scope() {
        return Err(Refusal::Kind);
    }
    if !offer.is_within_bounds() {
        return Err(Refusal::Bounds);
    }
    check_times(offer, when)?;
    token.id().map_err(|e| Refusal::Malformed(e.to_string()))
}

/// Who signed, and for which installation; says nothing about the verdict.
pub fn verify_signature(token: &Token, certificate: &Certificate, anchor: &Anchor) -> Result<(), Refusal> {
    let body = &token.body;
    certificate.check(&anchor.root, &anchor.installation).map_err(Refusal::Certificate)?;
    if body.key != certificate.body.key {
        return Err(Refusal::Key);
    }
    let message = body.message().map_err(|e: canonical::Error| Refusal::Malformed(e.to_string()))?;
    if !certificate.vouches_for(message.as_bytes(), &token.signature) {
        return Err(Refusal::Signature);
    }
    if body.offer.v != Offer::VERSION {
        return Err(Refusal::Malformed("unknown version".to_owned()));
    }
    if body.offer.installation != anchor.installation {
        return Err(Refusal::Installation);
    }
    if body.offer.epoch != anchor.epoch {
        return Err(Refusal::Epoch);
    }
    Ok(())
}

impl Allowance {
    /// The directory that this allows, if it still does. A directory stays allowed until it is revoked, so the time in
    /// which its card could be answered plays no part.
    pub fn verify(&self, anchor: &Anchor, revocations: &Revocations) -> Result<RootGrant, Refusal> {
        verify_token(&self.token, &self.certificate, Kind::Root, anchor, revocations, When::AlreadyCommitted)?;
        if Digest::of(self.payload.as_bytes()) != self.token.body.offer.plan_hash {
            return Err(Refusal::Content);
        }
        canonical::read(&self.payload).map_err(|e: canonical::Error| Refusal::Malformed(e.to_string()))
    }
}

/// Whether the owner allowed plans in each of these directories, and has not taken that back. Every allowance must hold:
/// one that does not is no road to another.
pub fn verify_roots<'p>(
    evidence: &Evidence,
    paths: impl Iterator<Item = &'p str>,
    anchor: &Anchor,
    revocations: &Revocations,
) -> Result<(), Refusal> {
    let allowed = evidence.roots.iter().map(|root| root.verify(anchor, revocations)).collect::<Result<Vec<_>, _>>()?;
    for path in paths {
        if !allowed.iter().any(|grant| roots::contains(&grant.place.path, path)) {
            return Err(Refusal::Root(path.to_owned()));
        }
    }
    Ok(())
}

/// Whether the time is right: not expired, and not dated in the future.
pub fn check_times(offer: &Offer, when: When) -> Result<(), Refusal> {
    match when {
        When::AlreadyCommitted => Ok(()),
        When::At(now) if now >= offer.expires_at => Err(Refusal::Expired),
        When::At(now) if offer.issued_at > now.plus(std::time::Duration::from_secs(CLOCK_SLACK_SECS)) => {
            Err(Refusal::NotYet)
        }
        When::At(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
