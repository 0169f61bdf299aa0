//! What a command in the owner's terminal calls: it talks to the running launcher, not to the front.

use crate::protocol::TerminalAsk;
use crate::{Error, door, frame};
use serde::de::DeserializeOwned;
use silas_core::key_service::SignBody;
use silas_core::signature::Signature;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Has the terminal key sign one decision or message.
pub fn terminal_sign(data_dir: &Path, body: &SignBody) -> Result<Signature, Error> {
    ask(data_dir, &TerminalAsk::Sign(Box::new(body.clone())))
}

/// A new code with which one device can be paired within five minutes. An older one is void.
pub fn terminal_pairing_code(data_dir: &Path) -> Result<String, Error> {
    ask(data_dir, &TerminalAsk::PairingCode)
}

fn ask<T: DeserializeOwned>(data_dir: &Path, ask: &TerminalAsk) -> Result<T, Error> {
    let not_running = || Error::Terminal("Silas is not running for this data directory. Start it first.".to_owned());
    let (_run, path) = door::socket_path(data_dir).map_err(|_| not_running())?;
    let mut socket = UnixStream::connect(path).map_err(|_| not_running())?;
    // Whoever is refused hears so before having asked; then sending fails and the answer is what counts.
    let sent = frame::send(&mut socket, ask);
    match frame::receive::<Result<T, Error>>(&mut socket)? {
        Some(answer) => answer,
        None => sent.and(Err(Error::Lost)),
    }
}
