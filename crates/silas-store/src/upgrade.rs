//! Bringing a database up to date: a copy before, a look at everything before it counts, and back on failure.
//!
//! All that is missing is applied in one transaction, and the check runs inside it: a database that does not pass is
//! rolled back and is, byte for byte in its content, what the copy is. A crash at any instant leaves the old state or the
//! new one. The copy is for a disk that lies and for whoever wants the version before.

use crate::migrations::{self, Migration};
use crate::{Error, connect};
use rusqlite::Connection;
use silas_core::Timestamp;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Brings the file up to date. `look` checks what only this domain knows, after the general [`self_check`].
pub(crate) fn upgrade(
    connection: &mut Connection,
    path: &Path,
    known: &[Migration],
    now: Timestamp,
    look: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<(), Error> {
    let missing = migrations::missing(connection, known)?;
    let Some(first) = missing.first() else { return Ok(()) };
    if missing.len() == known.len() {
        // A new file has nothing to lose.
        return migrations::apply(connection, known, now, |_| Ok(()));
    }
    let kept = keep_copy(connection, path, first.number)?;
    let checked = |connection: &Connection| {
        self_check(connection)?;
        look(connection)
    };
    migrations::apply(connection, known, now, checked)
        .map_err(|cause| Error::MigrationFailed { kept: kept.clone(), cause: Box::new(cause) })?;
    // Only the last one stays: each is as large as the database.
    remove_copies(path, Some(&kept))
}

/// Whether the database is sound by itself: its pages, its indexes, its references.
pub(crate) fn self_check(connection: &Connection) -> Result<(), Error> {
    let damaged = |reason: String| Error::Damaged { what: "the database", reason };
    let said: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
    if said != "ok" {
        return Err(damaged(said));
    }
    let mut dangling = connection.prepare("PRAGMA foreign_key_check")?;
    let mut rows = dangling.query([])?;
    if let Some(row) = rows.next()? {
        let table: String = row.get(0)?;
        return Err(damaged(format!("a row of `{table}` refers to one that is not there")));
    }
    Ok(())
}

/// `agent.sqlite` is kept as `agent.before-3.sqlite`, where 3 is the first migration that it lacks.
fn keep_copy(connection: &Connection, path: &Path, number: i64) -> Result<PathBuf, Error> {
    let kept = path.with_file_name(format!("{}{number}.sqlite", copies_of(path)));
    let in_file = |source| Error::File { path: kept.clone(), source };
    // One from an earlier attempt that did not go through. The database is what it was then, so this is its copy too.
    remove(&kept)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&kept).map_err(in_file)?;
    connection.execute("VACUUM INTO ?1", [kept.to_string_lossy()])?;
    File::open(&kept).and_then(|file| file.sync_all()).map_err(in_file)?;
    connect::sync_directory_of(&kept)?;
    Ok(kept)
}

/// Removes all copies of a database but this one.
pub(crate) fn remove_copies(path: &Path, kept: Option<&Path>) -> Result<(), Error> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let in_dir = |source| Error::File { path: dir.to_owned(), source };
    for entry in std::fs::read_dir(dir).map_err(in_dir)? {
        let entry = entry.map_err(in_dir)?;
        let name = entry.file_name();
        let is_copy = name.to_str().is_some_and(|name| name.starts_with(&copies_of(path)) && name.ends_with(".sqlite"));
        if is_copy && Some(entry.path().as_path()) != kept {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn copies_of(path: &Path) -> String {
    format!("{}.before-", path.file_stem().unwrap_or_default().to_string_lossy())
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
