//! How a workshop tells the front what a command reached, and asks it for secrets, while that command runs.
//!
//! The broker tells the process that watches the cell, that one tells the workshop, which tells the front's
//! [`Workshop`](crate::Workshop); there [`Outside`] writes it into the ledger before the broker hears that it may go on.
//! What the command prints goes the same way, for whoever looks on ([`Pieces`]).

mod pieces;

use crate::broker::Answer;
use crate::protocol::{Noted, WorkshopSays};
use crate::{frame, syscall};
use pieces::Pieces;
use serde::de::DeserializeOwned;
use silas_core::outside::{Connection, NotRecorded, Outside};
use silas_core::secret::{Secret, SecretRef};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// For the front to write something down, or to find a secret.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Shorter values would be found in every other word.
const HIDDEN_BYTES_MIN: usize = 4;

pub(crate) struct Relay<'a> {
    front: &'a UnixStream,
    pieces: Pieces,
    /// Checks that run side by side have one line to the front, and take turns by locking this file.
    turns: Option<File>,
    /// What the command has got, so that it can be kept out of what is told about it.
    given: Vec<Secret>,
}

impl<'a> Relay<'a> {
    pub(crate) fn new(front: &'a UnixStream) -> Self {
        Relay { front, given: Vec::new(), pieces: Pieces::of(None), turns: None }
    }

    /// For a check, which may run beside others.
    pub(crate) fn of_check(front: &'a UnixStream, name: &str, turns: File) -> Self {
        Relay { front, given: Vec::new(), pieces: Pieces::of(Some(name)), turns: Some(turns) }
    }

    /// Shows what was held back. Where the front has no time for it now, it comes later or not at all.
    fn show(&mut self) {
        // A value could stand in it, also in two pieces.
        if !self.given.is_empty() {
            self.pieces.forget();
            return;
        }
        let waited = syscall::poll(&[(self.front.as_fd(), libc::POLLOUT)], Some(Duration::ZERO));
        if !waited.is_ok_and(|events| events[0] & libc::POLLOUT != 0) {
            return;
        }
        if self.turns.as_ref().is_some_and(|turns| turns.lock().is_err()) {
            return;
        }
        if let Some(piece) = self.pieces.take() {
            // Nobody to show it to is no reason to stop; whoever waits for an answer hears of it there.
            let _ = frame::send(&mut self.front, &WorkshopSays::<()>::Printed(piece));
        }
        if let Some(turns) = &self.turns {
            let _ = turns.unlock();
        }
    }

    /// What the front says to what it was just told.
    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, NotRecorded> {
        let waited = syscall::poll(&[(self.front.as_fd(), libc::POLLIN)], Some(ANSWER_MAX));
        if !waited.is_ok_and(|events| events[0] != 0) {
            return Err(NotRecorded);
        }
        frame::receive(&mut self.front).ok().flatten().ok_or(NotRecorded)
    }

    /// The output of a command without the secrets that it was given. Whoever disguises a value can still print it.
    pub(crate) fn hide_given(&self, output: &[u8]) -> Vec<u8> {
        let values = self.given.iter().flat_map(|secret| [secret.expose(), secret.expose().trim_ascii()]);
        values
            .filter(|value| value.len() >= HIDDEN_BYTES_MIN)
            .fold(output.to_vec(), |output, value| hide(&output, value))
    }
}

fn hide(output: &[u8], value: &[u8]) -> Vec<u8> {
    let mut hidden = Vec::with_capacity(output.len());
    let mut rest = output;
    while let Some(at) = rest.windows(value.len()).position(|window| window == value) {
        hidden.extend_from_slice(&rest[..at]);
        hidden.extend_from_slice(b"[secret]");
        rest = &rest[at + value.len()..];
    }
    hidden.extend_from_slice(rest);
    hidden
}

impl Drop for Relay<'_> {
    fn drop(&mut self) {
        if self.pieces.is_held_back() {
            self.show();
        }
    }
}

impl Outside for Relay<'_> {
    fn wrote(&mut self, bytes: &[u8]) {
        self.pieces.add(bytes);
        if self.pieces.is_due() {
            self.show();
        }
    }

    fn connected(&mut self, connection: &Connection) -> Result<(), NotRecorded> {
        frame::send(&mut self.front, &WorkshopSays::<()>::Connected(connection.clone())).map_err(|_| NotRecorded)?;
        self.answer::<Noted>().map(|Noted::Written| ())
    }

    fn secret(&mut self, reference: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        frame::send(&mut self.front, &WorkshopSays::<()>::Wanted(reference.clone())).map_err(|_| NotRecorded)?;
        let secret = self.answer::<Answer>()?.secret();
        self.given.extend(secret.clone());
        Ok(secret)
    }
}

#[cfg(test)]
mod tests;
