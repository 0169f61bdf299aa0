//! As much of HTTP/1.1 as a client of models uses, and the ways in which a server can break it.

use crate::{Act, Part, Shared, dialect};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

/// A request as it came.
#[derive(Clone, PartialEq, Debug)]
pub struct Asked {
    pub line: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body as it was sent.
    pub text: String,
    /// Null if it is no JSON.
    pub body: Value,
}

/// Larger than any request of a test.
const BODY_BYTES_MAX: u64 = 8 << 20;
/// As often as servers do that keep a connection alive, and a little faster.
const COMMENT_EVERY: std::time::Duration = std::time::Duration::from_millis(100);
/// What an endless part is made of.
const ENDLESS_PIECE_BYTES: usize = 4096;
/// Pieces of an answer, in characters.
const PIECE_CHARS: usize = 9;

/// Serves one connection until the client leaves or the script breaks it.
pub(crate) fn serve(connection: &TcpStream, shared: &Shared) {
    // Pieces leave as they are made, as those of a real provider do.
    let _cannot_fail_on_a_socket = connection.set_nodelay(true);
    let mut reader = BufReader::new(connection);
    while let Ok(Some(asked)) = read(&mut reader) {
        let act = shared.take(asked.clone());
        let mut out = Answer { connection, shared };
        // A client that left is what some scripts wait for.
        if !out.act(&asked, act).unwrap_or(false) || shared.is_over() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0u64);
    let mut text = String::new();
    reader.take(length.min(BODY_BYTES_MAX)).read_to_string(&mut text)?;
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Ok(Some(Asked { line: line.trim_end().to_owned(), headers, text, body }))
}

struct Answer<'a> {
    connection: &'a TcpStream,
    shared: &'a Shared,
}

impl Answer<'_> {
    /// Whether the connection can be used again.
    fn act(&mut self, asked: &Asked, act: Act) -> io::Result<bool> {
        let dialect = self.shared.script.dialect;
        let form = dialect::form(dialect, &asked.body);
        let honest = |text: &str| Some((asked.text.len() as u64 / 4, (text.len() as u64 / 4).max(1)));
        match act {
            Act::Says(text) => self.say(&dialect::whole(dialect, form, &text, PIECE_CHARS, honest(&text))),
            Act::Calls(calls) => {
                let said: String = calls.iter().map(|(_, arguments)| arguments.as_str()).collect();
                self.say(&dialect::calls(dialect, &calls, PIECE_CHARS, honest(&said)))
            }
            Act::Echoes { text, put_in_for, after, before } => {
                let found = asked.text.split_once(after).and_then(|(_, rest)| rest.split_once(before));
                let text = text.replace(put_in_for, found.map_or("", |(found, _)| found));
                self.say(&dialect::whole(dialect, form, &text, PIECE_CHARS, honest(&text)))
            }
            Act::Claims(text, usage) => self.say(&dialect::whole(dialect, form, &text, PIECE_CHARS, usage)),
            Act::Pauses(before, after) => {
                self.begin()?;
                for event in dialect::beginning(dialect, form).iter().chain(&dialect::pieces(
                    dialect,
                    form,
                    &before,
                    PIECE_CHARS,
                )) {
                    self.chunk(event)?;
                }
                self.shared.wait_at_gate();
                let usage = honest(&after);
                let rest = dialect::pieces(dialect, form, &after, PIECE_CHARS);
                for event in rest.iter().chain(&dialect::end(dialect, form, usage)) {
                    self.chunk(event)?;
                }
                self.finish()
            }
            Act::Cut(text) => {
                self.begin()?;
                for event in
                    dialect::beginning(dialect, form).iter().chain(&dialect::pieces(dialect, form, &text, PIECE_CHARS))
                {
                    self.chunk(event)?;
                }
                Ok(false)
            }
            Act::Silence => self.wait_for_the_end(),
            Act::Flood(n_bytes) => self.say(&dialect::whole(dialect, form, &"x".repeat(n_bytes), 4096, Some((1, 1)))),
            Act::Loops(text) => {
                self.begin()?;
                for event in dialect::beginning(dialect, form) {
                    self.chunk(&event)?;
                }
                let pieces = dialect::pieces(dialect, form, &text, PIECE_CHARS);
                while !self.shared.is_over() {
                    for event in &pieces {
                        self.chunk(event)?;
                    }
                }
                Ok(false)
            }
            Act::Status(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n");
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                write!(self.connection, "{head}content-length: {}\r\n\r\n{body}", body.len())?;
                Ok(true)
            }
            Act::HangsUp => Ok(false),
            Act::Endless(part) => self.never_end(part),
            Act::Garbage(bytes) => {
                self.begin()?;
                self.chunk(&bytes)?;
                self.finish()
            }
        }
    }

    fn say(&mut self, events: &[String]) -> io::Result<bool> {
        self.begin()?;
        for event in events {
            self.chunk(event)?;
        }
        self.finish()
    }

    fn begin(&mut self) -> io::Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        self.connection.write_all(head.as_bytes())
    }

    fn chunk(&mut self, data: &str) -> io::Result<()> {
        write!(self.connection, "{:x}\r\n{data}\r\n", data.len())?;
        self.shared.n_sent.fetch_add(data.len() as u64, Ordering::SeqCst);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<bool> {
        self.connection.write_all(b"0\r\n\r\n")?;
        Ok(true)
    }

    fn never_end(&mut self, part: Part) -> io::Result<bool> {
        let filler = "x".repeat(ENDLESS_PIECE_BYTES);
        match part {
            Part::Headers => self.connection.write_all(b"HTTP/1.1 200 OK\r\n")?,
            Part::ErrorBody => {
                let head =
                    "HTTP/1.1 400 Scripted\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
                self.connection.write_all(head.as_bytes())?;
            }
            Part::Line => {
                self.begin()?;
                self.chunk("data: ")?;
            }
            Part::Event | Part::Comments => self.begin()?,
        }
        for n in 0u64.. {
            if self.shared.is_over() {
                break;
            }
            match part {
                Part::Headers => {
                    write!(self.connection, "x-filler-{n}: {filler}\r\n")?;
                    self.shared.n_sent.fetch_add(filler.len() as u64, Ordering::SeqCst);
                }
                Part::Line | Part::ErrorBody => self.chunk(&filler)?,
                Part::Event => self.chunk(&format!("data: {filler}\n"))?,
                Part::Comments => {
                    self.chunk(": still here\n\n")?;
                    std::thread::sleep(COMMENT_EVERY);
                }
            }
        }
        Ok(false)
    }

    /// Reads until the client closes; it has nothing more to say.
    fn wait_for_the_end(&mut self) -> io::Result<bool> {
        let mut byte = [0u8; 1];
        while !self.shared.is_over() && self.connection.read(&mut byte)? > 0 {}
        Ok(false)
    }
}
