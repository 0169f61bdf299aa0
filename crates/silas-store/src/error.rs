//! What can go wrong in the store. Refusals are not here: they are answers of the functions that refuse.

use crate::damage;
use silas_core::canonical;
use silas_core::reflex::UnknownGrammar;
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
    /// `what` as a person would call it, in the middle of a sentence.
    #[error(
        "{} cannot be read: {reason}. The database was damaged, or edited by hand. Bring back a backup with `silas restore \
         FILE --replace`.",
        damage::beginning(what)
    )]
    Damaged { what: &'static str, reason: String },
    #[error("An instruction that you signed cannot be read again: {0}. Start the version of Silas that took it in.")]
    Grammar(#[from] UnknownGrammar),
    #[error("The database answered: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("{0}")]
    Canonical(#[from] canonical::Error),
    #[error("This cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// A row of this statement could not be read: what it is a row of says more than the name of its column.
    pub(crate) fn found_in(self, sql: &'static str) -> Self {
        match self {
            Error::Damaged { what, reason } => {
                Error::Damaged { what: damage::noun(sql), reason: format!("{what}: {reason}") }
            }
            Error::Database(cause) if is_misread(&cause) => {
                Error::Damaged { what: damage::noun(sql), reason: cause.to_string() }
            }
            error => error,
        }
    }

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
            | Error::MigrationFailed { .. }
            | Error::Grammar(_) => "E_DB_SCHEMA",
            Error::Busy => "busy_retry",
            Error::Full => "E_DB_FULL",
            Error::Database(cause) if is_full(cause) => "E_DB_FULL",
            Error::Closed => "E_DB_CLOSED",
            Error::Panicked => "E_DB_PANIC",
            Error::Damaged { .. } => "E_DB_DAMAGED",
            Error::Database(cause) if is_corrupt(cause) => "E_DB_DAMAGED",
            Error::Database(cause) if is_locked(cause) => "E_DB_LOCKED",
            Error::Database(cause) if is_read_only(cause) => "E_DB_READ_ONLY",
            Error::TextTooLong { .. } => "E_DB_TOO_LONG",
            Error::NotWritten { .. }
            | Error::Statement { .. }
            | Error::Missing { .. }
            | Error::Database(_)
            | Error::Canonical(_)
            | Error::Json(_) => "E_DB_WRITE",
        }
    }
}

/// Whether a column holds something else than what Silas writes there.
fn is_misread(cause: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(cause, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..))
}

pub(crate) fn is_full(cause: &rusqlite::Error) -> bool {
    cause.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
}

fn is_locked(cause: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(cause.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

fn is_read_only(cause: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{PermissionDenied, ReadOnly};
    matches!(cause.sqlite_error_code(), Some(PermissionDenied | ReadOnly))
}

/// Whether SQLite itself says that the file is not what it wrote.
fn is_corrupt(cause: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(cause.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}
