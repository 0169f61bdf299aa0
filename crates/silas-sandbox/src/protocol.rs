//! What the front may ask of the launcher and of a workshop, and what it hears back. Everything that cannot be said
//! here cannot be asked for.

use crate::cell::LimitsInForce;
use crate::{Error, Look, Seal};
use serde::{Deserialize, Serialize};
use silas_core::changeset::{Changeset, DiffLine, FileDiff};
use silas_core::check::{Command, Ended};
use silas_core::checkpoint::ServerCertificateBody;
use silas_core::device::{Certificate, CertificateBody};
use silas_core::event::Phase;
use silas_core::evidence::{Allowance, Evidence};
use silas_core::execution::ExecutionState;
use silas_core::file_order::{FileOrder, Sights};
use silas_core::flags::Flag;
use silas_core::instruction::SampleOrder;
use silas_core::key_service::SignBody;
use silas_core::number::grouped;
use silas_core::outside::{Connection, Piece};
use silas_core::revocation::{RevocationList, Withdrawal};
use silas_core::secret::SecretRef;
use silas_core::token::TokenBody;
use silas_core::{Digest, ExecutionId, Timestamp};
use std::path::PathBuf;

/// From the front to the launcher. Each is answered by one `Result`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherAsk {
    InitKeys {
        data_dir: PathBuf,
        at: Timestamp,
        terminal_name: String,
        keyring: bool,
    },
    /// Has the server key certified, for the ledger and nothing else. Refused once sealed: who serves people can have no
    /// key certified.
    CertifyServer {
        data_dir: PathBuf,
        body: ServerCertificateBody,
    },
    Seal(Seal),
    /// Instead of [`LauncherAsk::Seal`]: whoever asks is the owner's own command and no server. No door is opened, and the
    /// next ask can be had.
    SealForCommand(Seal),
    /// Signs one command with the terminal key. For a command only. A socket follows, from which the key helper reads the
    /// passphrase where it needs one; the launcher does not.
    SignStep(Box<TokenBody>),
    /// What of the owner's tools a project would use.
    Toolchains {
        project: Option<PathBuf>,
    },
    Certify {
        body: CertificateBody,
        proof: String,
    },
    /// A decision about a passkey.
    CertifyPasskey(Box<Evidence>),
    /// The passkeys that the front knows, for all that there are.
    Passkeys(Vec<Certificate>),
    Withdraw {
        withdrawal: Box<Withdrawal>,
        certificate: Box<Certificate>,
    },
    /// The list that the front knows, for the one that is in force.
    Revocations(Option<RevocationList>),
    /// A look at something in a directory that the owner allowed. Needs no approval of its own and can do nothing else.
    Look {
        allowance: Box<Allowance>,
        path: String,
        look: Look,
    },
    /// Lays out the built-in sample project in the owner's home, for words of the owner's that ask for it. Neither what is
    /// written nor where can be said.
    LayOutSample(Box<SampleOrder>),
    Open(Box<Evidence>),
    /// From now on an execution waits for a provider or the owner, and its time stands still.
    Rest(ExecutionId),
    /// It waits no longer. Answered with all that it has waited, in microseconds.
    GoOn(ExecutionId),
    /// One signed command. Answered by a socket, over which its streams go and its end is told.
    Begin(Box<Evidence>),
    Undo(Box<Evidence>),
    /// Whether somebody has changed what that undo would put back. Looks, and can do nothing else.
    LaterEdits(ExecutionId),
    /// Of these executions alone anything that was begun goes on.
    Recover {
        held: Option<Vec<ExecutionId>>,
    },
    Forget(ExecutionId),
    /// Throws away a result that waits.
    Discard(ExecutionId),
    /// Throws away both versions of files that an execution met a change of the owner's in.
    DropMerge(ExecutionId),
}

/// From the front to a workshop. Each is answered by one [`WorkshopSays::Answer`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WorkshopAsk {
    Copy,
    Checks {
        phase: Phase,
    },
    Step {
        n: usize,
    },
    /// A command that a model chose, where the plan leaves the work to one.
    Work {
        command: Command,
        /// Where it starts, if not in the first directory; below that, or in full.
        cwd: Option<String>,
        timeout_secs: u64,
    },
    /// Something that a model has done to files in the copy, or wants to see of them.
    Files {
        order: FileOrder,
        known: Sights,
    },
    /// The checks were red: the model goes on in the same copy.
    Again,
    Changes,
    /// After a conflict: what the owner and the work made of the same files.
    Collide,
    /// Ends the run with its result kept for a decision.
    Keep,
    /// For an apply: opens the copy that was kept.
    Reopen,
    Apply,
    Discard,
}

/// From a workshop to the front: the answer, and before it whatever a command reaches while it runs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WorkshopSays<T> {
    Answer(Result<T, Error>),
    /// Answered with [`Noted`].
    Connected(Connection),
    /// Answered with one [`crate::broker::Answer`].
    Wanted(SecretRef),
    /// Not answered.
    Printed(Piece),
    /// How far the copy is. Not answered.
    Copying {
        files: u64,
        bytes: u64,
    },
}

/// The front's word about a connection: it is on disk, and may be used.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Noted {
    Written,
}

/// From a terminal of the owner to the launcher.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum TerminalAsk {
    Sign(Box<SignBody>),
    PairingCode,
    /// Has a process wait that can use the root key once, within five minutes.
    Arm,
}

/// What a terminal sends when it hears [`Error::PassphraseWanted`]; `None` from one that cannot ask anybody.
#[derive(Serialize, Deserialize)]
pub(crate) struct Passphrase(pub(crate) Option<String>);

/// Where the sample project lies, exactly as built in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaidOut {
    /// A real path.
    pub path: String,
    /// That of its directory: see [`silas_core::sample::directory_name`].
    pub number: u32,
    /// False if it lay there already.
    pub is_new: bool,
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

/// How a signed command ended, and what it would have changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finished {
    pub execution: ExecutionId,
    pub ended: Ended,
    pub took_ms: u64,
    /// All processes together wanted more memory than allowed, and so all of them were killed.
    pub is_memory_exceeded: bool,
    /// It was ended before it had filled a disk.
    pub is_disk_nearly_full: bool,
    /// What memory and processes were limited by.
    pub limits: LimitsInForce,
    /// Names of hosts that it asked for and addresses that it tried, which were not granted.
    #[serde(default)]
    pub asked: Vec<String>,
    /// Every connection that it made or tried to make.
    pub connections: Vec<Connection>,
    /// One for each directory that was granted for writing; none if that cannot be told.
    pub changed: Vec<ChangedDirectory>,
    /// Why it cannot be told what the command changed. It ran all the same.
    pub untold: Option<Error>,
}

/// What became of the copy of one directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChangedDirectory {
    pub path: String,
    pub changes: Changes,
}

/// What the steps changed in the copy.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    pub changeset: Changeset,
    /// At most the first fifty files.
    pub diffs: Vec<FileDiff>,
    /// What to look at twice, in all of them.
    pub flags: Vec<Flag>,
    /// Changed files that at least one check saw as they were approved.
    pub unseen: Vec<String>,
    /// What the work made that is neither shown nor put in place.
    #[serde(default)]
    pub left_out: LeftOut,
    /// Of that, what the checks saw all the same, because the plan says so.
    #[serde(default)]
    pub beside: Vec<String>,
}

/// What the work made or changed that git ignores in the original, so that it is no work product.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LeftOut {
    pub files: u64,
    /// The outermost directories and files that it lies in, at most the first ten.
    pub places: Vec<String>,
}

impl LeftOut {
    /// As a sentence of a card; nothing where nothing was left out.
    pub fn sentence(&self) -> Option<String> {
        let files = match self.files {
            0 => return None,
            1 => "1 ignored file was".to_owned(),
            n => format!("{} ignored files were", grouped(usize::try_from(n).unwrap_or(usize::MAX))),
        };
        Some(format!("{files} left out, neither checked nor applied: {}", self.places.join(", ")))
    }

    pub(crate) fn add(&mut self, place: String, files: u64) {
        if files > 0 {
            self.files += files;
            self.places.push(place);
        }
    }

    pub(crate) fn shortened(mut self) -> Self {
        let n_more = self.places.len().saturating_sub(PLACES_MAX);
        self.places.truncate(PLACES_MAX);
        if n_more > 0 {
            self.places.push(format!("and {} more", grouped(n_more)));
        }
        self
    }
}

/// Places that are named of what was left out.
const PLACES_MAX: usize = 10;

/// What the owner and the work made of the same files.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Collision {
    /// The files that both changed, at most the first ten.
    pub files: Vec<Collided>,
    pub n_files: u32,
    /// Set where both go together in every file; then it is kept for a plan that names it.
    pub merged: Option<Merged>,
}

/// Both versions go together, and are kept that long.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Merged {
    /// Of what that changes in the owner's files.
    pub changeset: Digest,
    pub until: Timestamp,
}

/// One file that both changed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Collided {
    /// As a message names it.
    pub path: String,
    pub case: Case,
    /// When the owner saved it.
    pub at: Option<Timestamp>,
    /// The first place at which to look, in the owner's version, counted from 1; 0 where there is none.
    pub line: u32,
    /// How many lines each has there, and the first of them.
    pub n_lines: u32,
    pub yours: Vec<String>,
    pub n_silas: u32,
    pub silas: Vec<String>,
    /// The owner's version compared with the other.
    pub compare: Vec<DiffLine>,
    /// Which of `yours`, `silas` and `compare`, counted from 0, stand as both began with them.
    #[serde(default)]
    pub kept: Kept,
}

/// Lines that one side has as both began with them, by their places in what is told. Whoever reads two versions takes them
/// for somebody's edit otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    pub yours: Vec<u32>,
    pub silas: Vec<u32>,
    pub compare: Vec<u32>,
}

/// How two versions of a file stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Case {
    /// Their edits do not touch.
    Apart,
    /// Both changed the same lines, or nobody can tell.
    #[default]
    Overlap,
    /// They are the same.
    Alike,
    NotText,
    YouDeleted,
    SilasDeleted,
}

/// The result waits in its private copy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waits {
    pub changeset: Digest,
    pub files: u32,
    /// What a decision to apply it must name: see [`silas_core::rehearsal::ApplyOrder`].
    pub findings: Digest,
    pub until: Timestamp,
}

/// The verified changes are in place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Applied {
    pub changeset: Digest,
    pub files: u32,
    /// The file system cannot exchange two files, so each that was replaced was missing for an instant.
    pub is_in_two_steps: bool,
    /// Where somebody's text met ours in the last moment. Empty almost always.
    pub conflicts: Vec<KeptText>,
    /// Set if only some of it is in place, and the rest could be neither put there nor taken back.
    pub in_part: Option<InPart>,
}

/// What is in place of changes that could be neither carried out nor taken back as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InPart {
    /// The files that are as the work left them.
    pub new: Vec<String>,
    /// Those that are as they were before.
    pub old: Vec<String>,
    pub why: String,
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
    /// Set if its result waits for a decision.
    pub waits: Option<Waits>,
    /// Set if it was applied, also if it was undone later.
    pub changeset: Option<Digest>,
    pub files: u32,
    pub undo_until: Option<Timestamp>,
    pub conflicts: Vec<KeptText>,
    /// Set if it is in place in part only.
    pub in_part: Option<InPart>,
    /// Why what had begun was taken back just now, all of it: an apply, or an undo.
    pub taken_back: Option<Error>,
    /// Whether an apply or an undo of it was begun and is neither carried out nor taken back, so that nobody can say yet what
    /// it comes to.
    pub is_open: bool,
    /// Why recovery could not finish this one now. It stays as it is and is tried again at the next start.
    pub problem: Option<Error>,
}

#[cfg(test)]
mod tests;
