//! How a workshop tells the front what a command reached, and asks it for secrets, while that command runs.

use crate::broker::Answer;
use crate::protocol::WorkshopSays;
use crate::{frame, syscall};
use silas_core::outside::{Connection, NotRecorded, Outside};
use silas_core::secret::{Secret, SecretRef};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// For the front to find a secret; its owner may have to unlock something first.
const SECRET_MAX: Duration = Duration::from_secs(60);

pub(crate) struct Relay<'a>(pub(crate) &'a UnixStream);

impl Outside for Relay<'_> {
    fn connected(&mut self, connection: &Connection) -> Result<(), NotRecorded> {
        frame::send(&mut self.0, &WorkshopSays::<()>::Connected(connection.clone())).map_err(|_| NotRecorded)
    }

    fn secret(&mut self, reference: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        frame::send(&mut self.0, &WorkshopSays::<()>::Wanted(reference.clone())).map_err(|_| NotRecorded)?;
        let waited = syscall::poll(&[(self.0.as_fd(), libc::POLLIN)], Some(SECRET_MAX));
        if !waited.is_ok_and(|events| events[0] != 0) {
            return Err(NotRecorded);
        }
        match frame::receive::<Answer>(&mut self.0) {
            Ok(Some(answer)) => Ok(answer.secret()),
            Ok(None) | Err(_) => Err(NotRecorded),
        }
    }
}
