//! A page, as far as the server can tell: paired, connected, signing what it says.

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use hmac::{KeyInit, Mac};
use serde_json::{Value, json};
use silas_core::message::{MessageBody, OWNER_SCOPE};
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Offer, Verdict};
use silas_core::{InstallationId, Nonce, Random, Timestamp, canonical};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) struct Page {
    key: SigningKey,
    installation: InstallationId,
    socket: TcpStream,
}

impl Page {
    pub(crate) fn open(port: u16, data: &Path) -> Result<Page> {
        let mut seed = [0; 32];
        OsRandom.fill(&mut seed);
        let key = SigningKey::from_bytes(&seed);
        pair(&key, port, data)?;
        let mut socket = TcpStream::connect(("127.0.0.1", port))?;
        // A turn is a question and an answer: nothing is gained by waiting for more to send.
        socket.set_nodelay(true)?;
        write!(
            socket,
            "GET /ws HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            socket.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let hello = read(&mut socket)?;
        let installation: InstallationId = serde_json::from_value(hello["installation"].clone())?;
        let id = public(&key).id();
        let proof =
            json!({ "kind": "session", "challenge": hello["challenge"], "installation": installation, "key": id });
        let auth = json!({ "type": "auth", "key": id, "signature": sign(&key, &canonical::text(&proof)?) });
        write_text(&mut socket, &auth.to_string())?;
        ensure!(read(&mut socket)?["type"] == "welcome", "the page was not let in");
        Ok(Page { key, installation, socket })
    }

    /// Says something; how long until the answer is here.
    pub(crate) fn turn(&mut self, text: &str) -> Result<Duration> {
        let micros = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
        let body = MessageBody {
            text: text.to_owned(),
            timestamp: Timestamp::from_micros(micros.try_into()?),
            nonce: Nonce::new(&OsRandom),
            installation: self.installation.clone(),
            scope: OWNER_SCOPE.to_owned(),
        };
        let signature = sign(&self.key, &body.message()?);
        let message = json!({ "type": "message", "message": { "body": body, "signature": signature } }).to_string();
        let started = Instant::now();
        write_text(&mut self.socket, &message)?;
        loop {
            let message = read(&mut self.socket)?;
            ensure!(message["type"] != "error", "{message}");
            if message["type"] == "message" && message["entry"]["sender"] == "silas" {
                return Ok(started.elapsed());
            }
        }
    }
}

fn pair(key: &SigningKey, port: u16, data: &Path) -> Result<()> {
    let code = silas_sandbox::terminal_pairing_code(data).map_err(|cause| anyhow::anyhow!("{cause}"))?;
    let screen: Value = serde_json::from_str(&request(port, "GET", "")?)?;
    // Only the first device is asked for them.
    let offer: Option<Offer> = serde_json::from_value(screen["house_rules"]["offer"].clone())?;
    let house_rules = match offer {
        Some(offer) => {
            let body = offer.answered(public(key).id(), Verdict::Approved);
            let signature = sign(key, &body.message()?);
            json!({ "body": body, "signature": signature })
        }
        None => Value::Null,
    };
    let text = String::from(public(key));
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(code.as_bytes())?;
    mac.update(format!("silas-pair {text}").as_bytes());
    let proof = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
    let asked = json!({ "public": text, "name": "bench", "proof": proof, "house_rules": house_rules });
    let paired = request(port, "POST", &asked.to_string())?;
    ensure!(paired.contains("certificate"), "{paired}");
    Ok(())
}

fn request(port: u16, method: &str, body: &str) -> Result<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        socket,
        "{method} /pair HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").context("no answer")?.1.to_owned())
}

fn public(key: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(key.verifying_key().to_bytes())
}

fn sign(key: &SigningKey, text: &str) -> Signature {
    Signature::ed25519(public(key).id(), key.sign(text.as_bytes()).to_bytes())
}

fn write_text(socket: &mut TcpStream, text: &str) -> Result<()> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len())? {
        n @ 0..=125 => frame.push(0x80 | u8::try_from(n)?),
        n => {
            frame.push(0x80 | 126);
            frame.extend(n.to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    Ok(socket.write_all(&frame)?)
}

fn read(socket: &mut TcpStream) -> Result<Value> {
    let mut head = [0; 2];
    socket.read_exact(&mut head)?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut long = [0; 2];
            socket.read_exact(&mut long)?;
            u64::from(u16::from_be_bytes(long))
        }
        127 => {
            let mut long = [0; 8];
            socket.read_exact(&mut long)?;
            u64::from_be_bytes(long)
        }
        short => u64::from(short),
    };
    let mut payload = vec![0; usize::try_from(length)?];
    socket.read_exact(&mut payload)?;
    serde_json::from_slice(&payload).context("a frame that is no message")
}

pub(crate) struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        // A benchmark without randomness measures nothing worth having.
        if getrandom::fill(bytes).is_err() {
            std::process::abort();
        }
    }
}
