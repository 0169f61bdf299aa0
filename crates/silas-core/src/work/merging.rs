//! Two edits of the same files, brought together by a plan.

use crate::{Digest, ExecutionId};
use serde::{Deserialize, Serialize};

/// Two edits of the same files, brought together. The hash binds what each file must be before, which is the owner's version,
/// and every byte that it is after.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merging {
    pub execution: ExecutionId,
    /// Of a [`crate::changeset::Changeset`].
    pub changeset: Digest,
}

impl Merging {
    /// As a plan's text has it: the execution, a space, the hash.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (execution, changeset) = text.split_once(' ').ok_or("an execution and a hash")?;
        let execution = ExecutionId::parse(execution).map_err(|e| e.to_string())?;
        let changeset = Digest::try_from(changeset.to_owned()).map_err(|e| e.to_string())?;
        Ok(Merging { execution, changeset })
    }
}

impl std::fmt::Display for Merging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.execution, self.changeset)
    }
}
