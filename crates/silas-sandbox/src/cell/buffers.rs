//! What the sockets of a cell keep in memory. Their buffers are the kernel's: no limit of a process counts them, and control
//! groups do so on some systems only.
//!
//! So each may have little, in the cell's own network ([`bound`]), and the supervisor looks how many there are ([`Sockets`]):
//! as many as fit into the memory that was given.

use super::supervise::write_file;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What a socket keeps at most, for both directions: the sizes below, or what the kernel gives any other socket.
const SOCKET_BYTES: u64 = 256 << 10;
/// With however little memory.
const SOCKETS_MIN: u64 = 256;

/// Least, usual and most of a TCP connection; how many may wait to be accepted, which is what it was for long.
const SIZES: [(&str, &str); 3] =
    [("ipv4/tcp_rmem", "4096 131072 131072"), ("ipv4/tcp_wmem", "4096 16384 131072"), ("core/somaxconn", "128")];

/// In the child, in its own network. Where these switches cannot be written, as in containers, the number still counts.
pub(super) fn bound() {
    for (name, value) in SIZES {
        let _ = write_file(format!("/proc/sys/net/{name}"), value);
    }
}

/// The kernel's count of the sockets in one network.
pub(super) struct Sockets {
    count: File,
    most: u64,
}

impl Sockets {
    /// Of the network that this process is in.
    pub(super) fn of(pid: libc::pid_t, memory_bytes_max: u64) -> io::Result<Sockets> {
        let count = File::open(format!("/proc/{pid}/net/sockstat"))?;
        Ok(Sockets { count, most: (memory_bytes_max / SOCKET_BYTES).max(SOCKETS_MIN) })
    }

    /// Whether they could keep more than all memory that was given.
    pub(super) fn are_too_many(&self) -> bool {
        let mut text = [0; 256];
        // A network that is gone has none.
        let n = self.count.read_at(&mut text, 0).unwrap_or(0);
        used(&String::from_utf8_lossy(&text[..n])).is_some_and(|used| used > self.most)
    }
}

/// From a line such as `sockets: used 12`.
pub(super) fn used(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("sockets: used ")).and_then(|count| count.trim().parse().ok())
}
