//! Why a proof is not one, each with the sentence that names what did not match.

use crate::check::Outcome;
use crate::device::Mismatch;
use crate::{books, chain, evidence};

/// The first thing that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Nothing that Silas wrote, or not for this version: bad input rather than a bad proof.
    #[error("This is not a proof that this version of Silas can read")]
    NotAProof,
    /// Cut short or damaged, so that nothing in it can be compared: bad input as well.
    #[error("The file cannot be read as a proof: {0}")]
    NotWhole(String),
    #[error("The file cannot be read as a proof: {0}")]
    Unreadable(String),
    #[error("The file is not spelled as Silas spells it: a byte of it was changed or added")]
    Spelling,
    #[error("The proof stands on root key {found}, not on the one that was given")]
    OtherRoot { found: String },
    #[error("The certificate of the server key does not count: {0}")]
    Server(Mismatch),
    #[error("The checkpoint was not signed by this installation's server key")]
    Checkpoint,
    #[error("The checkpoint is about entry {signed}, and the proof ends with entry {last}")]
    Uncovered { signed: u64, last: u64 },
    #[error("Entry {0} of the ledger is not the one that the checkpoint names")]
    OtherEntry(u64),
    #[error("{0}")]
    Chain(chain::Broken),
    #[error("The proof has more entries than any work writes")]
    TooLong,
    #[error("The proof does not begin with the decision that allowed the work")]
    NoDecision,
    #[error("The decision does not hold: {0}")]
    Decision(evidence::Refusal),
    #[error("{0}")]
    Books(books::Fault),
    #[error("The approved plan cannot be read: {0}")]
    Plan(String),
    #[error("Entry {0} has lost the text that belongs to it")]
    TextMissing(u64),
    #[error("Entry {0} carries a text or a decision that does not belong there")]
    Needless(u64),
    #[error("What entry {0} records cannot be read")]
    Content(u64),
    #[error("The check results of entry {seq} do not fit the plan or the entry: {what}")]
    Checks { seq: u64, what: &'static str },
    #[error("The order is not check, work, check, apply: entry {0} comes where it cannot")]
    Order(u64),
    #[error("{ran} of the plan's {planned} commands ran")]
    Steps { ran: u32, planned: usize },
    #[error("The checks come to `{computed:?}`, and entry {seq} says `{recorded:?}`")]
    Outcome { seq: u64, recorded: Outcome, computed: Outcome },
    #[error("The list of changed files is not the one whose hash entry {0} records")]
    Changeset(u64),
    #[error("The checks and changes are not the ones that the decision to apply them at entry {0} was about")]
    Findings(u64),
    #[error("The change that is shown of {0} is not of a file in the list of changed files")]
    Diff(String),
    #[error("Nothing says that the work was put in place")]
    NotApplied,
    #[error("The proof goes on after the work has ended, at entry {0}")]
    Beyond(u64),
}

impl Refusal {
    /// Whether what was given cannot be read as a proof at all, rather than as one that does not hold.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Refusal::NotAProof | Refusal::NotWhole(_))
    }
}

impl From<chain::Broken> for Refusal {
    fn from(broken: chain::Broken) -> Self {
        Refusal::Chain(broken)
    }
}

impl From<books::Fault> for Refusal {
    fn from(fault: books::Fault) -> Self {
        Refusal::Books(fault)
    }
}
