//! What goes wrong, in the three parts that a person needs, and a code that never changes.

use silas_core::canonical;

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

impl From<silas_store::Error> for Trouble {
    fn from(cause: silas_store::Error) -> Self {
        if let silas_store::Error::Canonical(canonical::Error::Number) = cause {
            return inexact();
        }
        if let silas_store::Error::Busy = cause {
            return Trouble::new(cause.code(), "Silas is busy. Nothing was changed.", "Try again in a moment.");
        }
        tracing::error!(%cause, "the store failed");
        if cause.code() == "E_DB_FULL" {
            let what = "The disk that holds Silas's data is full. Nothing was changed.";
            return Trouble::new(cause.code(), what, "Make room there, then try again.");
        }
        Trouble::new("E_DB_FAILED", "Silas could not write to its own files.", "See the log, then try again.")
    }
}

impl From<silas_approval::Error> for Trouble {
    fn from(cause: silas_approval::Error) -> Self {
        match cause {
            silas_approval::Error::Store(cause) => cause.into(),
            silas_approval::Error::Canonical(canonical::Error::Number) => inexact(),
            silas_approval::Error::Canonical(cause @ canonical::Error::NotJson(_)) => {
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
