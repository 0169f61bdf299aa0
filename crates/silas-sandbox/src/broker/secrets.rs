//! The desk at which programs of a cell ask for secrets: exactly the ones that were granted, one question a connection.
//!
//! A question is `get NAME` and a line end. The answer is `ok`, a line end and the value, or `no`, a space and why not.

use serde::{Deserialize, Serialize};
use silas_core::secret::{SECRET_BYTES_MAX, Secret, SecretRef};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// Who may stand at the desk at once.
const CLIENTS_MAX: usize = 16;
/// Questions of one run, each of which is an entry of the ledger.
const QUESTIONS_MAX: usize = 200;
/// Longer than any question.
const QUESTION_BYTES_MAX: usize = 256;

/// What the watcher says to the last question that was passed on. Base64, because frames are text.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answer(Option<String>);

impl Answer {
    pub(crate) fn of(secret: Option<&Secret>) -> Answer {
        use base64::Engine as _;
        Answer(secret.map(|secret| base64::engine::general_purpose::STANDARD.encode(secret.expose())))
    }

    pub(crate) fn secret(self) -> Option<Secret> {
        use base64::Engine as _;
        let text = Secret::new(self.0?.into_bytes());
        let value = base64::engine::general_purpose::STANDARD.decode(text.expose()).ok().map(Secret::new)?;
        (value.expose().len() <= SECRET_BYTES_MAX).then_some(value)
    }
}

pub(super) struct Desk {
    listener: UnixListener,
    allowed: Vec<SecretRef>,
    clients: Vec<(UnixStream, Vec<u8>)>,
    /// Whose questions were passed on, in order.
    waiting: VecDeque<(UnixStream, SecretRef)>,
    n_asked: usize,
}

impl Desk {
    pub(super) fn new(listener: UnixListener, allowed: Vec<SecretRef>) -> io::Result<Desk> {
        listener.set_nonblocking(true)?;
        Ok(Desk { listener, allowed, clients: Vec::new(), waiting: VecDeque::new(), n_asked: 0 })
    }

    /// The clients, and behind them the door while there is room.
    pub(super) fn waits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let has_room = self.clients.len() + self.waiting.len() < CLIENTS_MAX;
        let door = has_room.then(|| self.listener.as_fd());
        self.clients.iter().map(|(client, _)| client.as_fd()).chain(door)
    }

    /// Something happened at the n-th of these. Answers a question that must be passed on.
    pub(super) fn attend(&mut self, n: usize) -> Option<SecretRef> {
        let Some((client, question)) = self.clients.get_mut(n) else {
            // A caller that could not be let in has gone already.
            if let Ok((client, _)) = self.listener.accept()
                && client.set_nonblocking(true).is_ok()
            {
                self.clients.push((client, Vec::new()));
            }
            return None;
        };
        let mut some = [0; QUESTION_BYTES_MAX];
        match client.read(&mut some) {
            Ok(n) if n > 0 && question.len() + n <= QUESTION_BYTES_MAX => question.extend_from_slice(&some[..n]),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return None,
            Ok(_) | Err(_) => {
                self.clients.remove(n);
                return None;
            }
        }
        let line = question.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok())?;
        let reference = line.strip_prefix("get ").and_then(|name| SecretRef::parse(name).ok());
        let (client, _) = self.clients.remove(n);
        self.n_asked += 1;
        match reference {
            Some(reference) if self.allowed.contains(&reference) && self.n_asked <= QUESTIONS_MAX => {
                self.waiting.push_back((client, reference.clone()));
                Some(reference)
            }
            Some(reference) if self.allowed.contains(&reference) => {
                refuse(client, "This run has asked for secrets too often.");
                None
            }
            Some(reference) => {
                refuse(client, &format!("The plan does not name the secret {reference}, so it cannot be used here."));
                None
            }
            None => {
                refuse(client, "This is not the name of a secret.");
                None
            }
        }
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        let Some((client, reference)) = self.waiting.pop_front() else { return };
        match answer.secret() {
            Some(secret) => send(client, &[b"ok\n", secret.expose()]),
            None => refuse(client, &format!("Silas has no secret called {reference} that it can open now.")),
        }
    }
}

fn refuse(client: UnixStream, why: &str) {
    send(client, &[b"no ", why.as_bytes()]);
}

/// A value is smaller than what a socket takes at once; a client that reads nothing gets nothing.
fn send(mut client: UnixStream, parts: &[&[u8]]) {
    for part in parts {
        if client.write_all(part).is_err() {
            return;
        }
    }
}
