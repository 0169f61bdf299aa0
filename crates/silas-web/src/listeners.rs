//! What must be opened before the process confines itself: both loopback addresses, the network door where the owner
//! wants one, and the terminal's socket.

use crate::guard::Origin;
use crate::tls::Tls;
use crate::{Error, control, secret_door, whose};
use silas_core::Timestamp;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Everything that is listened on.
pub struct Listeners {
    pub(crate) loopback: Vec<std::net::TcpListener>,
    pub(crate) network: Option<NetworkListener>,
    pub(crate) control: std::os::unix::net::UnixListener,
    pub(crate) secrets: std::os::unix::net::UnixListener,
    port: u16,
}

/// The door for other devices: always encrypted.
pub struct NetworkDoor {
    pub address: IpAddr,
    pub port: u16,
    /// The name or address under which the owner's devices reach it.
    pub name: String,
    pub tls: Tls,
}

pub(crate) struct NetworkListener {
    pub(crate) tcp: std::net::TcpListener,
    pub(crate) origin: Origin,
    pub(crate) tls: Tls,
}

impl Listeners {
    pub fn address(&self) -> String {
        Origin::on_port(self.port).origin
    }

    /// Where other devices find the page, if they may.
    pub fn network_address(&self) -> Option<&str> {
        self.network.as_ref().map(|door| door.origin.origin.as_str())
    }

    /// Until when the certificate of the network door is good.
    pub fn certificate_ends(&self) -> Option<Timestamp> {
        self.network.as_ref().map(|door| door.tls.not_after)
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin::on_port(self.port)
    }
}

/// The ports alone, held before anybody is told of them.
pub struct Ports {
    loopback: Vec<std::net::TcpListener>,
    network: Option<NetworkListener>,
    port: u16,
}

impl Ports {
    /// Both loopback addresses, or none: whoever held the other one could pose as this page. Without a port there is
    /// no page, only the terminal's door.
    pub fn bind(port: Option<u16>, network: Option<NetworkDoor>) -> Result<Self, Error> {
        let (loopback, port) = match port {
            Some(port) => bind_both(port)?,
            None => (Vec::new(), 0),
        };
        let network = network.map(NetworkDoor::bind).transpose()?;
        Ok(Ports { loopback, network, port })
    }

    /// Of both doors.
    pub fn numbers(&self) -> Vec<u16> {
        let network = self.network.as_ref().and_then(|door| door.tcp.local_addr().ok());
        Some(self.port).filter(|port| *port > 0).into_iter().chain(network.map(|address| address.port())).collect()
    }

    /// Writes down where they are. The terminal's door opens last: whoever can connect to it finds the addresses written.
    pub fn open(self, data_dir: &Path) -> Result<Listeners, Error> {
        let Ports { loopback, network, port } = self;
        control::write_address(data_dir, &Origin::on_port(port).origin)?;
        control::write_network_address(data_dir, network.as_ref().map(|door| door.origin.origin.as_str()))?;
        let secrets = control::listen(&secret_door::path(data_dir))?;
        let control = control::listen(&control::path(data_dir))?;
        Ok(Listeners { loopback, network, control, secrets, port })
    }
}

impl NetworkDoor {
    fn bind(self) -> Result<NetworkListener, Error> {
        let tcp = bind(SocketAddr::new(self.address, self.port))?;
        let origin = Origin::of_network(&self.name, tcp.local_addr()?.port());
        Ok(NetworkListener { tcp, origin, tls: self.tls })
    }
}

/// Whether the page could be served at this port of this machine now; if not, who is in the way, as far as that is known.
/// Nothing stays open.
pub fn is_free(port: u16) -> Result<(), Error> {
    bind_both(port).map(drop)
}

/// How often any free port is tried: what the one address has free, the other may be using for a connection of somebody's.
const ANY_PORT_TRIES: u32 = 100;

fn bind_both(port: u16) -> Result<(Vec<std::net::TcpListener>, u16), Error> {
    bind_both_by(port, bind)
}

fn bind_both_by(
    wanted: u16,
    bind: impl Fn(SocketAddr) -> Result<std::net::TcpListener, Error>,
) -> Result<(Vec<std::net::TcpListener>, u16), Error> {
    let mut tries_left = if wanted == 0 { ANY_PORT_TRIES } else { 1 };
    loop {
        let first = bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), wanted))?;
        let port = first.local_addr()?.port();
        tries_left -= 1;
        match bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port)) {
            Ok(second) => return Ok((vec![first, second], port)),
            // A machine without IPv6 has no second address to lose.
            Err(Error::Listen { cause, .. }) if is_missing_address(&cause) => return Ok((vec![first], port)),
            Err(Error::Taken { .. } | Error::TakenByAnother { .. }) if tries_left > 0 => {}
            Err(e) => return Err(e),
        }
    }
}

fn bind(address: SocketAddr) -> Result<std::net::TcpListener, Error> {
    let listener = std::net::TcpListener::bind(address).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::AddrInUse => taken(address),
        _ => Error::Listen { address: address.to_string(), cause },
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Who holds it matters: what another user shows at this address, a browser takes for this page.
fn taken(at: SocketAddr) -> Error {
    let (address, port) = (at.ip().to_string(), at.port());
    let ours = std::fs::metadata("/proc/self").map_or(0, |own| own.uid());
    // Root could do worse than this, and often only passes a port on.
    match whose::listens_at(at).into_iter().flatten().find(|uid| *uid != 0 && *uid != ours) {
        Some(uid) => Error::TakenByAnother { address, port, uid },
        None => Error::Taken { address, port },
    }
}

fn is_missing_address(cause: &std::io::Error) -> bool {
    matches!(cause.kind(), std::io::ErrorKind::AddrNotAvailable | std::io::ErrorKind::Unsupported)
        || cause.raw_os_error() == Some(97) // EAFNOSUPPORT: the kernel has no IPv6 at all
}

#[cfg(test)]
mod tests;
