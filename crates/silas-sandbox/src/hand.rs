//! The handle on one signed command: its streams are handed over, then it is waited for.

use crate::error::Doing;
use crate::protocol::Finished;
use crate::{Error, fd_passing, frame};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

/// Dropping it stops what runs.
#[derive(Debug)]
pub struct Hand {
    socket: UnixStream,
}

impl Hand {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Hand { socket }
    }

    /// Starts the command. These are the ends that the program gets; whoever holds the others feeds it and bounds it.
    pub fn start(&self, stdin: BorrowedFd<'_>, stdout: BorrowedFd<'_>, stderr: BorrowedFd<'_>) -> Result<(), Error> {
        for stream in [stdin, stdout, stderr] {
            fd_passing::send(&self.socket, stream).doing(|| "Connecting input and output".to_owned())?;
        }
        Ok(())
    }

    /// Until nothing of it is left.
    pub fn wait(mut self) -> Result<Finished, Error> {
        frame::receive::<Result<Finished, Error>>(&mut self.socket)?.unwrap_or(Err(Error::Lost))
    }
}
