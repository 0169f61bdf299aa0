//! Whose program is at the other end: the kernel's own table of connections names the user of each socket of this machine.
//!
//! It is asked to keep others out, never to let anybody in: whoever has the right user still needs the code, or a key.
//! What it does not know: programs on other machines, and connections that are closing, which belong to nobody any more.

mod question;

use question::Answer;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

/// Both versions: a client may reach an address of version 4 through a socket of version 6.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
const ESTABLISHED: &str = "01";
const ESTABLISHED_NUMBER: u8 = 1;
const LISTENING: &str = "0A";

/// One socket of this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Line<'t> {
    here: SocketAddr,
    there: SocketAddr,
    state: &'t str,
    uid: u32,
    /// A socket that no program holds any more has none, and its user reads as root.
    inode: u64,
}

/// Whether the kernel has ever named a socket when asked; if not, that it knows none means nothing.
static ANSWERS: AtomicBool = AtomicBool::new(false);

/// The user whose program holds the other end of a connection; nobody if it is not on this machine, or not open any more.
pub(crate) async fn holds_the_other_end(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    match asked(theirs, ours) {
        Some(holder) => holder,
        // The table can be long, so it is not read where connections are served.
        None => tokio::task::spawn_blocking(move || looked_up(theirs, ours)).await.ok().flatten(),
    }
}

/// Nothing if the kernel does not answer such questions.
fn asked(theirs: SocketAddr, ours: SocketAddr) -> Option<Option<u32>> {
    match question::ask(canonical(theirs), canonical(ours)) {
        Answer::Socket { state, uid, inode } => {
            ANSWERS.store(true, Ordering::Relaxed);
            Some((state == ESTABLISHED_NUMBER && inode != 0).then_some(uid))
        }
        Answer::NotThere => ANSWERS.load(Ordering::Relaxed).then_some(None),
        Answer::Unanswered => None,
    }
}

fn looked_up(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    let (theirs, ours) = (canonical(theirs), canonical(ours));
    let is_it = |line: &Line<'_>| line.here == theirs && line.there == ours && line.state == ESTABLISHED;
    find(|line| is_it(line) && line.inode != 0)?.first().copied()
}

/// Every user who listens where this address would be reached; nothing where the kernel does not say.
pub fn listens_at(address: SocketAddr) -> Option<Vec<u32>> {
    let address = canonical(address);
    find(|line| {
        let is_there = line.here.ip() == address.ip() || line.here.ip().is_unspecified();
        line.state == LISTENING && line.here.port() == address.port() && is_there
    })
}

/// Nothing if a table cannot be read to its end, whatever the reason: who is not in one half of it may be in the other.
fn find(mut wanted: impl FnMut(&Line<'_>) -> bool) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for table in TABLES {
        let file = match File::open(table) {
            Ok(file) => file,
            // A kernel without version 6 has no such table.
            Err(cause) if cause.kind() == ErrorKind::NotFound && table == TABLES[1] => continue,
            Err(_) => return None,
        };
        for text in BufReader::new(file).lines() {
            found.extend(read(&text.ok()?).filter(&mut wanted).map(|line| line.uid));
        }
    }
    Some(found)
}

/// `sl local remote state queues timer retransmits uid timeout inode …`
fn read(text: &str) -> Option<Line<'_>> {
    let mut words = text.split_ascii_whitespace().skip(1);
    let (here, there, state) = (address(words.next()?)?, address(words.next()?)?, words.next()?);
    let mut words = words.skip(3);
    let uid = words.next()?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    Some(Line { here, there, state, uid, inode })
}

/// `0100007F:20E4`: groups of four bytes as this machine keeps a number, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let group = |at: usize| Some(u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(group(0)?)),
        32 => {
            let groups = [group(0)?, group(1)?, group(2)?, group(3)?];
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(groups.as_flattened()).for_each(|(to, from)| *to = *from);
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests;
