//! Connections to a database file, and what every one of them is set to.

use crate::Error;
use crate::write::Durability;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a connection waits for another one's lock. Only a checkpoint or a curious person can hold one.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
/// Prepared statements kept for each connection; more than the program has.
const STATEMENTS_MAX: usize = 128;

/// The connection that changes the file. Makes the file if there is none, readable for its owner alone.
pub(crate) fn for_writing(path: &Path) -> Result<Connection, Error> {
    let file = |source| Error::File { path: path.to_owned(), source };
    if !path.exists() {
        std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map_err(file)?;
        // SQLite syncs what is in the file; that there is a file is ours to sync.
        sync_directory_of(path)?;
    }
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    set_up(&connection)?;
    // Counts for a file that is still empty.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // Asked and listened to: a database that stays in another mode has other rules about what survives.
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(Error::NotWritten { reason: format!("it stays in the journal mode {mode} instead of WAL") });
    }
    // What is deleted is overwritten, so that forgetting is not only not finding it any more.
    connection.pragma_update(None, "secure_delete", true)?;
    // The checkpointer does this on its own thread, so that no answer waits for it.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    sync_on_commit(&connection, Durability::Durable)?;
    Ok(connection)
}

/// A process that was killed may have left commits in the log that no sync has reached. They are visible from now on, so
/// they must be on disk before anything is built on them; a checkpoint syncs the log first.
pub(crate) fn sync_log(connection: &Connection) -> Result<(), Error> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}

/// What is pruned later is given back to the disk piece by piece. A file of an earlier version has to be written anew for
/// that, once.
pub(crate) fn give_back_pages(connection: &Connection) -> Result<(), Error> {
    const INCREMENTAL: i64 = 2;
    let mode: i64 = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if mode != INCREMENTAL {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.execute_batch("VACUUM")?;
    }
    Ok(())
}

pub(crate) fn sync_directory_of(path: &Path) -> Result<(), Error> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|source| Error::File { path: dir.to_owned(), source })
}

/// A connection that cannot change anything. Works beside a running server, and in a directory that cannot be written.
pub(crate) fn for_reading(path: &Path) -> Result<Connection, Error> {
    if !path.exists() {
        return Err(Error::NoDatabase { path: path.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match open_and_look(path, flags) {
        Err(Error::Database(error)) if is_about_files_beside(&error) => {
            // SQLite wants to make its index of the log beside the file and may not. With an empty log it needs none;
            // with a full one, ignoring it would show an old state as if it were the present.
            if has_log(path) {
                return Err(Error::NotReadableHere { path: path.to_owned() });
            }
            open_and_look(&immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        opened => opened,
    }
}

fn is_about_files_beside(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

fn open_and_look(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path, flags)?;
    set_up(&connection)?;
    // Opening is lazy; the first look shows whether it worked.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn set_up(connection: &Connection) -> Result<(), Error> {
    connection.busy_timeout(LOCK_WAIT_MAX)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // A plan may not depend on what is bound. SQLite would otherwise plan anew at each use of a statement about a table
    // with a partial index, which takes longer than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Statement journals stay in memory: a confined process has no temporary directory to write to.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

pub(crate) fn sync_on_commit(connection: &Connection, durability: Durability) -> Result<(), rusqlite::Error> {
    let word = match durability {
        Durability::Durable => "FULL",
        Durability::Buffered => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", word)
}

/// The write-ahead log beside a database file.
pub(crate) fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn has_log(path: &Path) -> bool {
    // A log that cannot even be looked at may hold something.
    match std::fs::metadata(log_path(path)) {
        Ok(log) => log.len() > 0,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Tells SQLite that nobody changes the file, so that it needs neither locks nor files beside it.
fn immutable_uri(path: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    PathBuf::from(uri)
}

/// After a failed sync the kernel may have dropped what it could not write and report success the next time. Nothing that
/// this process believes about the disk is true any more, so it ends, and the next start reads what is really there.
pub(crate) fn end_process_if_io(error: &rusqlite::Error) {
    if error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) {
        tracing::error!(%error, "the disk failed while changes were being saved; Silas stops at once to lose nothing");
        std::process::abort();
    }
}

#[cfg(test)]
mod tests;
