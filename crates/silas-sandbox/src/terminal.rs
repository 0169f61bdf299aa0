//! What a command in the owner's terminal calls: it talks to the running launcher, not to the front.

use crate::protocol::{Passphrase, TerminalAsk};
use crate::{Error, door, frame};
use serde::de::DeserializeOwned;
use silas_core::key_service::{Ask, SignBody};
use silas_core::signature::Signature;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Has the terminal key sign one decision or message. `passphrase` is asked if it is locked.
pub fn terminal_sign(data_dir: &Path, body: &SignBody, passphrase: Ask<'_>) -> Result<Signature, Error> {
    ask(data_dir, &TerminalAsk::Sign(Box::new(body.clone())), passphrase)
}

/// A new code with which one device can be paired within five minutes. An older one is void.
pub fn terminal_pairing_code(data_dir: &Path) -> Result<String, Error> {
    ask(data_dir, &TerminalAsk::PairingCode, &mut || None)
}

/// Makes a locked root key usable for one request of the server's, within five minutes.
pub fn terminal_arm(data_dir: &Path, passphrase: Ask<'_>) -> Result<(), Error> {
    ask(data_dir, &TerminalAsk::Arm, passphrase)
}

fn ask<T: DeserializeOwned>(data_dir: &Path, ask: &TerminalAsk, passphrase: Ask<'_>) -> Result<T, Error> {
    let not_running = || Error::Terminal("Silas is not running for this data directory. Start it first.".to_owned());
    let (_run, path) = door::socket_path(data_dir).map_err(|_| not_running())?;
    let mut socket = UnixStream::connect(path).map_err(|_| not_running())?;
    // Whoever is refused hears so before having asked; then sending fails and the answer is what counts.
    let mut sent = frame::send(&mut socket, ask);
    loop {
        match frame::receive::<Result<T, Error>>(&mut socket)? {
            Some(Err(Error::PassphraseWanted)) => {
                let said = passphrase();
                let said = said.map(|said| String::from_utf8_lossy(said.expose()).into_owned());
                sent = frame::send(&mut socket, &Passphrase(said));
            }
            Some(answer) => return answer,
            None => return sent.and(Err(Error::Lost)),
        }
    }
}
