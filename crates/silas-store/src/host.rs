//! Which host this is: one copy of a data directory, among all that ever were of one installation.
//!
//! The name lies with the count of its changes, and with it which file it was given to. A copy of the directory is another
//! file, and a backup is no file's, so whoever opens either is a new host that begins to count its changes anew. A directory
//! that is only moved to another place stays the host that it was.
//!
//! Deliberately absent: what hosts say to each other. A machine that was wound back whole, file system included, cannot be told
//! from the one that it was.

use crate::Error;
use crate::columns::to_json;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use silas_core::{HostId, Random};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Which file it is: its number in its file system, and when it came to be, where the file system knows that.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    inode: u64,
    made_at: Option<u64>,
}

impl Place {
    fn of(path: &Path) -> Result<Self, Error> {
        let about = std::fs::metadata(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let age = about.created().ok().and_then(|made_at| made_at.duration_since(UNIX_EPOCH).ok());
        Ok(Place { inode: about.ino(), made_at: age.and_then(|age| u64::try_from(age.as_micros()).ok()) })
    }
}

/// Finds out which host the agent's file is of, and gives it a name if it has none or another file's.
pub(crate) fn settle(connection: &Connection, path: &Path, random: &dyn Random) -> Result<HostId, Error> {
    let place = Place::of(path)?;
    let (before, given_to): (String, Option<String>) =
        connection
            .query_row("SELECT host, place FROM changes WHERE id = 1", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // A name that does not read is as good as none: a new host is never wrong.
    let given_to = given_to.and_then(|written| serde_json::from_str::<Place>(&written).ok());
    if let Some(known) = HostId::parse(&before).ok().filter(|_| given_to.as_ref() == Some(&place)) {
        return Ok(known);
    }
    let mut id = HostId::new(random);
    while id.as_str() == before {
        id = HostId::new(random);
    }
    connection.execute("UPDATE changes SET place = ?1 WHERE id = 1", params![to_json(&place)?])?;
    Ok(id)
}

/// From now on this file counts the changes of this host.
pub(crate) fn adopt(connection: &Connection, host: &HostId) -> Result<(), Error> {
    if counted_for(connection)? != host.as_str() {
        connection.execute("UPDATE changes SET host = ?1, number = 0 WHERE id = 1", params![host.as_str()])?;
    }
    Ok(())
}

fn counted_for(connection: &Connection) -> Result<String, Error> {
    Ok(connection.query_row("SELECT host FROM changes WHERE id = 1", [], |row| row.get(0))?)
}

/// A copy that leaves is nobody's until somebody opens it.
pub(crate) fn take_out(copy: &Connection) -> Result<(), Error> {
    // One of an earlier version has no name yet.
    if copy.table_exists(None, "changes")? {
        copy.execute("UPDATE changes SET place = NULL WHERE id = 1", [])?;
    }
    Ok(())
}
