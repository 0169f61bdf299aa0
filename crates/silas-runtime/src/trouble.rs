//! What goes wrong, in the three parts that a person needs, and a code that never changes.

use silas_approval::Refusal;
use silas_core::canonical;
use silas_store::damage;

/// Shown at the doors. The private chain of causes goes to the log, never in here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} {todo}")]
pub struct Trouble {
    pub code: String,
    /// What happened, and what it means.
    pub message: String,
    /// What to do.
    pub todo: String,
}

impl Trouble {
    pub fn new(code: &str, message: &str, todo: &str) -> Self {
        Trouble { code: code.to_owned(), message: message.to_owned(), todo: todo.to_owned() }
    }
}

impl Trouble {
    /// Rows that cannot be read and are left out of what is shown, by what they are; `None` if there is none.
    pub(crate) fn left_out<'a>(what: impl Iterator<Item = &'a str>) -> Option<Trouble> {
        let what: Vec<&str> = what.collect();
        let (last, before) = what.split_last()?;
        let (named, were) = match before {
            [] => ((*last).to_owned(), "it was"),
            before => (format!("{} and {last}", before.join(", ")), "they were"),
        };
        let named = damage::beginning(&named);
        let message = format!("{named} cannot be read: {were} damaged, or edited by hand. The rest is shown.");
        Some(Trouble::new("E_DB_DAMAGED", &message, RESTORE))
    }
}

impl From<silas_store::Error> for Trouble {
    fn from(cause: silas_store::Error) -> Self {
        if let silas_store::Error::Canonical(canonical::Error::Number) = cause {
            return inexact();
        }
        if let silas_store::Error::Busy = cause {
            let (what, todo) = in_words(&cause);
            return Trouble::new(cause.code(), &what, todo);
        }
        tracing::error!(%cause, "the store failed");
        let (what, todo) = in_words(&cause);
        Trouble::new(cause.code(), &what, todo)
    }
}

const RESTORE: &str =
    "Stop Silas, look with `silas doctor`, and bring back a backup with `silas restore FILE --replace`.";
const TOLD_BY_DOCTOR: &str = "`silas doctor` says which file it is and what is wrong with it.";

/// What a failure of the store means and what to do about it. No path and no statement: those are in the log.
fn in_words(cause: &silas_store::Error) -> (String, &'static str) {
    use silas_store::Error;
    let nothing = |what: &str| format!("{what} Nothing was changed.");
    match cause.code() {
        "E_DB_FULL" => {
            return (nothing("The disk that holds Silas's data is full."), "Make room there, then try again.");
        }
        "E_DB_LOCKED" => {
            return (nothing("Another program holds Silas's database."), "Close that program, then try again.");
        }
        "E_DB_READ_ONLY" => {
            return (
                nothing("Silas may not write to its own database."),
                "Make its data directory writable, then try again.",
            );
        }
        _ => {}
    }
    match cause {
        Error::Damaged { what, .. } => {
            (format!("{} cannot be read: it was damaged, or edited by hand.", damage::beginning(what)), RESTORE)
        }
        Error::Database(_) if cause.code() == "E_DB_DAMAGED" => ("Silas's database is damaged.".to_owned(), RESTORE),
        Error::Database(_)
        | Error::NotWritten { .. }
        | Error::Statement { .. }
        | Error::Json(_)
        | Error::Canonical(_) => {
            ("The database could not take this, and it was undone.".to_owned(), "See the log, then try again.")
        }
        Error::Missing { what, .. } => {
            (format!("The {what} that this is about is not there any more."), "Look again: somebody was faster.")
        }
        Error::TextTooLong { n_bytes, max } => (
            nothing(&format!("A text of {n_bytes} bytes is too long to be kept; {max} is the most.")),
            "Say it in fewer words.",
        ),
        Error::Closed => (nothing("Silas is ending, and its files are closed."), "Start it again."),
        Error::Panicked => (
            "A change failed halfway inside Silas and was undone. This is a bug.".to_owned(),
            "The log says where; please report it.",
        ),
        Error::Busy => (nothing("Silas is busy."), "Try again in a moment."),
        Error::AlreadyRunning { .. } => {
            (nothing("Silas already runs on this data directory."), "Stop it first, or use another data directory.")
        }
        Error::Full => (nothing("The disk that holds Silas's data is full."), "Make room there, then try again."),
        Error::File { .. } | Error::NoDatabase { .. } | Error::NotReadableHere { .. } => {
            (nothing("One of Silas's own files could not be opened or written."), TOLD_BY_DOCTOR)
        }
        Error::ForeignDatabase => {
            (nothing("The database holds tables that are not Silas's."), "Check the data directory.")
        }
        Error::MigrationAltered { .. } | Error::MigrationUnknown { .. } => {
            (nothing("The database was made by another version of Silas."), "Start the version that made it.")
        }
        Error::Grammar(_) => {
            (nothing("Your words were understood by another version of Silas."), "Start the version that took them in.")
        }
        Error::MigrationMissing { .. } => {
            (nothing("The database was made by an older version of Silas."), "Start Silas once to bring it up to date.")
        }
        Error::MigrationFailed { .. } => (
            "The database could not be brought up to date, and is as it was before.".to_owned(),
            "Start the version of Silas that you used before.",
        ),
    }
}

impl From<silas_approval::Error> for Trouble {
    fn from(cause: silas_approval::Error) -> Self {
        match cause {
            silas_approval::Error::Store(cause) => cause.into(),
            silas_approval::Error::Canonical(canonical::Error::Number) => inexact(),
            silas_approval::Error::Canonical(
                cause @ (canonical::Error::NotJson(_) | canonical::Error::Unreadable(_)),
            ) => {
                tracing::error!(%cause, "the trust kernel failed");
                Trouble::new(
                    "E_APPROVAL_FAILED",
                    "The decision could not be checked. Nothing ran.",
                    "See the log, then try again.",
                )
            }
        }
    }
}

/// Whoever asks chose the number, so nothing has failed: it is refused.
fn inexact() -> Trouble {
    Trouble::new(
        "E_APPROVAL_NUMBER",
        "A number in this is too large to be written down exactly, so it cannot be signed. Nothing was changed.",
        "Use a whole number of at most 9007199254740992.",
    )
}

impl From<canonical::Error> for Trouble {
    fn from(cause: canonical::Error) -> Self {
        if let canonical::Error::Number = cause {
            return inexact();
        }
        tracing::error!(%cause, "something cannot be written for signing");
        Trouble::new(
            "E_APPROVAL_FAILED",
            "This cannot be written down exactly, so it cannot be approved.",
            "Use plain text.",
        )
    }
}

pub(crate) fn refused(refusal: &Refusal) -> Trouble {
    let todo = match refusal {
        Refusal::Evidence(silas_core::evidence::Refusal::Expired) => "Ask again from the card.",
        Refusal::Answered => "Reload to see what is open now.",
        Refusal::NobodyWaits => "Wait a moment; if the work has ended, the card goes away.",
        Refusal::Evidence(silas_core::evidence::Refusal::NoPasskey) => "Approve it in the page, with the passkey.",
        Refusal::Evidence(silas_core::evidence::Refusal::Root(_)) => {
            "Allow the directory again (`silas root add`, or say the wish again), then approve; the card stays."
        }
        Refusal::SecretMissing(_) => "A card in Review asks for it; then approve again.",
        Refusal::VaultLocked(_) => "Run `silas unlock` in the terminal, then approve.",
        _ => "Reload the page, or decide in the terminal.",
    };
    Trouble::new("E_APPROVAL_REFUSED", &format!("Nothing ran: {refusal}."), todo)
}

#[cfg(test)]
mod tests;
