//! What the front may ask of the launcher and of a workshop, and what it hears back. Everything that cannot be said
//! here cannot be asked for.

use crate::{Error, Seal};
use serde::{Deserialize, Serialize};
use silas_core::changeset::{Changeset, FileDiff};
use silas_core::check::Ended;
use silas_core::device::CertificateBody;
use silas_core::event::Phase;
use silas_core::evidence::Evidence;
use silas_core::execution::ExecutionState;
use silas_core::flags::Flag;
use silas_core::key_service::SignBody;
use silas_core::{Digest, ExecutionId, Timestamp};
use std::path::PathBuf;

/// From the front to the launcher. Each is answered by one `Result`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherAsk {
    InitKeys { data_dir: PathBuf, at: Timestamp, terminal_name: String },
    Seal(Seal),
    Certify { body: CertificateBody, proof: String },
    Open(Box<Evidence>),
    Undo(Box<Evidence>),
    Recover,
    Forget(ExecutionId),
}

/// From the front to a workshop. Each is answered by one `Result`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WorkshopAsk {
    Copy,
    Checks { phase: Phase },
    Step { n: usize },
    Changes,
    Apply,
    Discard,
}

/// From a terminal of the owner to the launcher.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum TerminalAsk {
    Sign(Box<SignBody>),
    PairingCode,
}

/// The private copy was made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Copied {
    pub files: u64,
    pub bytes: u64,
    /// How many of the directories are worked on through a layer, so that nothing of them was copied.
    pub layered: u32,
    pub took_ms: u64,
}

/// What one step of the plan showed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepResult {
    pub ended: Ended,
    /// Standard output, then standard error, cut to what a person would read.
    pub output: String,
    pub took_ms: u64,
}

/// What the steps changed in the copy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Changes {
    pub changeset: Changeset,
    /// At most the first fifty files.
    pub diffs: Vec<FileDiff>,
    /// What to look at twice, in all of them.
    pub flags: Vec<Flag>,
    /// Changed files that at least one check saw as they were approved.
    pub unseen: Vec<String>,
}

/// The verified changes are in place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Applied {
    pub changeset: Digest,
    pub files: u32,
    /// Where somebody's text met ours in the last moment. Empty almost always.
    pub conflicts: Vec<KeptText>,
}

/// Two texts wanted one place. One of them is there, the other lies at `kept_at`; both are below `directory`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeptText {
    pub directory: String,
    pub path: String,
    pub kept_at: String,
}

/// What was applied is taken back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Undone {
    pub execution: ExecutionId,
    pub changeset: Digest,
    pub files: u32,
    pub conflicts: Vec<KeptText>,
}

/// What is true about an execution after recovery.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recovered {
    pub execution: ExecutionId,
    pub state: ExecutionState,
    /// Set if it was applied, also if it was undone later.
    pub changeset: Option<Digest>,
    pub files: u32,
    pub undo_until: Option<Timestamp>,
    pub conflicts: Vec<KeptText>,
    /// Why recovery could not finish this one now. It stays as it is and is tried again at the next start.
    pub problem: Option<Error>,
}
