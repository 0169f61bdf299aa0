//! The way on which secrets come in: a socket of its own, so that no value is ever part of the Stream's protocol.
//!
//! Only the owner's account can open it. One question a connection: a line of JSON, then exactly the bytes that it
//! announces; the answer is a line of JSON. A value is read into memory that is wiped, handed on, and never sent back:
//! there is no question to which a value is the answer.

use crate::http::ACCEPT_PAUSE;
use serde::{Deserialize, Serialize};
use silas_core::secret::{SECRET_BYTES_MAX, Secret, SecretRef};
use silas_runtime::{SecretView, Stream, Trouble, VaultView};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tracing::Instrument;

/// Longer than any question.
const QUESTION_BYTES_MAX: usize = 1024;
/// Longer than any list of secrets.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Whoever does not get to the point is let go.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum SecretAsk {
    /// The value follows.
    Set {
        reference: SecretRef,
        n_bytes: usize,
    },
    /// The same as an answer to a card: taken only while one asks for exactly this.
    Give {
        reference: SecretRef,
        n_bytes: usize,
    },
    Remove {
        reference: SecretRef,
    },
    List,
    /// The vault's key follows.
    Unlock {
        n_bytes: usize,
    },
    Lock,
    State,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "says", rename_all = "snake_case", deny_unknown_fields)]
pub enum SecretSays {
    Done { message: String },
    Listed { secrets: Vec<SecretView> },
    State { vault: VaultView },
    Trouble { code: String, message: String, todo: String },
}

/// Where the socket lies in a data directory.
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("run").join("secrets.sock")
}

/// For the terminal: one question with the bytes that belong to it, and the answer.
pub fn ask(data_dir: &Path, ask: &SecretAsk, value: &[u8]) -> io::Result<SecretSays> {
    let mut socket = std::os::unix::net::UnixStream::connect(path(data_dir))?;
    let mut line = serde_json::to_vec(ask)?;
    line.push(b'\n');
    socket.write_all(&line)?;
    socket.write_all(value)?;
    let mut answer = String::new();
    io::BufReader::new(socket.take(ANSWER_BYTES_MAX)).read_line(&mut answer)?;
    Ok(serde_json::from_str(&answer)?)
}

pub(crate) async fn serve(stream: Arc<Stream>, listener: UnixListener, owner_uid: u32) {
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(cause) => {
                tracing::warn!(%cause, "a terminal could not be taken");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if socket.peer_cred().is_ok_and(|peer| peer.uid() == owner_uid) {
            tokio::spawn(serve_one(stream.clone(), socket).in_current_span());
        }
    }
}

async fn serve_one(stream: Arc<Stream>, socket: UnixStream) {
    let (reader, mut writer) = socket.into_split();
    let Ok(Ok((ask, value))) = tokio::time::timeout(PATIENCE, question(reader)).await else { return };
    let answer = answer(&stream, ask, value).await;
    let Ok(mut line) = serde_json::to_vec(&answer) else { return };
    line.push(b'\n');
    // Whoever went away needs no answer.
    let _ = writer.write_all(&line).await;
}

async fn question(mut reader: OwnedReadHalf) -> io::Result<(SecretAsk, Secret)> {
    // Byte by byte: a buffer would read on into the value and keep it.
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') && line.len() < QUESTION_BYTES_MAX {
        line.push(reader.read_u8().await?);
    }
    let ask: SecretAsk = serde_json::from_slice(&line)?;
    let n_bytes = match &ask {
        SecretAsk::Set { n_bytes, .. } | SecretAsk::Give { n_bytes, .. } | SecretAsk::Unlock { n_bytes } => *n_bytes,
        SecretAsk::Remove { .. } | SecretAsk::List | SecretAsk::Lock | SecretAsk::State => 0,
    };
    if n_bytes > SECRET_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut value = vec![0; n_bytes];
    reader.read_exact(&mut value).await?;
    Ok((ask, Secret::new(value)))
}

async fn answer(stream: &Arc<Stream>, ask: SecretAsk, value: Secret) -> SecretSays {
    let done = |message| SecretSays::Done { message };
    let answered = match ask {
        SecretAsk::Set { reference, .. } => stream.review.store_secret(&reference, value).await.map(done),
        SecretAsk::Give { reference, .. } => stream.review.give_secret(&reference, value).await.map(done),
        SecretAsk::Remove { reference } => stream.trust.remove_secret(&reference).await.map(done),
        SecretAsk::List => stream.trust.secrets().await.map(|secrets| SecretSays::Listed { secrets }),
        SecretAsk::Unlock { .. } => stream.trust.unlock_vault(value).await.map(done),
        SecretAsk::Lock => stream.trust.lock_vault().await.map(done),
        SecretAsk::State => stream.trust.vault_view().await.map(|vault| SecretSays::State { vault }),
    };
    answered.unwrap_or_else(|Trouble { code, message, todo }| SecretSays::Trouble { code, message, todo })
}
