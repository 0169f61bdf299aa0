//! Where the launcher meets the private keys: children that call the key helper for one request, and end.
//!
//! A passphrase goes from the terminal straight into such a child, over a socket that the launcher handed on; neither the
//! launcher nor the front ever reads it. For a request of the front that needs a locked root key, a terminal has a child
//! wait with the passphrase ([`Armed`]): for one request, and five minutes at most.

use crate::error::Doing;
use crate::process::{self, Child};
use crate::protocol::Passphrase;
use crate::{Error, frame, syscall};
use silas_core::key_service::{Ask, KeyHelper, KeyReply, KeyRequest, SignBody};
use silas_core::secret::Secret;
use silas_core::signature::Signature;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For a person to type a passphrase.
const TYPING: Duration = Duration::from_secs(120);
/// As long as a pairing code lasts.
const ARMED_FOR: Duration = Duration::from_secs(5 * 60);

/// In a child: one request to the key helper. The child's memory, which now holds a key, cannot be read by others.
pub(crate) fn use_key<T>(
    key_helper: KeyHelper,
    keys: &Path,
    request: &KeyRequest,
    ask: Ask<'_>,
    expected: impl FnOnce(KeyReply) -> Option<T>,
) -> Result<T, Error> {
    syscall::hide_memory().doing(|| "Protecting the keys".to_owned())?;
    read(key_helper(keys, request, ask), expected)
}

fn read<T>(reply: KeyReply, expected: impl FnOnce(KeyReply) -> Option<T>) -> Result<T, Error> {
    match reply {
        KeyReply::Refused { reason } => Err(Error::Keys(reason)),
        KeyReply::Locked => Err(Error::Locked),
        reply => expected(reply).ok_or_else(|| Error::Keys("the key helper answered another question".to_owned())),
    }
}

/// In a child: one signature of the terminal key.
pub(crate) fn signature(key_helper: KeyHelper, keys: &Path, body: SignBody, ask: Ask<'_>) -> Result<Signature, Error> {
    use_key(key_helper, keys, &KeyRequest::Sign { body }, ask, |reply| match reply {
        KeyReply::Signed { signature } => Some(signature),
        KeyReply::Ready { .. }
        | KeyReply::Checked
        | KeyReply::Certified { .. }
        | KeyReply::ServerCertified { .. }
        | KeyReply::Revoked { .. }
        | KeyReply::Locked
        | KeyReply::Refused { .. } => None,
    })
}

/// Asks the terminal behind this socket.
pub(crate) fn ask_terminal(client: &UnixStream) -> Option<Secret> {
    client.set_read_timeout(Some(TYPING)).ok()?;
    frame::send(&mut &*client, &Err::<(), Error>(Error::PassphraseWanted)).ok()?;
    take_passphrase(client)
}

/// What whoever is on the other side has sent, or is sending.
pub(crate) fn take_passphrase(mut from: &UnixStream) -> Option<Secret> {
    let Passphrase(said) = frame::receive(&mut from).ok()??;
    said.map(|said| Secret::new(said.into_bytes()))
}

/// A child that waits with the passphrase. Dropping this ends it.
pub(crate) struct Armed {
    socket: UnixStream,
}

impl Armed {
    /// The child itself tells the terminal whether the passphrase was right.
    pub(crate) fn wait_for_one(
        key_helper: KeyHelper,
        keys: PathBuf,
        client: &UnixStream,
    ) -> io::Result<(Child, Armed)> {
        let (socket, theirs) = UnixStream::pair()?;
        let keep = [theirs.as_raw_fd(), client.as_raw_fd()];
        let child = process::fork(&keep, || i32::from(stand_by(key_helper, &keys, client, theirs).is_err()))?;
        Ok((child, Armed { socket }))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// `Locked` if it has not been waiting any more.
    fn answer(mut self, request: &KeyRequest) -> KeyReply {
        let asked = frame::send(&mut self.socket, request).and_then(|()| frame::receive(&mut self.socket));
        asked.ok().flatten().unwrap_or(KeyReply::Locked)
    }
}

fn stand_by(key_helper: KeyHelper, keys: &Path, mut client: &UnixStream, mut socket: UnixStream) -> Result<(), Error> {
    syscall::name_process(c"silas-key");
    let mut said = None;
    let mut ask = || {
        said = ask_terminal(client);
        said.clone()
    };
    let checked = use_key(key_helper, keys, &KeyRequest::Check, &mut ask, |reply| {
        matches!(reply, KeyReply::Checked).then_some(())
    });
    frame::send(&mut client, &checked)?;
    checked?;
    let doing = || "Waiting for a request".to_owned();
    let events = syscall::poll(&[(socket.as_fd(), libc::POLLIN)], Some(ARMED_FOR)).doing(doing)?;
    if events[0] & libc::POLLIN == 0 {
        return Ok(());
    }
    let Some(request) = frame::receive::<KeyRequest>(&mut socket)? else { return Ok(()) };
    let reply = match request {
        KeyRequest::Certify { .. } | KeyRequest::Revoke { .. } => key_helper(keys, &request, &mut || said.clone()),
        KeyRequest::Init { .. } | KeyRequest::Check | KeyRequest::CertifyServer { .. } | KeyRequest::Sign { .. } => {
            KeyReply::Locked
        }
    };
    frame::send(&mut socket, &reply)
}

/// In a child: one use of the root key, by the one that waits with the passphrase if there is one.
pub(crate) fn use_root<T>(
    armed: Option<Armed>,
    key_helper: KeyHelper,
    keys: &Path,
    request: &KeyRequest,
    expected: impl FnOnce(KeyReply) -> Option<T>,
) -> Result<T, Error> {
    match armed {
        Some(armed) => read(armed.answer(request), expected),
        None => use_key(key_helper, keys, request, &mut || None, expected),
    }
}
