//! The front's handle on a workshop: the questions in the order in which they make sense. The workshop insists on it.

use crate::launcher::exchange;
use crate::protocol::WorkshopAsk;
use crate::{Applied, Changes, Copied, Error, StepResult};
use serde::de::DeserializeOwned;
use silas_core::check::CheckResult;
use silas_core::event::Phase;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Dropping it stops what runs. The execution stays open and may be opened again while its time lasts.
#[derive(Debug)]
pub struct Workshop {
    shared: Arc<Shared>,
}

/// Stops a workshop from another thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    socket: UnixStream,
    is_cancelled: AtomicBool,
}

impl Workshop {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Workshop { shared: Arc::new(Shared { socket, is_cancelled: AtomicBool::new(false) }) }
    }

    /// Makes the private copy.
    pub fn copy(&mut self) -> Result<Copied, Error> {
        self.ask(&WorkshopAsk::Copy)
    }

    /// Runs every check, each on a throwaway copy of its own; once before the steps, once after.
    pub fn checks(&mut self, phase: Phase) -> Result<Vec<CheckResult>, Error> {
        self.ask(&WorkshopAsk::Checks { phase })
    }

    /// Runs one step in the copy.
    pub fn step(&mut self, n: usize) -> Result<StepResult, Error> {
        self.ask(&WorkshopAsk::Step { n })
    }

    /// What the steps changed.
    pub fn changes(&mut self) -> Result<Changes, Error> {
        self.ask(&WorkshopAsk::Changes)
    }

    /// Puts the changes in place, if the checks went from red to green.
    pub fn apply(&mut self) -> Result<Applied, Error> {
        self.ask(&WorkshopAsk::Apply)
    }

    /// Ends the execution for good and removes the copy.
    pub fn discard(mut self) {
        // A workshop that is gone has nothing left to discard; recovery removes what it could not.
        let _ = self.ask::<()>(&WorkshopAsk::Discard);
    }

    pub fn canceller(&self) -> Canceller {
        Canceller { shared: Arc::clone(&self.shared) }
    }

    fn ask<T: DeserializeOwned>(&mut self, ask: &WorkshopAsk) -> Result<T, Error> {
        let answer = self.shared.socket.try_clone().map_err(|e| Error::io("Talking to a workshop", &e));
        let answer = answer.and_then(|mut socket| exchange(&mut socket, ask));
        match answer {
            Err(Error::Lost | Error::Io { .. }) if self.shared.is_cancelled.load(Ordering::SeqCst) => {
                Err(Error::Cancelled)
            }
            answer => answer,
        }
    }
}

impl Canceller {
    /// What runs is killed and nothing is applied; but an apply that is already committed is finished first.
    pub fn cancel(&self) {
        self.shared.is_cancelled.store(true, Ordering::SeqCst);
        // It cannot fail for a socket that is connected, and one that is not is cancelled already.
        let _ = self.shared.socket.shutdown(Shutdown::Both);
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // Cancellers share the socket and may outlive this; closing is not enough.
        let _ = self.shared.socket.shutdown(Shutdown::Both);
    }
}
