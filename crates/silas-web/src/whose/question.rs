//! One question to the kernel about one connection, over netlink (`sock_diag`). It costs the same however many connections
//! there are, so that nobody makes it slow by having many. A kernel without it does not answer, and its table is read instead.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::net::{IpAddr, SocketAddr};

/// What the kernel says of the socket whose own end is the first address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Socket {
        state: u8,
        uid: u32,
        inode: u32,
    },
    /// No such connection, or nobody here who knows.
    NotThere,
    Unanswered,
}

const HEADER_BYTES: usize = 16;
/// Kind and states, the connection, and nothing else.
const QUESTION_BYTES: usize = 56;
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const FAILED: u16 = 2;
const TCP: u8 = 6;
/// Where the answer, behind its header, has what is wanted.
const STATE_AT: usize = HEADER_BYTES + 1;
const UID_AT: usize = HEADER_BYTES + 64;
const INODE_AT: usize = HEADER_BYTES + 68;

pub(super) fn ask(here: SocketAddr, there: SocketAddr) -> Answer {
    answer(here, there).unwrap_or(Answer::Unanswered)
}

fn answer(here: SocketAddr, there: SocketAddr) -> Option<Answer> {
    let kernel = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    );
    let kernel = kernel.ok()?;
    rustix::net::send(&kernel, &question(here, there), SendFlags::empty()).ok()?;
    let mut said = [0; 512];
    // The answer is there before the question's call returns.
    let (n, _) = rustix::net::recv(&kernel, said.as_mut_slice(), RecvFlags::DONTWAIT).ok()?;
    let said = said.get(..n)?;
    let number = |at: usize| Some(u32::from_ne_bytes(said.get(at..at + 4)?.try_into().ok()?));
    match u16::from_ne_bytes(said.get(4..6)?.try_into().ok()?) {
        BY_FAMILY => {
            Some(Answer::Socket { state: *said.get(STATE_AT)?, uid: number(UID_AT)?, inode: number(INODE_AT)? })
        }
        FAILED => Some(Answer::NotThere),
        _ => None,
    }
}

fn question(here: SocketAddr, there: SocketAddr) -> Vec<u8> {
    let family = match here {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    // Families are small numbers.
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    let mut text = Vec::with_capacity(HEADER_BYTES + QUESTION_BYTES);
    text.extend(72u32.to_ne_bytes());
    text.extend(BY_FAMILY.to_ne_bytes());
    text.extend(REQUEST.to_ne_bytes());
    text.extend([0; 8]);
    text.extend([family, TCP, 0, 0]);
    text.extend(u32::MAX.to_ne_bytes());
    text.extend(here.port().to_be_bytes());
    text.extend(there.port().to_be_bytes());
    for ip in [here.ip(), there.ip()] {
        let mut bytes = [0; 16];
        match ip {
            IpAddr::V4(ip) => bytes[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => bytes = ip.octets(),
        }
        text.extend(bytes);
    }
    // Any interface, and no cookie: the addresses alone.
    text.extend(0u32.to_ne_bytes());
    text.extend([0xff; 8]);
    text
}
