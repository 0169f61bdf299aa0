//! Terminals that are at the door and have not said all that they want. The launcher hears them piece by piece, so that one
//! that is slow, or says nothing, keeps nobody waiting.

use crate::protocol::TerminalAsk;
use crate::{Error, frame};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Whoever has not got to the point by then is dropped.
const PATIENCE: Duration = Duration::from_secs(2);
/// Whoever comes when so many are at the door takes the place of the one that was there first.
const CALLERS_MAX: usize = 16;
const LENGTH_BYTES: usize = 4;

#[derive(Default)]
pub(crate) struct Callers(Vec<Caller>);

struct Caller {
    socket: UnixStream,
    heard: Vec<u8>,
    until: Instant,
}

impl Callers {
    pub(crate) fn enter(&mut self, socket: UnixStream) {
        if self.0.len() >= CALLERS_MAX {
            self.0.remove(0);
        }
        if socket.set_nonblocking(true).is_ok() {
            self.0.push(Caller { socket, heard: Vec::new(), until: Instant::now() + PATIENCE });
        }
    }

    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|caller| caller.socket.as_fd())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How long until one has to leave.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let until = self.0.iter().map(|caller| caller.until).min()?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn drop_the_slow(&mut self) {
        let now = Instant::now();
        self.0.retain(|caller| now < caller.until);
    }

    /// Takes what the n-th has said. If that is all, it leaves the door with it; if it is gone, without.
    pub(crate) fn hear(&mut self, n: usize) -> Option<(UnixStream, Result<TerminalAsk, Error>)> {
        let asked = match self.0[n].read() {
            Ok(None) => return None,
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(|e| Error::Damaged(e.to_string())),
            Err(e) if e.kind() == ErrorKind::InvalidData => Err(Error::TooLarge(e.to_string())),
            Err(_) => {
                self.0.remove(n);
                return None;
            }
        };
        let socket = self.0.remove(n).socket;
        socket.set_nonblocking(false).ok()?;
        Some((socket, asked))
    }
}

impl Caller {
    /// The whole request, once it is here. Not a byte more is read: what comes behind it is not the launcher's to read.
    fn read(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            let wanted = self.wanted()?;
            if self.heard.len() >= LENGTH_BYTES && wanted == self.heard.len() {
                return Ok(Some(self.heard.split_off(LENGTH_BYTES)));
            }
            let mut part = vec![0u8; (wanted - self.heard.len()).min(64 << 10)];
            match self.socket.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.heard.extend_from_slice(&part[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) => return Err(e),
            }
        }
    }

    /// How many bytes the request has with its length, as far as that is known.
    fn wanted(&self) -> std::io::Result<usize> {
        let Some(length) = self.heard.first_chunk::<LENGTH_BYTES>() else { return Ok(LENGTH_BYTES) };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > frame::FRAME_BYTES_MAX {
            let problem = "A message between processes of Silas is too large.";
            return Err(std::io::Error::new(ErrorKind::InvalidData, problem));
        }
        Ok(LENGTH_BYTES + length)
    }
}
