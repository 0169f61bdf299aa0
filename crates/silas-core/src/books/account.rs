//! What the books keep of each decision and each spending, once it was checked.
//!
//! Deliberately absent: the checks themselves.

use super::Reason;
use crate::canonical;
use crate::changeset::ChangeOrder;
use crate::house_rules::HouseRules;
use crate::rehearsal::ApplyOrder;
use crate::token::{Kind, Offer, Verdict};
use crate::{CardId, Digest, KeyId, Timestamp, TokenId};

/// What remains of a decision once it was checked. A ledger of a million entries has perhaps a hundred thousand.
pub(super) struct Account {
    pub(super) kind: Kind,
    pub(super) is_approved: bool,
    pub(super) n_spent: u32,
    pub(super) terms: Terms,
}

/// What was signed.
pub(super) struct Terms {
    pub(super) plan_hash: Digest,
    pub(super) epoch: u64,
    pub(super) expires_at: Timestamp,
    pub(super) max_executions: u32,
    /// As the store counts; `None` where only a part of the ledger is read, and nobody can say.
    pub(super) executions_used: Option<u32>,
    pub(super) subject: String,
    /// What an approved undo is about, unless its text was forgotten.
    pub(super) order: Option<ChangeOrder>,
    /// What an approved apply is about, likewise.
    pub(super) apply: Option<ApplyOrder>,
    /// Whether work may be done under it. Of house rules whose text was forgotten nobody can say, and then it may.
    pub(super) may_work: bool,
}

impl Terms {
    pub(super) fn of(offer: &Offer, payload: &str, executions_used: Option<u32>) -> Self {
        Terms {
            plan_hash: offer.plan_hash,
            epoch: offer.epoch,
            expires_at: offer.expires_at,
            max_executions: offer.max_executions,
            executions_used,
            subject: offer.work_item_id.clone(),
            order: canonical::read(payload).ok().filter(|_| offer.kind == Kind::Undo),
            apply: canonical::read(payload).ok().filter(|_| offer.kind == Kind::Apply),
            may_work: may_work(offer.kind, payload),
        }
    }
}

/// An entry that needs something which is not there any more. A later entry must say that it was forgotten.
pub(super) struct Gone {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) reason: Reason,
    /// Whether it goes with its time. Decisions never do; their texts only if the owner has them forgotten.
    pub(super) expires: bool,
}

/// One spending, and how far it came.
pub(super) struct Spent {
    pub(super) kind: Kind,
    pub(super) may_work: bool,
    pub(super) subject: Option<String>,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Spent,
    Started,
    Rehearsed,
    Applied,
    Ended,
    Undone,
}

fn may_work(kind: Kind, payload: &str) -> bool {
    match kind {
        Kind::Plan | Kind::Rehearsal => true,
        Kind::HouseRules if payload.is_empty() => true,
        Kind::HouseRules => canonical::read::<HouseRules>(payload).is_ok_and(|rules| rules.rehearsals().is_some()),
        Kind::Apply | Kind::Undo | Kind::Root | Kind::Device | Kind::Step | Kind::Model | Kind::Budget => false,
    }
}

/// What an entry says of a decision.
pub(super) struct Claimed<'a> {
    pub(super) token: &'a TokenId,
    pub(super) key: &'a KeyId,
    pub(super) kind: Kind,
    pub(super) verdict: Verdict,
    pub(super) card: Option<&'a CardId>,
}
