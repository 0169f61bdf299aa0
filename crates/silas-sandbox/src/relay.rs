//! How a workshop tells the front what a command reached, and asks it for secrets, while that command runs.
//!
//! The broker tells the process that watches the cell, that one tells the workshop, which tells the front's
//! [`Workshop`](crate::Workshop); there [`Outside`] writes it into the ledger before the broker hears that it may go on.

use crate::broker::Answer;
use crate::protocol::{Noted, WorkshopSays};
use crate::{frame, syscall};
use serde::de::DeserializeOwned;
use silas_core::outside::{Connection, NotRecorded, Outside};
use silas_core::secret::{Secret, SecretRef};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// For the front to write something down, or to find a secret.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Shorter values would be found in every other word.
const HIDDEN_BYTES_MIN: usize = 4;

pub(crate) struct Relay<'a> {
    front: &'a UnixStream,
    /// What the command has got, so that it can be kept out of what is told about it.
    given: Vec<Secret>,
}

impl<'a> Relay<'a> {
    pub(crate) fn new(front: &'a UnixStream) -> Self {
        Relay { front, given: Vec::new() }
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

impl Outside for Relay<'_> {
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
