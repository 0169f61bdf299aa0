//! What can go wrong in the store. Refusals are not here: they are answers of the functions that refuse.

use silas_core::canonical;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Silas is already running on {}. Stop it first, or use another data directory.", dir.display())]
    AlreadyRunning { dir: PathBuf },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("There is no Silas database at {}. Check the data directory, or start Silas once to make one.", path.display())]
    NoDatabase { path: PathBuf },
    #[error(
        "{} cannot be read: changes are waiting in the files beside it, which cannot be opened here. Make them readable, \
         or copy the data directory to a place that can be written.",
        path.display()
    )]
    NotReadableHere { path: PathBuf },
    #[error("The database holds tables that are not Silas's. Nothing was changed; check the data directory.")]
    ForeignDatabase,
    #[error(
        "The database was made by another version of Silas: its migration {number} ({name}) is not the one this version \
         has. Nothing was changed; start the version that made it."
    )]
    MigrationAltered { number: i64, name: String },
    #[error(
        "The database was made by a newer version of Silas: this version does not know its migration {number} ({name}). \
         Nothing was changed; start the newer version."
    )]
    MigrationUnknown { number: i64, name: String },
    #[error("The database lacks migration {number} ({name}). Start Silas once on it to bring it up to date.")]
    MigrationMissing { number: i64, name: String },
    #[error(
        "The database could not be brought up to date. {}. It is as it was before, and a copy of it lies at {}. Start the \
         version of Silas that you used before.",
        cause.to_string().trim_end_matches('.'),
        kept.display()
    )]
    MigrationFailed { kept: PathBuf, cause: Box<Error> },
    #[error("Silas is busy. Nothing was changed; try again in a moment.")]
    Busy,
    #[error("The store is closed. Nothing was changed; start Silas again.")]
    Closed,
    #[error("A change failed halfway inside Silas and was undone. This is a bug; the log says where.")]
    Panicked,
    #[error("The database could not take a change, and it was undone: {reason}")]
    NotWritten { reason: String },
    #[error("The disk is full, so nothing was changed. Make room and try again.")]
    Full,
    #[error("`{sql}` cannot be used here: {reason}")]
    Statement { sql: &'static str, reason: &'static str },
    #[error("There is no {what} `{id}` to change.")]
    Missing { what: &'static str, id: String },
    #[error("A text of {n_bytes} bytes is too long for the ledger; {max} is the most.")]
    TextTooLong { n_bytes: usize, max: usize },
    #[error("What is stored as {what} cannot be read: {reason}. The database was damaged or edited; restore a backup.")]
    Damaged { what: &'static str, reason: String },
    #[error("The database answered: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("{0}")]
    Canonical(#[from] canonical::Error),
    #[error("This cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// The stable code by which callers and the pages of `docs/errors` know this error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::AlreadyRunning { .. } => "E_DB_ALREADY_RUNNING",
            Error::File { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => "E_DB_FULL",
            Error::File { .. } | Error::NoDatabase { .. } | Error::NotReadableHere { .. } => "E_DB_OPEN",
            Error::ForeignDatabase
            | Error::MigrationAltered { .. }
            | Error::MigrationUnknown { .. }
            | Error::MigrationMissing { .. }
            | Error::MigrationFailed { .. } => "E_DB_SCHEMA",
            Error::Busy => "busy_retry",
            Error::Full => "E_DB_FULL",
            Error::Database(cause) if is_full(cause) => "E_DB_FULL",
            Error::Closed => "E_DB_CLOSED",
            Error::Panicked => "E_DB_PANIC",
            Error::Damaged { .. } => "E_DB_DAMAGED",
            Error::Database(cause) if is_corrupt(cause) => "E_DB_DAMAGED",
            Error::NotWritten { .. }
            | Error::Statement { .. }
            | Error::Missing { .. }
            | Error::TextTooLong { .. }
            | Error::Database(_)
            | Error::Canonical(_)
            | Error::Json(_) => "E_DB_WRITE",
        }
    }
}

/// Whether SQLite itself says that the file is not what it wrote.
pub(crate) fn is_full(cause: &rusqlite::Error) -> bool {
    cause.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
}

fn is_corrupt(cause: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(cause.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}
