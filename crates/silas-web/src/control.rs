//! The terminal's door: a socket in the data directory that only the owner's account can open.
//!
//! It speaks the page's protocol, one JSON message a line, without a challenge: the kernel tells whose process is on
//! the other side. What the terminal decides is signed all the same, with a key that this process does not have.

use crate::http::{ACCEPT_PAUSE, Door};
use crate::session::{OUTGOING_MAX, Session};
use crate::socket::session_span;
use axum::extract::ws::Utf8Bytes;
use silas_core::message::Channel;
use silas_runtime::Listener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tracing::Instrument;

/// Where the socket lies in a data directory.
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("run").join("control.sock")
}

/// The page's address, for commands that print it.
pub fn address(data_dir: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(data_dir.join("run").join("address"))
}

pub(crate) fn write_address(data_dir: &Path, address: &str) -> std::io::Result<()> {
    std::fs::write(data_dir.join("run").join("address"), address)
}

/// Where other devices find the page, if they may.
pub fn network_address(data_dir: &Path) -> Option<String> {
    std::fs::read_to_string(data_dir.join("run").join("network-address")).ok()
}

pub(crate) fn write_network_address(data_dir: &Path, address: Option<&str>) -> std::io::Result<()> {
    let path = data_dir.join("run").join("network-address");
    match (address, std::fs::remove_file(&path)) {
        (_, Err(cause)) if cause.kind() != std::io::ErrorKind::NotFound => Err(cause),
        (Some(address), _) => std::fs::write(path, address),
        (None, _) => Ok(()),
    }
}

/// The ports of the server that runs on a data directory, or that ran there last.
pub fn ports(data_dir: &Path) -> Vec<u16> {
    let addresses = [address(data_dir).ok(), network_address(data_dir)];
    let port = |address: String| address.trim().rsplit_once(':')?.1.parse().ok().filter(|port| *port > 0);
    addresses.into_iter().flatten().filter_map(port).collect()
}

/// What a connection of the terminal is called.
const TERMINAL: &str = "this terminal";
/// Longest line that a terminal may send.
const LINE_BYTES_MAX: u64 = 256 * 1024;

/// Listens at `path`, readable by its owner only. A stale socket of a server that is gone is replaced.
pub(crate) fn listen(path: &Path) -> std::io::Result<std::os::unix::net::UnixListener> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

pub(crate) async fn serve(door: Arc<Door>, listener: UnixListener, owner_uid: u32) {
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(cause) => {
                tracing::warn!(%cause, "a terminal could not be taken");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let is_owner = socket.peer_cred().is_ok_and(|peer| peer.uid() == owner_uid);
        if is_owner {
            tokio::spawn(serve_one(door.clone(), socket).in_current_span());
        }
    }
}

async fn serve_one(door: Arc<Door>, socket: UnixStream) {
    let (reader, mut writer) = socket.into_split();
    let (out, mut outgoing) = mpsc::channel::<Utf8Bytes>(OUTGOING_MAX);
    let (lines, incoming) = mpsc::channel(1);
    let attached = door.stream.hub.attach(Listener::Terminal, None).await;
    let (span, id) = (session_span(&attached, TERMINAL), attached.session.clone());
    let pace = door.paces.of_line(door.clock.now());
    let session = Session::new(door.clone(), Channel::Cli, TERMINAL.to_owned(), pace, attached, out);
    let read = async move {
        let mut reader = BufReader::new(reader);
        let mut line = String::new();
        loop {
            line.clear();
            match (&mut reader).take(LINE_BYTES_MAX).read_line(&mut line).await {
                Ok(n) if n > 0 && line.ends_with('\n') => {
                    if lines.send(line.clone()).await.is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    };
    let write = async move {
        while let Some(message) = outgoing.recv().await {
            let line = [message.as_bytes(), b"\n"].concat();
            if writer.write_all(&line).await.is_err() {
                return;
            }
        }
    };
    // A terminal may end its side and still wait for the last answers.
    let ((), (), ()) = tokio::join!(read, write, session.serve(incoming).instrument(span));
    door.stream.hub.detach(&id).await;
}
