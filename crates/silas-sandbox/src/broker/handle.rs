//! The watcher's side of a broker: starts it, passes on what it says, and ends it.

use super::secrets::Answer;
use super::{Hears, Resolver, Says, Setup, live};
use crate::cell::Error;
use crate::process::{self, Child};
use crate::{frame, syscall};
use silas_core::outside::Outside;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// For a broker that was told to end. Longer than it drains.
const END_MAX: Duration = Duration::from_secs(10);

pub(crate) struct Handle {
    child: Child,
    ended: OwnedFd,
    socket: UnixStream,
}

impl Handle {
    /// Returns when the broker is confined and listens.
    pub(crate) fn start(setup: Setup, resolver: Resolver<'_>) -> Result<Handle, Error> {
        let failed = |cause| Error::Setup { step: "starting the broker", cause };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let child = process::fork(&setup.descriptors(&theirs), || i32::from(live(setup, theirs, resolver).is_err()));
        let child = child.map_err(failed)?;
        let ended = child.watch().map_err(failed)?;
        let mut handle = Handle { child, ended, socket: ours };
        match frame::receive::<Says>(&mut handle.socket) {
            Ok(Some(Says::Ready)) => Ok(handle),
            _ => Err(failed(io::Error::other("it ended before it was ready"))),
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Passes on one thing that the broker says. Whether it is still there.
    pub(crate) fn hear(&mut self, outside: &mut dyn Outside) -> Result<bool, Error> {
        let unrecorded = |_| Error::Unrecorded;
        let lost = |e: crate::Error| Error::Supervise { step: "listening to the broker", cause: io::Error::other(e) };
        // Answering fails only if the broker is gone, which is noticed by whoever listens to it.
        match frame::receive::<Says>(&mut self.socket).map_err(lost)? {
            None => Ok(false),
            Some(Says::Ready) => Ok(true),
            Some(Says::Connected(connection)) => {
                outside.connected(&connection).map_err(unrecorded)?;
                let _ = frame::send(&mut self.socket, &Hears::Written);
                Ok(true)
            }
            Some(Says::Wanted(reference)) => {
                let secret = outside.secret(&reference).map_err(unrecorded)?;
                let _ = frame::send(&mut self.socket, &Hears::Secret(Answer::of(secret.as_ref())));
                Ok(true)
            }
        }
    }

    /// The program is over: what it sent gets through, what the broker did is written down.
    pub(crate) fn finish(mut self, outside: &mut dyn Outside) -> Result<(), Error> {
        // It fails only if the broker is gone already.
        let _ = frame::send(&mut self.socket, &Hears::Over);
        let mut until = Instant::now() + END_MAX;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let events = syscall::poll(&[(self.socket.as_fd(), libc::POLLIN)], Some(left));
            let events = events.map_err(|cause| Error::Supervise { step: "ending the broker", cause })?;
            if left.is_zero() || (events[0] != 0 && !self.hear(outside)?) {
                return Ok(());
            }
            // Writing down may have taken a while, and what it was about gets its time.
            until = Instant::now() + END_MAX;
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // It fails only if the broker is dead already.
        let _ = syscall::kill(self.ended.as_fd());
        self.child.wait();
    }
}

impl Setup {
    /// Everything that a broker keeps of the process that it is forked from.
    fn descriptors(&self, watcher: &UnixStream) -> Vec<RawFd> {
        let mut all = vec![watcher.as_raw_fd()];
        all.extend(self.hosts.iter().map(|(_, listener)| listener.as_raw_fd()));
        all.extend(self.secrets.iter().map(|(listener, _)| listener.as_raw_fd()));
        if let Some(callback) = &self.callback {
            all.extend(callback.listeners.iter().map(AsRawFd::as_raw_fd));
            all.extend(callback.calls.iter().map(AsRawFd::as_raw_fd));
        }
        all
    }
}
