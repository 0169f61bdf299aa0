//! What goes wrong, in the three parts that a person needs, and a code that never changes.

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
        tracing::error!(%cause, "the trust kernel failed");
        Trouble::new(
            "E_APPROVAL_FAILED",
            "The decision could not be checked. Nothing ran.",
            "See the log, then try again.",
        )
    }
}

impl From<silas_core::canonical::Error> for Trouble {
    fn from(cause: silas_core::canonical::Error) -> Self {
        tracing::error!(%cause, "something cannot be written for signing");
        Trouble::new(
            "E_APPROVAL_FAILED",
            "This cannot be written down exactly, so it cannot be approved.",
            "Use plain text.",
        )
    }
}
