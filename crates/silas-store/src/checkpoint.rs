//! Moves what is in the write-ahead log into the database file, on a thread and a connection of its own.
//!
//! A passive checkpoint takes nobody's way, but what is written meanwhile keeps the log from beginning anew. So a second
//! one follows while the writer rests: it has only that little left to move, and then the log is overwritten from its
//! start. That is what keeps it short, and a file that does not grow is synced twice as fast. Only a log that grew far too
//! large, because somebody was always reading, is emptied by making the others wait; or one that holds what is to be
//! forgotten.

use crate::pending::Reply;
use crate::{Error, Pending, connect};
use rusqlite::Connection;
use rusqlite::hooks::Wal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// So many pages more, 4 MiB, are worth the syncs of a checkpoint; SQLite's own default is about the same. A longer log
/// makes pages that change often slower to find.
const LOG_PAGES_DUE: u64 = 1024;
/// Reading gets slower and the disk fuller with the log, so from here on it is emptied whoever has to wait.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Wishes that may wait: one word that it is time, and a few who want the log empty.
const WAITING_MAX: usize = 8;

pub(crate) struct Checkpointer {
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
    /// `at_rest` runs what it is given while nobody writes.
    pub(crate) fn start(path: &Path, at_rest: impl Fn(&dyn Fn()) + Send + 'static) -> Result<Self, Error> {
        let connection = connect::for_writing(path)?;
        let log = connect::log_path(path);
        let (wake, woken) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || run(&connection, &log, &at_rest, &woken))
            .map_err(|source| Error::File { path: path.to_owned(), source })?;
        Ok(Checkpointer { wake: Waker(wake), thread })
    }

    pub(crate) fn wake_if_due(&self, log: &mut LogLength) {
        if log.is_due() {
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

fn run(connection: &Connection, log: &Path, at_rest: &dyn Fn(&dyn Fn()), woken: &Receiver<Wake>) {
    while let Ok(wake) = woken.recv() {
        match wake {
            Wake::Due if log_bytes(log) < LOG_BYTES_MAX => {
                checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)");
                at_rest(&|| {
                    checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)");
                });
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

/// How many pages the log holds, as the writer's commits leave it. The size of its file does not tell: a log that began
/// anew lies in the same file.
pub(crate) struct LogLength {
    /// Written in the commit itself.
    pages: Arc<AtomicU64>,
    pages_before: u64,
    due_at: u64,
}

impl LogLength {
    /// Takes the connection's hook for it. To be called after the connection was set up, which would take it back.
    pub(crate) fn of(writer: &mut Connection) -> Result<Self, Error> {
        let pages = Arc::new(AtomicU64::new(0));
        let counted = pages.clone();
        writer.wal_hook(Some(move |_: &mut Wal, n_pages: std::ffi::c_int| {
            counted.store(u64::try_from(n_pages).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(LogLength { pages, pages_before: 0, due_at: LOG_PAGES_DUE })
    }

    /// Once for so many pages more: a log that a long look keeps from beginning anew is not checkpointed after every
    /// commit.
    fn is_due(&mut self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.pages_before {
            self.due_at = LOG_PAGES_DUE;
        }
        self.pages_before = pages;
        let is_due = pages >= self.due_at;
        if is_due {
            self.due_at = pages + LOG_PAGES_DUE;
        }
        is_due
    }
}

/// A log that is not there is empty.
fn log_bytes(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |log| log.len())
}

#[cfg(test)]
mod tests;
