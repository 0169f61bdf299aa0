//! What can go wrong in this room, in sentences for people. The same values travel from the launcher to the front, so
//! causes are texts.

use crate::lifeline;
use serde::{Deserialize, Serialize};
use silas_core::evidence::Refusal;
use std::io;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    #[error("The approval was refused: {0}. Nothing was done.")]
    Refused(Refusal),
    #[error("This approval was already used. Ask again to get a new one.")]
    AlreadySpent,
    #[error("The pairing was refused: {0}")]
    Pairing(String),
    #[error("The keys could not be used: {0}")]
    Keys(String),
    #[error("The root key in this data directory does not count: {0}. Restore a backup of after its hand-over.")]
    Root(String),
    #[error(
        "This needs the root key, which is locked with your passphrase. Do it in the terminal, which asks for it: `silas \
         pair`, `silas device revoke`, `silas grant revoke`."
    )]
    Locked,
    /// A question, not an answer: whoever asked for a signature is to send the passphrase.
    #[error("The passphrase is needed.")]
    PassphraseWanted,
    #[error("The terminal was refused: {0}")]
    Terminal(String),
    #[error("The launcher does not know its data directory yet.")]
    NotSealed,
    #[error("The launcher is sealed already; that happens once.")]
    AlreadySealed,
    #[error("{0}")]
    NotAvailable(String),
    #[error("This work is still under way. Wait until it has ended, or stop it.")]
    Busy,
    #[error("{path} is not the directory that was approved: {problem}. Nothing was done there.")]
    Place { path: String, problem: String },
    #[error("Out of order: {0}.")]
    Order(String),
    #[error("The time that was approved for this work is used up.")]
    TimeUp,
    #[error("Files changed while the work was under way, so nothing was applied: {}.", paths.join(", "))]
    Conflict { paths: Vec<String> },
    #[error("The checks do not show that the work is done, so nothing was applied.")]
    NotVerified,
    #[error("The work was stopped. Nothing was applied.")]
    Cancelled,
    #[error("What the work reached could not be written down, so it was stopped. Nothing was applied.")]
    Unrecorded,
    #[error(
        "{path} lies in a directory that is read-only, so nothing was put in place. Make the directory writable and try again."
    )]
    ReadOnly { path: String },
    #[error(
        "You changed other files while the work was under way ({}), so its checks have to run again with them.",
        paths.join(", ")
    )]
    MovedOn { paths: Vec<String> },
    /// Most of what is met is the owner's and needed, so what to do is said for each.
    #[error("{path} is {kind}. {todo}")]
    Unsupported { kind: String, path: String, todo: String },
    #[error("{0}")]
    TooLarge(String),
    #[error("The disk is full. Make room and try again.")]
    Full,
    #[error(
        "A command was filling the disk, so it was ended, and the private copy was thrown away unread; the room is free \
         again. Have the work write less."
    )]
    Flooded,
    #[error("The sample project was not laid out: {0} Nothing of it was left behind.")]
    Sample(String),
    #[error("Changed since the work was applied, so it was not undone: {}.", paths.join(", "))]
    LaterEdit { paths: Vec<String> },
    #[error("This can no longer be undone: {0}.")]
    UndoClosed(String),
    #[error("This can still be undone, so what it replaced is kept.")]
    UndoOpen,
    #[error("{cause}")]
    NotStarted { code: String, cause: String },
    #[error("The work cannot be isolated here: {cause}")]
    Isolation { code: String, cause: String },
    /// All of what had begun was taken back.
    #[error("{cause} What was in place by then was put back, so everything is as it was.")]
    PutBack { cause: String },
    #[error(
        "Not all of it could be put back: {why} Put back: {}. Still as the work left it: {}.",
        names(back),
        names(left)
    )]
    UndoneInPart { back: Vec<String>, left: Vec<String>, why: String },
    #[error(
        "It is decided and begun, but it is not known how far it came: {cause} Silas looks again at its next start."
    )]
    Unfinished { cause: String },
    #[error("The process that did this ended unexpectedly. What was committed will be finished at the next start.")]
    Lost,
    #[error("A record of the launcher cannot be trusted: {0}")]
    Damaged(String),
    #[error("{doing} failed: {cause}")]
    Io { doing: String, cause: String },
}

impl Error {
    /// The stable name of this kind of error.
    pub fn code(&self) -> &str {
        match self {
            Error::Refused(_) => "E_APPROVAL_REFUSED",
            Error::AlreadySpent => "E_APPROVAL_SPENT",
            Error::Pairing(_) => "E_APPROVAL_PAIRING",
            Error::Keys(_) => "E_APPROVAL_KEYS",
            Error::Root(_) => "E_APPROVAL_ROOT",
            Error::Locked | Error::PassphraseWanted => "E_APPROVAL_LOCKED",
            Error::Terminal(_) => "E_APPROVAL_TERMINAL",
            Error::NotSealed | Error::AlreadySealed => "E_SANDBOX_SEAL",
            Error::NotAvailable(_) => "E_SANDBOX_UNAVAILABLE",
            Error::Busy => "E_SANDBOX_BUSY",
            Error::Place { .. } => "E_SANDBOX_PLACE",
            Error::Order(_) => "E_SANDBOX_ORDER",
            Error::TimeUp => "E_SANDBOX_TIME",
            Error::Conflict { .. } => "E_SANDBOX_CONFLICT",
            Error::NotVerified => "E_SANDBOX_NOT_VERIFIED",
            Error::Cancelled => "E_SANDBOX_CANCELLED",
            Error::Unrecorded => "E_SANDBOX_UNRECORDED",
            Error::ReadOnly { .. } => "E_SANDBOX_READ_ONLY",
            Error::MovedOn { .. } => "E_SANDBOX_MOVED_ON",
            Error::Unsupported { .. } => "E_SANDBOX_UNSUPPORTED",
            Error::TooLarge(_) => "E_SANDBOX_LIMIT",
            Error::Full => "E_SANDBOX_FULL",
            Error::Flooded => "E_SANDBOX_FLOOD",
            Error::Sample(_) => "E_SANDBOX_SAMPLE",
            Error::LaterEdit { .. } => "E_SANDBOX_LATER_EDIT",
            Error::UndoClosed(_) => "E_SANDBOX_UNDO_CLOSED",
            Error::UndoOpen => "E_SANDBOX_UNDO_OPEN",
            Error::NotStarted { code, .. } | Error::Isolation { code, .. } => code,
            Error::PutBack { .. } => "E_SANDBOX_PUT_BACK",
            Error::UndoneInPart { .. } => "E_SANDBOX_UNDONE_IN_PART",
            Error::Unfinished { .. } => "E_SANDBOX_UNFINISHED",
            Error::Lost => "E_SANDBOX_LOST",
            Error::Damaged(_) => "E_SANDBOX_RECORD",
            Error::Io { .. } => "E_SANDBOX_IO",
        }
    }

    /// Something of the owner's that the work changed and could not be put in place as it has to be.
    pub(crate) fn unsupported(kind: &str, path: impl ToString) -> Error {
        Error::unsupported_with(kind, path, "Have the work leave it as it is, or change it yourself.")
    }

    /// The same with what else can be done.
    pub(crate) fn unsupported_with(kind: &str, path: impl ToString, todo: &str) -> Error {
        Error::Unsupported { kind: kind.to_owned(), path: path.to_string(), todo: todo.to_owned() }
    }

    /// Why an apply went back, all of it.
    pub(crate) fn taken_back(self) -> Error {
        match self {
            // These say by themselves that nothing was applied.
            Error::Conflict { .. } => self,
            why => Error::PutBack { cause: sentence(why.to_string()) },
        }
    }

    /// The same of an undo.
    pub(crate) fn undo_taken_back(self) -> Error {
        match self {
            Error::Conflict { paths } => Error::LaterEdit { paths },
            why => Error::PutBack { cause: sentence(why.to_string()) },
        }
    }

    /// Why neither could be as a whole.
    pub(crate) fn in_part(&self) -> String {
        match self {
            Error::Conflict { paths } => format!("Files changed meanwhile: {}.", paths.join(", ")),
            why => sentence(why.to_string()),
        }
    }

    /// What goes wrong after a commit point is no longer "nothing was done".
    pub(crate) fn after_commit(self) -> Error {
        Error::Unfinished { cause: sentence(self.to_string()) }
    }

    pub(crate) fn io(doing: &str, cause: &io::Error) -> Error {
        match cause.raw_os_error() {
            _ if lifeline::is_broken(cause) => Error::Cancelled,
            Some(libc::ENOSPC | libc::EDQUOT) => Error::Full,
            _ => Error::Io { doing: doing.to_owned(), cause: cause.to_string() },
        }
    }
}

fn sentence(text: String) -> String {
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

fn names(paths: &[String]) -> String {
    if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

/// Says what was being done when a system call failed.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|e| Error::io(&what(), &e))
    }
}
