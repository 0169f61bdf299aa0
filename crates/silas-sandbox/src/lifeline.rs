//! The thread on which a workshop hangs: its socket to the front. While a request is answered the front has nothing to
//! say, so anything that happens on the socket means that the answer is no longer wanted.

use crate::{Error, syscall};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifeline<'a>(BorrowedFd<'a>);

impl<'a> Lifeline<'a> {
    pub(crate) fn of(socket: &'a UnixStream) -> Self {
        Lifeline(socket.as_fd())
    }

    pub(crate) fn fd(self) -> BorrowedFd<'a> {
        self.0
    }

    /// Ends long loops when nobody waits for them any more.
    pub(crate) fn holds(self) -> Result<(), Error> {
        match syscall::poll(&[(self.0, libc::POLLIN | libc::POLLRDHUP)], Some(Duration::ZERO)) {
            Ok(events) if events == [0] => Ok(()),
            Ok(_) => Err(Error::Cancelled),
            Err(e) => Err(Error::io("Watching for a stop", &e)),
        }
    }
}

/// A file that is read as long as somebody waits for it; one may take minutes. Whoever stops it reads [`Error::Cancelled`].
pub(crate) struct Awaited<'a> {
    pub(crate) file: File,
    pub(crate) lifeline: Lifeline<'a>,
}

impl Read for Awaited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lifeline.holds().map_err(|_| io::Error::other(Broken))?;
        self.file.read(buffer)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("nobody waits for it any more")]
struct Broken;

/// Whether this is what a broken lifeline leaves of reading.
pub(crate) fn is_broken(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Broken>())
}

#[cfg(test)]
mod tests;
