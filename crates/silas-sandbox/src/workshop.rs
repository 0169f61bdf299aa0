//! The front's handle on a workshop: the questions in the order in which they make sense. The workshop insists on it.

use crate::broker::Answer;
use crate::launcher::send;
use crate::protocol::{Noted, WorkshopAsk, WorkshopSays};
use crate::{Applied, Changes, Collision, Copied, Error, Waits, frame};
use serde::de::DeserializeOwned;
use silas_core::check::{CheckResult, Command};
use silas_core::envelope::ExecutionResult;
use silas_core::event::Phase;
use silas_core::file_order::{FileAnswer, FileOrder, Sights};
use silas_core::outside::{Nobody, NotRecorded, Outside};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Dropping it stops what runs. The execution stays open and may be opened again while its time lasts.
pub struct Workshop {
    shared: Arc<Shared>,
    /// Hears what commands reach and is asked for secrets.
    outside: Box<dyn Outside + Send>,
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
        Workshop {
            shared: Arc::new(Shared { socket, is_cancelled: AtomicBool::new(false) }),
            outside: Box::new(Nobody),
        }
    }

    /// Whom the workshop tells what commands reach, and asks for secrets. Without this nothing can be reached.
    pub fn telling(mut self, outside: Box<dyn Outside + Send>) -> Self {
        self.outside = outside;
        self
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
    pub fn step(&mut self, n: usize) -> Result<ExecutionResult, Error> {
        self.ask(&WorkshopAsk::Step { n })
    }

    /// Runs a command that a model chose in the copy, as long as the plan says so.
    pub fn work(&mut self, command: Command, timeout_secs: u64) -> Result<ExecutionResult, Error> {
        self.work_in(command, None, timeout_secs)
    }

    /// The same, begun in a directory of its own.
    pub fn work_in(
        &mut self,
        command: Command,
        cwd: Option<String>,
        timeout_secs: u64,
    ) -> Result<ExecutionResult, Error> {
        self.ask(&WorkshopAsk::Work { command, cwd, timeout_secs })
    }

    /// Reads, searches or changes files in the copy for a model, as long as the plan says so.
    pub fn files(&mut self, order: FileOrder, known: Sights) -> Result<FileAnswer, Error> {
        self.ask(&WorkshopAsk::Files { order, known })
    }

    /// After red checks: the work goes on in the same copy, and the checks will run again.
    pub fn again(&mut self) -> Result<(), Error> {
        self.ask(&WorkshopAsk::Again)
    }

    /// What the steps changed.
    pub fn changes(&mut self) -> Result<Changes, Error> {
        self.ask(&WorkshopAsk::Changes)
    }

    /// After a conflict: both versions of what the owner changed too, and whether they go together.
    pub fn collide(&mut self) -> Result<Collision, Error> {
        self.ask(&WorkshopAsk::Collide)
    }

    /// Ends the run with its result kept in the copy, for the owner to decide.
    pub fn keep(mut self) -> Result<Waits, Error> {
        self.ask(&WorkshopAsk::Keep)
    }

    /// For an apply: opens the copy that was kept, if it is exactly what the decision names.
    pub fn reopen(&mut self) -> Result<(), Error> {
        self.ask(&WorkshopAsk::Reopen)
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
        let answer = answer.and_then(|mut socket| self.talk(&mut socket, ask));
        match answer {
            Err(Error::Lost | Error::Io { .. }) if self.shared.is_cancelled.load(Ordering::SeqCst) => {
                Err(Error::Cancelled)
            }
            answer => answer,
        }
    }

    /// One question, whatever is heard before its answer, and the answer.
    fn talk<T: DeserializeOwned>(&mut self, socket: &mut UnixStream, ask: &WorkshopAsk) -> Result<T, Error> {
        send(socket, ask)?;
        loop {
            let is_recorded = match frame::receive::<WorkshopSays<T>>(socket)? {
                None => return Err(Error::Lost),
                Some(WorkshopSays::Answer(answer)) => return answer,
                Some(WorkshopSays::Copying { files, bytes }) => {
                    self.outside.copying(files, bytes);
                    true
                }
                Some(WorkshopSays::Printed(piece)) => {
                    self.outside.printed(piece);
                    true
                }
                Some(WorkshopSays::Connected(connection)) => match self.outside.connected(&connection) {
                    Ok(()) => send(socket, &Noted::Written).map(|()| true)?,
                    Err(NotRecorded) => false,
                },
                Some(WorkshopSays::Wanted(reference)) => match self.outside.secret(&reference) {
                    Ok(secret) => send(socket, &Answer::of(secret.as_ref())).map(|()| true)?,
                    Err(NotRecorded) => false,
                },
            };
            if !is_recorded {
                // Ends the command: what is not written down does not go on.
                let _ = socket.shutdown(Shutdown::Both);
                return Err(Error::Unrecorded);
            }
        }
    }
}

impl std::fmt::Debug for Workshop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workshop").finish_non_exhaustive()
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
