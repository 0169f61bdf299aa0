//! What the books can find, and the sentence for each.

use crate::reflex::UnknownGrammar;
use crate::{TokenId, evidence};
use std::fmt;

/// The first entry whose meaning does not hold, though the chain may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub seq: u64,
    pub reason: Reason,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    #[error("names another installation than the one whose keys are here")]
    OtherInstallation,
    #[error("begins an epoch that is not a later one")]
    EpochBack,
    #[error("names a decision that is not there")]
    NoDecision,
    #[error("says something else than the decision that it names")]
    OtherDecision,
    #[error("names a decision that does not hold: {0}")]
    Decision(#[from] evidence::Refusal),
    #[error("records a decision for the second time")]
    DecidedTwice,
    #[error("records a decision of a passkey whose counter goes back; there may be a copy of it")]
    Counter,
    #[error("records a decision of a browser that was not paired")]
    Unpaired,
    #[error("spends an approval more than the {max} times that were allowed")]
    Overspent { max: u32 },
    #[error("tells of an effect for which no approval was spent")]
    NotSpent,
    #[error("tells of an effect under an approval of another kind")]
    OtherKind,
    #[error("tells of other work than was approved")]
    OtherWork,
    #[error("tells of another change than was approved")]
    OtherChange,
    #[error("tells for the second time of what one approval allows once")]
    Twice,
    #[error("names an instruction that is not there")]
    NoInstruction,
    #[error("names an instruction that the owner did not sign like this")]
    Instruction,
    #[error("names an instruction that cannot be read again: {0}")]
    Grammar(#[from] UnknownGrammar),
    #[error("changes a task without an instruction for it")]
    NotInstructed,
    #[error("tells of a hand-over of the root key that was not signed like this")]
    Handover,
    #[error("is the last, and by it the root key was handed over {told} times; the keys say {signed}")]
    HandoverUntold { told: u64, signed: u64 },
    #[error("is the last, and by it approval {token} was spent {ledger} times; the database counts {kept}")]
    Count { token: TokenId, ledger: u32, kept: u32 },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry {} of the ledger {}", self.seq, self.reason)
    }
}
