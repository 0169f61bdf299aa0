//! The page as the server sees it: a WebSocket of a paired device that resumes and acknowledges.

use crate::harness::{Device, Place};
use crate::http;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

/// A page of these tests answers none.
const PING: u8 = 9;
const CLOSE: u8 = 8;

pub(crate) struct Page {
    socket: TcpStream,
    pub welcome: Value,
}

impl Page {
    /// Connects, naming what it has if it was here before.
    pub(crate) fn open(silas: &Place, device: &Device, resume: Option<&Value>) -> Page {
        Page::open_at((Ipv4Addr::LOCALHOST, silas.port()).into(), device, resume)
    }

    pub(crate) fn open_at(at: SocketAddr, device: &Device, resume: Option<&Value>) -> Page {
        let host = format!("localhost:{}", at.port());
        let mut socket = http::upgrade_at(at, &host, &format!("http://{host}")).1;
        let hello = next(&mut socket);
        http::write_text(&mut socket, &device.auth(&hello, resume).to_string());
        let welcome = next(&mut socket);
        assert_eq!(welcome["type"], "welcome", "{welcome}");
        Page { socket, welcome }
    }

    /// What it has after showing everything up to `seq`.
    pub(crate) fn has(&self, seq: u64) -> Value {
        json!({ "session": self.welcome["session"], "seen": seq })
    }

    /// The entries that come, up to and with this number.
    pub(crate) fn read_until(&mut self, seq: u64) -> Vec<(u64, String)> {
        let mut entries = Vec::new();
        while entries.last().is_none_or(|(last, _)| *last < seq) {
            let message = next(&mut self.socket);
            if message["type"] == "message" {
                entries.push((message["seq"].as_u64().unwrap(), message["entry"]["text"].as_str().unwrap().to_owned()));
            }
        }
        entries
    }

    pub(crate) fn acknowledge(&mut self, seq: u64) {
        http::write_text(&mut self.socket, &json!({ "type": "ack", "seq": seq }).to_string());
    }

    /// Asks something: the type of the answer, or the code of the refusal.
    pub(crate) fn ask(&mut self, question: &Value) -> String {
        http::write_text(&mut self.socket, &question.to_string());
        loop {
            let message = next(&mut self.socket);
            match message["type"].as_str() {
                Some("error") => return message["code"].as_str().unwrap().to_owned(),
                Some(kind) if kind == question["type"] => return kind.to_owned(),
                _ => {}
            }
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        http::write_text(&mut self.socket, &message.to_string());
    }

    /// The next message of one of these types.
    pub(crate) fn next_of(&mut self, types: &[&str]) -> Value {
        loop {
            let message = next(&mut self.socket);
            if message["type"].as_str().is_some_and(|kind| types.contains(&kind)) {
                return message;
            }
        }
    }

    /// Bytes as they are. The server may have hung up already.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let _hung_up = self.socket.write_all(bytes);
    }

    /// Waits until the server has ended the connection; a server that goes on waiting has not.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.socket.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(cause) => cause.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    /// Reads on until the server says goodbye: with which code, if it says one.
    pub(crate) fn close_code(&mut self) -> Option<u16> {
        loop {
            if let (CLOSE, reason) = http::read_frame(&mut self.socket)? {
                return Some(u16::from_be_bytes([*reason.first()?, *reason.get(1)?]));
            }
        }
    }

    /// Waits until everything sent before was dealt with, by asking something behind it.
    pub(crate) fn settle(&mut self) {
        http::write_text(&mut self.socket, &json!({ "type": "sessions" }).to_string());
        while next(&mut self.socket)["type"] != "sessions" {}
    }
}

fn next(socket: &mut TcpStream) -> Value {
    loop {
        match http::read_frame(socket).expect("Silas has gone away") {
            (1, text) => return serde_json::from_slice(&text).unwrap(),
            (PING, _) => {}
            other => panic!("that was no text: {other:?}"),
        }
    }
}
