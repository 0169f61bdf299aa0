//! A copy of both files as they were at one instant, taken beside a running server, and whether a copy is sound.
//!
//! No transaction spans the two files, so the instant is found: both are read from transactions that began while nothing
//! was committed to the human's file. The pair is then exactly what a crash at that instant would have left, outbox and
//! open operations included, and that is what every start already repairs. Two copies taken one after the other would
//! not do: a task whose event was drained in one file and is not yet in the other would lose it for good.
//!
//! Deliberately absent: the keys and everything else of a data directory; the command that makes backups adds them.

use crate::ledger::{self, Verification};
use crate::migrations::{self, Migration};
use crate::store::{AGENT_FILE, HUMAN_FILE};
use crate::{Error, ReadTx, connect, host, upgrade};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How often the instant is looked for. Someone who writes tasks without a pause for this long is not a person.
const TRIES_MAX: u32 = 1000;

/// The names of the files of a store, within its directory.
pub const FILES: [&str; 2] = [AGENT_FILE, HUMAN_FILE];

/// Copies both files of the store in `dir` into the directory `into`, readable by their owner alone.
pub fn take(dir: &Path, into: &Path) -> Result<(), Error> {
    let agent = connect::for_reading(&dir.join(AGENT_FILE))?;
    let human = connect::for_reading(&dir.join(HUMAN_FILE))?;
    let watch = connect::for_reading(&dir.join(HUMAN_FILE))?;
    hold_one_instant(&agent, &human, &watch)?;
    copy(&agent, &into.join(AGENT_FILE), host::take_out)?;
    copy(&human, &into.join(HUMAN_FILE), |_| Ok(()))?;
    File::open(into).and_then(|dir| dir.sync_all()).map_err(|source| Error::File { path: into.to_owned(), source })
}

/// Checks the two files of a store that nobody uses: the databases themselves, their schema, and the whole ledger. A
/// schema of an earlier version is fine; the next start brings it up to date.
pub fn inspect(dir: &Path) -> Result<Verification, Error> {
    let human = connect::for_reading(&dir.join(HUMAN_FILE))?;
    check(&human, migrations::HUMAN)?;
    let agent = connect::for_reading(&dir.join(AGENT_FILE))?;
    check(&agent, migrations::AGENT)?;
    ledger::verify(&ReadTx::new(&agent))
}

fn check(connection: &Connection, known: &[Migration]) -> Result<(), Error> {
    migrations::missing(connection, known)?;
    upgrade::self_check(connection)
}

/// Leaves `agent` and `human` in transactions that see one and the same instant.
fn hold_one_instant(agent: &Connection, human: &Connection, watch: &Connection) -> Result<(), Error> {
    for _ in 0..TRIES_MAX {
        let before = data_version(watch)?;
        hold(human)?;
        hold(agent)?;
        if data_version(watch)? == before {
            return Ok(());
        }
        human.execute_batch("ROLLBACK")?;
        agent.execute_batch("ROLLBACK")?;
    }
    Err(Error::Busy)
}

/// A transaction begins with its first look; from then on it sees that state.
fn hold(connection: &Connection) -> Result<(), Error> {
    connection.execute_batch("BEGIN")?;
    Ok(connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0)).map(|_| ())?)
}

/// Differs between two calls if anybody committed something between them.
fn data_version(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0))?)
}

/// `strip` takes out what is this host's alone.
fn copy(from: &Connection, to: &Path, strip: impl FnOnce(&Connection) -> Result<(), Error>) -> Result<(), Error> {
    let in_file = |source| Error::File { path: to.to_owned(), source };
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(in_file)?;
    let mut copy = Connection::open(to)?;
    // In one step: what is copied is the transaction that `from` is in, whatever is written meanwhile.
    match Backup::new(from, &mut copy)?.step(-1)? {
        StepResult::Done => {}
        _ => return Err(Error::Busy),
    }
    // One file, without a log beside it, and without the remains of what was deleted.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    strip(&copy)?;
    copy.execute_batch("VACUUM")?;
    copy.close().map_err(|(_, error)| error)?;
    File::open(to).and_then(|file| file.sync_all()).map_err(in_file)
}
