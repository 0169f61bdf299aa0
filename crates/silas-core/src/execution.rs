//! One spending of an approval, from the spending to its one terminal state.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionState {
    /// Spent; the work may be under way, or was interrupted and may go on.
    Running,
    /// It ended, and its result waits in its private copy for the owner's word.
    Rehearsed,
    /// Verified and in place.
    Applied,
    /// Ended without touching anything: a check stayed red, nothing was to do, or the owner stopped it.
    Ended,
    /// Applied and taken back.
    Undone,
}

impl ExecutionState {
    pub fn is_terminal(self) -> bool {
        match self {
            ExecutionState::Running | ExecutionState::Rehearsed => false,
            ExecutionState::Applied | ExecutionState::Ended | ExecutionState::Undone => true,
        }
    }
}
