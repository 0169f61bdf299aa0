//! Moves what is in the write-ahead log into the database file, on a thread and a connection of its own.
//!
//! A passive checkpoint takes nobody's way. Only a log that grew far too large, because somebody was always reading or
//! writing, is emptied by making the others wait.

use crate::{Error, connect};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// From here on a checkpoint is worth its sync; SQLite's own default is about the same.
const LOG_BYTES_DUE: u64 = 4 << 20;
/// Reading gets slower and the disk fuller with the log, so from here on it is emptied whoever has to wait.
const LOG_BYTES_MAX: u64 = 64 << 20;

pub(crate) struct Checkpointer {
    log: PathBuf,
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Checkpointer {
    pub(crate) fn start(path: &Path) -> Result<Self, Error> {
        let connection = connect::for_writing(path)?;
        let log = connect::log_path(path);
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn({
                let log = log.clone();
                move || run(&connection, &log, &woken)
            })
            .map_err(|source| Error::File { path: path.to_owned(), source })?;
        Ok(Checkpointer { log, wake, thread })
    }

    pub(crate) fn wake_if_due(&self) {
        if log_bytes(&self.log) >= LOG_BYTES_DUE {
            // Full means that it was woken already.
            let _ = self.wake.try_send(());
        }
    }

    pub(crate) fn stop(self) {
        drop(self.wake);
        if self.thread.join().is_err() {
            tracing::error!("the checkpointer of the store panicked");
        }
    }
}

fn run(connection: &Connection, log: &Path, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        let sql = match log_bytes(log) < LOG_BYTES_MAX {
            true => "PRAGMA wal_checkpoint(PASSIVE)",
            false => "PRAGMA wal_checkpoint(TRUNCATE)",
        };
        if let Err(error) = connection.query_row(sql, [], |_| Ok(())) {
            connect::end_process_if_io(&error);
            tracing::warn!(%error, "a checkpoint did not finish; the next one will");
        }
    }
}

/// A log that is not there is empty.
fn log_bytes(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |log| log.len())
}
