//! Requests written by hand, so that a test decides every header.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Where Silas listens unless a test wants the other one.
fn usual(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

pub(crate) fn get(port: u16, path: &str) -> (u16, String) {
    get_at(usual(port), path)
}

pub(crate) fn get_at(at: SocketAddr, path: &str) -> (u16, String) {
    raw_at(at, &format!("GET {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", at.port()))
}

pub(crate) fn post(port: u16, path: &str, body: &str) -> (u16, String) {
    post_at(usual(port), path, body)
}

pub(crate) fn post_at(at: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let port = at.port();
    raw_at(
        at,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

/// Status and body of whatever comes back.
pub(crate) fn raw(port: u16, request: &str) -> (u16, String) {
    raw_at(usual(port), request)
}

pub(crate) fn raw_at(at: SocketAddr, request: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A server may close a refused connection without waiting for the rest of the request.
    let _reset = socket.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    (status(&text), body)
}

pub(crate) fn upgrade_request(host: &str, origin: &str) -> String {
    format!(
        "GET /ws HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// The head of whatever comes back: its status, and every header by its name in small letters, as often as it came.
pub(crate) fn head(port: u16, request: &str) -> (u16, Vec<(String, String)>) {
    let (head, _socket) = begin(usual(port), request);
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    (status(&head), headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect())
}

/// Sends a request and reads up to the end of the answer's head.
fn begin(at: SocketAddr, request: &str) -> (String, TcpStream) {
    let mut socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    (String::from_utf8_lossy(&head).into_owned(), socket)
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// A WebSocket: the status of the upgrade and, if it was accepted, the socket behind it.
pub(crate) fn upgrade(port: u16, host: &str, origin: &str) -> (u16, TcpStream) {
    upgrade_at(usual(port), host, origin)
}

pub(crate) fn upgrade_at(at: SocketAddr, host: &str, origin: &str) -> (u16, TcpStream) {
    let (head, socket) = begin(at, &upgrade_request(host, origin));
    (status(&head), socket)
}

/// One frame: its opcode and payload.
pub(crate) fn read_frame(socket: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    socket.read_exact(&mut head).ok()?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut long = [0; 2];
            socket.read_exact(&mut long).ok()?;
            u64::from(u16::from_be_bytes(long))
        }
        127 => {
            let mut long = [0; 8];
            socket.read_exact(&mut long).ok()?;
            u64::from_be_bytes(long)
        }
        short => u64::from(short),
    };
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    socket.read_exact(&mut payload).ok()?;
    Some((head[0] & 0x0f, payload))
}

pub(crate) fn write_text(socket: &mut TcpStream, text: &str) {
    socket.write_all(&text_frame(text)).unwrap();
}

/// A text frame, masked with zeros as a client may.
pub(crate) fn text_frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        n @ 0..=125 => frame.push(0x80 | n as u8),
        n if n <= usize::from(u16::MAX) => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(n).unwrap().to_be_bytes());
        }
        n => {
            frame.push(0x80 | 127);
            frame.extend(u64::try_from(n).unwrap().to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}
