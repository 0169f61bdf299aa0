//! The name server of a cell: answers what was granted, knows no other name, and remembers which were asked for.
//!
//! The child makes the socket on its own loopback and the process that watches the cell answers there, so nothing of ours
//! runs inside. No question is passed on to anybody. What is kept are names that could be granted, each once, and few of
//! them; everything else in a question is forgotten with its answer. Only UDP: no answer here is ever too long for it.

use silas_core::host;
use silas_core::wanted::NAMES_MAX;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// Apart from the addresses that granted names get, and from where programs of the cell would listen themselves.
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 78, 0, 1);
pub(super) const PORT: u16 = 53;

/// What `/etc/resolv.conf` says. Nobody else would answer, so asking twice helps nobody.
pub(super) const RESOLV_CONF: &str = "nameserver 127.78.0.1\noptions timeout:2 attempts:1\n";

/// Questions answered before the watcher looks after everything else again.
const AT_ONCE_MAX: usize = 32;
/// More than a socket holds; for what was asked right before the end.
const REST_MAX: usize = 4096;
/// A question without extensions has less, one with them is read as far as it matters.
const QUESTION_BYTES_MAX: usize = 1232;

pub(super) struct Names {
    socket: UdpSocket,
    granted: Vec<(String, Ipv4Addr)>,
    asked: Vec<String>,
}

impl Names {
    pub(super) fn new(socket: UdpSocket, granted: Vec<(String, Ipv4Addr)>) -> io::Result<Names> {
        socket.set_nonblocking(true)?;
        Ok(Names { socket, granted, asked: Vec::new() })
    }

    pub(super) fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Answers what has arrived, up to a limit.
    pub(super) fn serve(&mut self) {
        for _ in 0..AT_ONCE_MAX {
            let Some((answer, from)) = self.next() else { return };
            // Whoever does not read its answers gets none.
            let _ = self.socket.send_to(&answer, from);
        }
    }

    /// Nobody is left to be answered. What was asked and may not be reached.
    pub(super) fn finish(mut self) -> Vec<String> {
        for _ in 0..REST_MAX {
            if self.next().is_none() {
                break;
            }
        }
        self.asked
    }

    fn next(&mut self) -> Option<(Vec<u8>, SocketAddr)> {
        let mut bytes = [0; QUESTION_BYTES_MAX];
        loop {
            let (n, from) = match self.socket.recv_from(&mut bytes) {
                Ok(received) => received,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                // Nothing more, or nothing that can be helped: a program without names goes on like one without network.
                Err(_) => return None,
            };
            let answer = Question::read(&bytes[..n]).map_or_else(Vec::new, |question| self.answer(&question));
            return Some((answer, from));
        }
    }

    fn answer(&mut self, question: &Question<'_>) -> Vec<u8> {
        let Some(name) = host::name(&question.name) else { return question.answered(&Answer::Unknown) };
        if let Some((_, address)) = self.granted.iter().find(|(granted, _)| *granted == name) {
            let answer = if question.kind == TYPE_A { Answer::Address(*address) } else { Answer::Nothing };
            return question.answered(&answer);
        }
        // Other kinds of questions are asked by programs that look around, not by ones that want to go there.
        let wants_to_go = matches!(question.kind, TYPE_A | TYPE_AAAA);
        if wants_to_go && self.asked.len() < NAMES_MAX && !self.asked.contains(&name) {
            self.asked.push(name);
        }
        question.answered(&Answer::Unknown)
    }
}

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const CLASS_IN: u16 = 1;
const HEADER_BYTES: usize = 12;
const NAME_BYTES_MAX: usize = 255;

/// One question as it was asked.
struct Question<'a> {
    id: [u8; 2],
    wants_recursion: bool,
    name: String,
    kind: u16,
    /// Name, type and class, to be repeated in the answer.
    bytes: &'a [u8],
}

enum Answer {
    Address(Ipv4Addr),
    /// The name is known, and there is nothing of that kind.
    Nothing,
    Unknown,
}

impl<'a> Question<'a> {
    /// `None` for whatever is not one plain question. Names in questions are never abbreviated.
    fn read(message: &'a [u8]) -> Option<Question<'a>> {
        let (header, rest) = message.split_at_checked(HEADER_BYTES)?;
        let is_plain_question = header[2] & 0b1111_1000 == 0 && header[4..6] == [0, 1];
        if !is_plain_question {
            return None;
        }
        let mut name = Vec::new();
        let mut at = 0;
        loop {
            let length = usize::from(*rest.get(at)?);
            at += 1;
            match length {
                0 => break,
                1..=63 => {}
                _ => return None,
            }
            let label = rest.get(at..at + length)?;
            at += length;
            if at >= NAME_BYTES_MAX {
                return None;
            }
            if !name.is_empty() {
                name.push(b'.');
            }
            // A dot inside a label would make one name look like another.
            if label.contains(&b'.') {
                return None;
            }
            name.extend_from_slice(label);
        }
        let fields = rest.get(at..at + 4)?;
        let [kind, class] = [[fields[0], fields[1]], [fields[2], fields[3]]].map(u16::from_be_bytes);
        let name = String::from_utf8(name).ok().filter(|_| class == CLASS_IN)?;
        let wants_recursion = header[2] & 1 == 1;
        Some(Question { id: [header[0], header[1]], wants_recursion, name, kind, bytes: &rest[..at + 4] })
    }

    fn answered(&self, answer: &Answer) -> Vec<u8> {
        let (code, n_answers) = match answer {
            Answer::Address(_) => (0, 1),
            Answer::Nothing => (0, 0),
            Answer::Unknown => (3, 0),
        };
        // An answer, by who knows it best, with recursion where it was asked for.
        let flags = [0b1000_0100 | u8::from(self.wants_recursion), 0b1000_0000 | code];
        let mut message = Vec::with_capacity(HEADER_BYTES + self.bytes.len() + 16);
        message.extend([self.id, flags, [0, 1], [0, n_answers], [0, 0], [0, 0]].into_iter().flatten());
        message.extend_from_slice(self.bytes);
        if let Answer::Address(address) = answer {
            // The name of the question, an address of the internet, good for a minute, four bytes.
            message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            message.extend(address.octets());
        }
        message
    }
}

#[cfg(test)]
mod tests;
