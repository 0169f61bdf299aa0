//! Moves what is in the write-ahead log into the database file, on a thread and a connection of its own.
//!
//! A passive checkpoint takes nobody's way. Only a log that grew far too large, because somebody was always reading or
//! writing, is emptied by making the others wait; or one that holds what is to be forgotten.

use crate::pending::Reply;
use crate::{Error, Pending, connect};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// From here on a checkpoint is worth its sync; SQLite's own default is about the same.
const LOG_BYTES_DUE: u64 = 4 << 20;
/// Reading gets slower and the disk fuller with the log, so from here on it is emptied whoever has to wait.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Wishes that may wait: one word that it is time, and a few who want the log empty.
const WAITING_MAX: usize = 8;

pub(crate) struct Checkpointer {
    log: PathBuf,
    wake: Waker,
    thread: JoinHandle<()>,
}

/// A handle for those who want the log empty.
#[derive(Clone)]
pub(crate) struct Waker(SyncSender<Wake>);

enum Wake {
    /// The log is long enough.
    Due,
    /// The disk is full: an emptied log is all the room that can be had.
    Full,
    /// What is in the log must not stay there. Answers whether it is empty.
    Scrub(Reply<bool>),
}

impl Checkpointer {
    pub(crate) fn start(path: &Path) -> Result<Self, Error> {
        let connection = connect::for_writing(path)?;
        let log = connect::log_path(path);
        let (wake, woken) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn({
                let log = log.clone();
                move || run(&connection, &log, &woken)
            })
            .map_err(|source| Error::File { path: path.to_owned(), source })?;
        Ok(Checkpointer { log, wake: Waker(wake), thread })
    }

    pub(crate) fn wake_if_due(&self) {
        if log_bytes(&self.log) >= LOG_BYTES_DUE {
            // Full means that it was woken already.
            let _ = self.wake.0.try_send(Wake::Due);
        }
    }

    /// A change found no room.
    pub(crate) fn wake_because_full(&self) {
        let _ = self.wake.0.try_send(Wake::Full);
    }

    pub(crate) fn waker(&self) -> Waker {
        self.wake.clone()
    }

    /// Whoever still holds a [`Waker`] has to let go of it first.
    pub(crate) fn stop(self) {
        drop(self.wake);
        if self.thread.join().is_err() {
            tracing::error!("the checkpointer of the store panicked");
        }
    }
}

impl Waker {
    /// Empties the log, making others wait. False if somebody was reading all the while.
    pub(crate) fn scrub(&self) -> Pending<bool> {
        let (reply, pending) = Pending::new();
        // Nobody to answer means that too many are waiting for the same, or that the store has ended.
        let _ = self.0.try_send(Wake::Scrub(reply));
        pending
    }
}

fn run(connection: &Connection, log: &Path, woken: &Receiver<Wake>) {
    while let Ok(wake) = woken.recv() {
        match wake {
            Wake::Due if log_bytes(log) < LOG_BYTES_MAX => {
                checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)");
            }
            Wake::Due | Wake::Full => {
                checkpoint(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
            }
            Wake::Scrub(reply) => {
                let is_empty = checkpoint(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
                // Nobody may be waiting any more.
                let _ = reply.send(Ok(is_empty));
            }
        }
    }
}

/// Says whether it got to its end.
fn checkpoint(connection: &Connection, sql: &str) -> bool {
    match connection.query_row(sql, [], |row| row.get::<_, bool>(0)) {
        Ok(is_held_up) => !is_held_up,
        Err(error) => {
            connect::end_process_if_io(&error);
            tracing::warn!(%error, "a checkpoint did not finish; the next one will");
            false
        }
    }
}

/// A log that is not there is empty.
fn log_bytes(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |log| log.len())
}
