//! Which agent it is, and which of its runs: the names from which every operation of a run follows.
//!
//! A name is `H("v1", kind, …)`, the SHA-256 of that array as canonical JSON. The same cause makes the same run, however often
//! it is begun with, so the operations of a run that is begun again are the same operations and not further ones.
//!
//! Deliberately absent: the session over which something was said. A message is the same one over whichever connection it comes
//! in, and whoever sends it again after a lost connection has not said it twice.

use crate::{Digest, InstallationId, MessageId, Scope};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The assistant of one scope of one installation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(Digest);

/// One run of an agent: everything that follows from one cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunKey(Digest);

impl AgentId {
    pub fn of(installation: &InstallationId, scope: &Scope) -> Self {
        // Neither has a sign in it that JSON would escape.
        AgentId(Digest::of(format!(r#"["v1","agent","{installation}","{scope}"]"#).as_bytes()))
    }
}

impl RunKey {
    /// The run that begins because somebody said something.
    pub fn said(agent: &AgentId, message: &MessageId) -> Self {
        RunKey(Digest::of(format!(r#"["v1","run","{agent}","said","{message}"]"#).as_bytes()))
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for RunKey {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Digest::try_from(text).map(RunKey)
    }
}

#[cfg(test)]
mod tests;
