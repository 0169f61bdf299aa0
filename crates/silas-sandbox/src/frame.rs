//! Messages between our processes: a length and JSON. Bounded, so that nobody can fill another's memory.

use crate::Error;
use crate::error::Doing;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{ErrorKind, Read, Write};

/// Larger than any changeset with its diff that can be shown, small against what a machine has.
pub(crate) const FRAME_BYTES_MAX: usize = 16 << 20;

pub(crate) fn send<T: Serialize>(to: &mut impl Write, value: &T) -> Result<(), Error> {
    send_bytes(to, &encode(value)?)
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    let bytes = serde_json::to_vec(value).map_err(|e| Error::Damaged(e.to_string()))?;
    if bytes.len() > FRAME_BYTES_MAX {
        return Err(Error::TooLarge("The result is too large to be shown, so it was not used.".to_owned()));
    }
    Ok(bytes)
}

pub(crate) fn send_bytes(to: &mut impl Write, bytes: &[u8]) -> Result<(), Error> {
    let length = u32::try_from(bytes.len()).map_err(|e| Error::Damaged(e.to_string()))?;
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend_from_slice(bytes);
    to.write_all(&frame).doing(|| "Talking to another process of Silas".to_owned())
}

/// `None` when the other side has closed.
pub(crate) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>, Error> {
    let Some(bytes) = receive_bytes(from)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|e| Error::Damaged(e.to_string()))
}

fn receive_bytes(from: &mut impl Read) -> Result<Option<Vec<u8>>, Error> {
    let mut length = [0u8; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => return Ok(None),
        Err(e) => return Err(Error::io("Listening to another process of Silas", &e)),
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > FRAME_BYTES_MAX {
        return Err(Error::TooLarge("A message between processes of Silas is too large.".to_owned()));
    }
    let mut bytes = vec![0u8; length];
    match from.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => Ok(None),
        Err(e) => Err(Error::io("Listening to another process of Silas", &e)),
    }
}
