//! Two connections and the bytes between them, in both directions, never more than a little at a time.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// In each direction; what does not fit waits where it comes from.
const BUFFER_BYTES: usize = 64 << 10;

pub(super) struct Carried {
    client: TcpStream,
    server: TcpStream,
    outward: Flow,
    inward: Flow,
}

/// One direction.
struct Flow {
    buffer: Vec<u8>,
    /// What of the buffer was passed on already.
    sent: usize,
    state: FlowState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FlowState {
    Running,
    /// Nothing more comes; what is in the buffer still goes.
    Ending,
    Ended,
}

impl Flow {
    fn new() -> Flow {
        Flow { buffer: Vec::with_capacity(BUFFER_BYTES), sent: 0, state: FlowState::Running }
    }

    fn is_full_of_something(&self) -> bool {
        self.sent < self.buffer.len()
    }

    /// Moves what can be moved now. Whether anything did.
    fn go_on(&mut self, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<bool> {
        let mut has_moved = false;
        if self.state == FlowState::Running && !self.is_full_of_something() {
            self.buffer.resize(BUFFER_BYTES, 0);
            self.sent = 0;
            let read = from.read(&mut self.buffer);
            self.buffer.truncate(read.as_ref().map_or(0, |n| *n));
            match read {
                Ok(0) => self.state = FlowState::Ending,
                Ok(_) => has_moved = true,
                Err(e) if is_patient(&e) => {}
                Err(e) => return Err(e),
            }
        }
        if self.is_full_of_something() {
            match to.write(&self.buffer[self.sent..]) {
                Ok(n) => {
                    self.sent += n;
                    has_moved = true;
                }
                Err(e) if is_patient(&e) => {}
                Err(e) => return Err(e),
            }
        }
        if self.state == FlowState::Ending && !self.is_full_of_something() {
            // The other side may have gone already, which is an end too.
            let _ = to.shutdown(Shutdown::Write);
            self.state = FlowState::Ended;
            has_moved = true;
        }
        Ok(has_moved)
    }
}

impl Carried {
    pub(super) fn new(client: TcpStream, server: TcpStream) -> Carried {
        Carried { client, server, outward: Flow::new(), inward: Flow::new() }
    }

    /// Whether anything moved. An error ends both directions.
    pub(super) fn go_on(&mut self) -> bool {
        let out = self.outward.go_on(&self.client, &self.server);
        let back = if self.inward.state == FlowState::Ended {
            Ok(false)
        } else {
            self.inward.go_on(&self.server, &self.client)
        };
        match (out, back) {
            (Ok(out), Ok(back)) => out || back,
            _ => {
                self.outward.state = FlowState::Ended;
                self.inward.state = FlowState::Ended;
                false
            }
        }
    }

    /// The program is gone: nobody reads what comes back any more.
    pub(super) fn only_outward(&mut self) {
        self.inward.state = FlowState::Ended;
    }

    pub(super) fn is_over(&self) -> bool {
        self.outward.state == FlowState::Ended && self.inward.state == FlowState::Ended
    }

    pub(super) fn waits(&self) -> Vec<(BorrowedFd<'_>, i16)> {
        let events = |reads: &Flow, writes: &Flow| {
            let read = reads.state == FlowState::Running && !reads.is_full_of_something();
            let write = writes.state != FlowState::Ended && writes.is_full_of_something();
            (if read { libc::POLLIN } else { 0 }) | (if write { libc::POLLOUT } else { 0 })
        };
        let sides = [
            (self.client.as_fd(), events(&self.outward, &self.inward)),
            (self.server.as_fd(), events(&self.inward, &self.outward)),
        ];
        // A side that waits for nothing would report over and over that its other end is gone.
        sides.into_iter().filter(|(_, events)| *events != 0).collect()
    }
}

fn is_patient(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
