//! A small internet of its own for a case: a network namespace whose loopback has public, private and metadata
//! addresses, servers on them, and a name server that says what the case wants. No packet leaves the machine.

use crate::ground::separate;
use crate::identity::Identity;
use silas_core::outside::{Connection, NotRecorded, Outside};
use silas_core::secret::{Secret, SecretRef};
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// Public ones; nothing of this is reached for real.
pub(crate) const FILES: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
pub(crate) const OTHER: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 35);
/// What a name must never lead to.
pub(crate) const PRIVATE: [Ipv4Addr; 5] = [
    Ipv4Addr::new(127, 0, 0, 1),
    Ipv4Addr::new(10, 0, 0, 5),
    Ipv4Addr::new(192, 168, 1, 1),
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(100, 100, 100, 200),
];

/// Leaves the machine's network for one with those addresses.
pub(crate) fn enter(identity: Identity) -> Result<(), String> {
    separate(identity, libc::CLONE_NEWNET);
    // Servers of an ordinary user too may have the ports that clients expect.
    fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0").map_err(|e| format!("low ports: {e}"))?;
    interface("lo", None).map_err(|e| format!("loopback: {e}"))?;
    for (n, address) in [FILES, OTHER].into_iter().chain(PRIVATE.into_iter().skip(1)).enumerate() {
        interface(&format!("lo:{n}"), Some(address)).map_err(|e| format!("{address}: {e}"))?;
    }
    Ok(())
}

/// Brings an interface up, or gives it an address.
fn interface(name: &str, address: Option<Ipv4Addr>) -> std::io::Result<()> {
    // SAFETY: plain integers; `request` is plain data for which all zeros is a value and outlives the calls; the address
    // is written into its room for one.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        let done = match address {
            None => {
                request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
                libc::ioctl(socket, libc::SIOCSIFFLAGS, &request)
            }
            Some(address) => {
                let to = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: 0,
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
                    sin_zero: [0; 8],
                };
                request.ifr_ifru.ifru_addr = std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(to);
                libc::ioctl(socket, libc::SIOCSIFADDR, &request)
            }
        };
        let error = std::io::Error::last_os_error();
        libc::close(socket);
        if done == 0 { Ok(()) } else { Err(error) }
    }
}

/// A server in a process of its own, ended with this value.
pub(crate) struct Server {
    pid: libc::pid_t,
    hits: PathBuf,
}

impl Server {
    /// Answers every request with what `answer` makes of its first bytes, and closes.
    pub(crate) fn start(dir: &Path, at: (IpAddr, u16), answer: impl Fn(&mut dyn ReadWrite)) -> Server {
        let hits = dir.join(format!("hits-{}-{}", at.0, at.1));
        let listener = TcpListener::bind(at).unwrap_or_else(|e| panic!("{at:?}: {e}"));
        // SAFETY: this process has one thread.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                fs::OpenOptions::new().create(true).append(true).open(&hits).unwrap().write_all(b"x").unwrap();
                answer(&mut stream);
            }
        }
        Server { pid, hits }
    }

    /// Speaks just enough HTTP.
    pub(crate) fn http(dir: &Path, at: (IpAddr, u16), head: &'static str, body: &'static str) -> Server {
        Server::start(dir, at, move |stream| {
            let mut request = Vec::new();
            let mut some = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut some) {
                    Ok(n) if n > 0 => request.extend_from_slice(&some[..n]),
                    _ => return,
                }
            }
            let length = body.len();
            // A client that is gone needs no answer.
            let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        })
    }

    /// How many connections it has had.
    pub(crate) fn hits(&self) -> usize {
        fs::read(&self.hits).map_or(0, |bytes| bytes.len())
    }
}

pub(crate) trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: our own child, which is waited for here and nowhere else.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Writes down everything; knows one secret.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) connections: Vec<Connection>,
    pub(crate) asked: Vec<String>,
}

pub(crate) const VALUE: &[u8] = b"s3cret\n\0value";

impl Outside for Log {
    fn connected(&mut self, connection: &Connection) -> Result<(), NotRecorded> {
        self.connections.push(connection.clone());
        Ok(())
    }

    fn secret(&mut self, reference: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        self.asked.push(reference.to_string());
        Ok((reference.as_str() == "github").then(|| Secret::new(VALUE.to_vec())))
    }
}
