//! The thread on which a workshop hangs: its socket to the front. While a request is answered the front has nothing to
//! say, so anything that happens on the socket means that the answer is no longer wanted.

use crate::protocol::WorkshopSays;
use crate::{Error, frame, syscall};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifeline<'a> {
    socket: BorrowedFd<'a>,
    /// Whether the front is told how far something is. Only where nobody else speaks to it meanwhile.
    is_told: bool,
}

/// Between two words about how far a copy is; a short one has none.
pub(crate) const TOLD_EVERY: Duration = Duration::from_millis(500);

impl<'a> Lifeline<'a> {
    pub(crate) fn of(socket: &'a UnixStream) -> Self {
        Lifeline { socket: socket.as_fd(), is_told: false }
    }

    /// The front is told how far it is.
    pub(crate) fn telling(self) -> Self {
        Lifeline { is_told: true, ..self }
    }

    /// So much was copied. Where the front has no time for it now, it hears of it the next time.
    pub(crate) fn copied(self, files: usize, bytes: u64) {
        let has_room = || {
            syscall::poll(&[(self.socket, libc::POLLOUT)], Some(Duration::ZERO)).is_ok_and(|e| e[0] == libc::POLLOUT)
        };
        if !self.is_told || !has_room() {
            return;
        }
        let files = u64::try_from(files).unwrap_or(u64::MAX);
        // Whoever is gone is noticed elsewhere.
        let _ = self
            .socket
            .try_clone_to_owned()
            .map(|socket| frame::send(&mut UnixStream::from(socket), &WorkshopSays::<()>::Copying { files, bytes }));
    }

    pub(crate) fn fd(self) -> BorrowedFd<'a> {
        self.socket
    }

    /// Ends long loops when nobody waits for them any more.
    pub(crate) fn holds(self) -> Result<(), Error> {
        match syscall::poll(&[(self.socket, libc::POLLIN | libc::POLLRDHUP)], Some(Duration::ZERO)) {
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
