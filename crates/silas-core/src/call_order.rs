//! What the owner signs about one call of a tool that its plan does not cover: exactly this call, of exactly this run.

use crate::ExecutionId;
use crate::exits::Undeclared;
use crate::token::Kind;
use serde::{Deserialize, Serialize};

/// The payload of a `step` decision about a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallOrder {
    pub kind: Kind,
    /// The run whose call waits.
    pub execution: ExecutionId,
    /// Which wait of that run this is, so that wanting the same again asks again.
    pub nth: u32,
    pub tool: String,
    /// The final arguments as JSON, byte for byte as they will be used.
    pub arguments: String,
    /// What is not declared, with where it came from. Empty for a tool that is never called without being asked for.
    pub undeclared: Vec<Undeclared>,
}

/// Longest arguments that a person is asked about; what is longer cannot be read, so it is refused instead.
pub const ARGUMENTS_BYTES_MAX: usize = 4 * 1024;
/// Calls of one run that are asked about. A run that asks for more has lost its way.
pub const ASKED_MAX: u32 = 5;
