//! What an event means for the books ([`crate::books`]): the effects that a ledger can tell of, a closed list.
//!
//! Deliberately absent: whether an effect was allowed, and which event has which; the catalogue says that.

use crate::task::{OperationId, TaskId};
use crate::token::{Kind, Verdict};
use crate::{CardId, Digest, ExecutionId, InstallationId, KeyId, MessageId, Timestamp, TokenId, WorkItemId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect<'a> {
    /// None: the event says what was heard, shown or refused.
    Tells,
    Installs {
        installation: &'a InstallationId,
        root: &'a KeyId,
    },
    Restores {
        epoch: u64,
    },
    HandsOverRoot {
        number: u64,
        from: &'a KeyId,
        to: &'a KeyId,
    },
    Pairs(&'a KeyId),
    RegistersPasskey {
        key: &'a KeyId,
        token: Option<&'a TokenId>,
    },
    RevokesDevice(&'a KeyId),
    /// A decision was taken; it must lie beside the chain. The house rules are signed while pairing, without a card.
    Decides {
        card: Option<&'a CardId>,
        token: &'a TokenId,
        kind: Kind,
        verdict: Verdict,
        key: &'a KeyId,
    },
    Spends {
        token: &'a TokenId,
        execution: &'a ExecutionId,
        plan_hash: &'a Digest,
        use_number: u32,
    },
    /// Something may be used from here on, by a decision of this kind.
    Grants {
        token: &'a TokenId,
        kind: Kind,
    },
    Starts {
        work_item: &'a WorkItemId,
        execution: &'a ExecutionId,
    },
    /// Something happened while this work was done.
    During(&'a ExecutionId),
    Rehearses(&'a ExecutionId),
    Applies {
        execution: &'a ExecutionId,
        changeset: &'a Digest,
    },
    /// The work ended, and nothing of it was put in place.
    Ends(&'a ExecutionId),
    Undoes {
        execution: &'a ExecutionId,
        changeset: &'a Digest,
        token: &'a TokenId,
    },
    ClosesUndo(&'a ExecutionId),
    /// The owner's signed words were taken as the approval of `call`; they must lie beside the chain.
    Instructs {
        message: &'a MessageId,
        operation: &'a OperationId,
        key: &'a KeyId,
        call: &'a Digest,
    },
    /// `tool` is the one that the instruction must have asked for.
    ChangesTask {
        task: &'a TaskId,
        operation: &'a OperationId,
        tool: &'static str,
    },
    /// What an earlier entry names may be gone from here on.
    Forgets,
    /// Instructions from before this instant may be gone.
    Expires {
        before: Timestamp,
    },
}

impl<'a> Effect<'a> {
    /// The work that the event is a part of.
    pub fn execution(self) -> Option<&'a ExecutionId> {
        match self {
            Effect::Spends { execution, .. }
            | Effect::Starts { execution, .. }
            | Effect::During(execution)
            | Effect::Rehearses(execution)
            | Effect::Applies { execution, .. }
            | Effect::Ends(execution)
            | Effect::Undoes { execution, .. }
            | Effect::ClosesUndo(execution) => Some(execution),
            Effect::Tells
            | Effect::Installs { .. }
            | Effect::Restores { .. }
            | Effect::HandsOverRoot { .. }
            | Effect::Pairs(_)
            | Effect::RegistersPasskey { .. }
            | Effect::RevokesDevice(_)
            | Effect::Decides { .. }
            | Effect::Grants { .. }
            | Effect::Instructs { .. }
            | Effect::ChangesTask { .. }
            | Effect::Forgets
            | Effect::Expires { .. } => None,
        }
    }
}
