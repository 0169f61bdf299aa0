//! The sign that one process has the data directory. It knows nothing of what lies there.

use crate::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const LOCK_FILE: &str = "lock";

/// Held as long as this lives. When the process ends, however it ends, the system lets go of it.
pub(crate) struct Lock(File);

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(LOCK_FILE);
        let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
        let file = options.open(&path).map_err(|source| Error::File { path: path.clone(), source })?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(Error::AlreadyRunning { dir: dir.to_owned() }),
            Err(TryLockError::Error(source)) => Err(Error::File { path, source }),
        }
    }
}

impl Drop for Lock {
    /// Closing is not enough: a process that another thread has just forked holds the same open file until it has
    /// become its own program, and the lock with it.
    fn drop(&mut self) {
        // What cannot be unlocked is unlocked by closing, a moment later.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests;
