//! The places inside a cell that lead outside: a listening socket for each granted host, one for secrets, and sockets
//! through which one port inside can be called. Beside them the socket of its name server and those of addresses that the
//! command names, which lead nowhere.
//!
//! A socket belongs to the network namespace in which it was made, whoever holds it. So the child only makes these
//! sockets, while it still may, and hands them to the caller; nothing of ours has to run inside to forward anything.
//! Every granted name has an address of its own on the cell's loopback, which `/etc/hosts` tells; an address that was
//! granted literally is put on the cell's loopback itself. Clients need not know of any of this.

use super::addresses;
use super::names::{self, Names};
use super::openings::Watched;
use super::prepared::Prepared;
use super::report::{Failure, Step, at};
use super::sys;
use super::{CellSpec, Error};
use crate::broker::{Callback, Setup};
use crate::fd_passing;
use crate::layers::{Layer, in_force};
use silas_core::host::HostGrant;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// Where a program finds `silas-secret`, and `silas-secret` its socket.
pub(crate) const OWN_DIR: &str = "/run/silas";
pub(crate) const SECRET_PROGRAM: &str = "silas-secret";
pub(crate) const SECRET_SOCKET: &str = "secret.sock";

/// Connections into the cell that one run may take; the end of a login needs one, a browser tries a few more.
const CALLS_MAX: usize = 32;

/// What goes before a descriptor on its way to the caller. Anything smaller is the number of a listener.
const TAG_SCRATCH: u8 = 250;
const TAG_OPENINGS: u8 = 251;
const TAG_ADDRESS: u8 = 252;
const TAG_NAMES: u8 = 253;
const TAG_SECRETS: u8 = 254;
const TAG_CALL: u8 = 255;

#[derive(Default)]
pub(super) struct Outlets {
    listeners: Vec<Listening>,
    /// Addresses that the cell's loopback must get.
    addresses: Vec<IpAddr>,
    /// What `/etc/hosts` says besides the usual.
    names: Vec<(IpAddr, String)>,
    /// Addresses that the command names and may not reach.
    tried: Vec<Ipv4Addr>,
    pub(super) has_secrets: bool,
    pub(super) callback_port: Option<u16>,
}

struct Listening {
    grant: HostGrant,
    at: SocketAddr,
    /// The other half of `localhost` does without where a system has no IPv6.
    is_needed: bool,
}

/// What the child has made.
#[derive(Default)]
pub(super) struct Made {
    hosts: Vec<(usize, TcpListener)>,
    names: Option<UdpSocket>,
    tried: Vec<OwnedFd>,
    secrets: Option<UnixListener>,
    calls: Vec<OwnedFd>,
    openings: Option<OwnedFd>,
    scratch: Option<OwnedFd>,
}

impl Outlets {
    pub(super) fn of(spec: &CellSpec) -> Outlets {
        let mut outlets = Outlets {
            tried: addresses::of(&spec.argv, &spec.hosts),
            has_secrets: !spec.secrets.is_empty(),
            callback_port: spec.callback_port,
            ..Outlets::default()
        };
        let literal: Vec<IpAddr> = spec.hosts.iter().filter_map(HostGrant::address).collect();
        let mut free = (1..=u16::MAX).map(own_address).filter(|address| !literal.contains(address));
        let mut places: BTreeMap<&str, IpAddr> = BTreeMap::new();
        for grant in &spec.hosts {
            if grant.is_localhost() {
                // Many programs know these names by themselves and look nothing up.
                outlets.listen(grant, Ipv4Addr::LOCALHOST.into(), true);
                outlets.listen(grant, Ipv6Addr::LOCALHOST.into(), false);
                if grant.host() != "localhost" {
                    outlets.names.push((Ipv4Addr::LOCALHOST.into(), grant.host().to_owned()));
                }
            } else if let Some(address) = grant.address() {
                if !address.is_loopback() && !outlets.addresses.contains(&address) {
                    outlets.addresses.push(address);
                }
                outlets.listen(grant, address, true);
            } else {
                let known = places.get(grant.host()).copied();
                let Some(address) = known.or_else(|| free.next()) else { continue };
                if places.insert(grant.host(), address).is_none() {
                    outlets.names.push((address, grant.host().to_owned()));
                }
                outlets.listen(grant, address, true);
            }
        }
        outlets
    }

    fn listen(&mut self, grant: &HostGrant, address: IpAddr, is_needed: bool) {
        let at = SocketAddr::new(address, grant.port());
        // `localhost`, names below it and their addresses lead to one and the same place.
        if !self.listeners.iter().any(|known| known.at == at) {
            self.listeners.push(Listening { grant: grant.clone(), at, is_needed });
        }
    }

    /// Whether none of it leads outside.
    pub(super) fn is_empty(&self) -> bool {
        self.listeners.is_empty() && !self.has_secrets && self.callback_port.is_none()
    }

    /// Lines for `/etc/hosts`.
    pub(super) fn hosts_lines(&self) -> String {
        self.names.iter().map(|(address, name)| format!("{address} {name}\n")).collect()
    }

    /// What the name server answers. The first are the cell itself, wherever one asks.
    fn known_names(&self) -> Vec<(String, Ipv4Addr)> {
        let granted = self.names.iter().filter_map(|(address, name)| match address {
            IpAddr::V4(address) => Some((name.clone(), *address)),
            IpAddr::V6(_) => None,
        });
        let own = ["localhost", "silas"].map(|name| (name.to_owned(), Ipv4Addr::LOCALHOST));
        own.into_iter().chain(granted).collect()
    }

    /// In the child, while it may still configure its network and bind any port.
    pub(super) fn open(&self, to: &UnixStream) -> Result<(), Failure> {
        // Without a network of its own it would answer for the whole machine.
        if in_force(Layer::Network) {
            let server = UdpSocket::bind((names::ADDRESS, names::PORT)).map_err(at(Step::Names, 0))?;
            hand_over(to, TAG_NAMES, &server).map_err(at(Step::Names, 0))?;
            for socket in self.tried.iter().filter_map(|address| addresses::open(*address)) {
                hand_over(to, TAG_ADDRESS, &socket).map_err(at(Step::Names, 0))?;
            }
        }
        for (n, address) in self.addresses.iter().enumerate() {
            sys::add_loopback_address(*address).map_err(at(Step::Network, n))?;
        }
        for (n, listening) in self.listeners.iter().enumerate() {
            let failed = at(Step::Network, n);
            match TcpListener::bind(listening.at) {
                Ok(listener) => hand_over(to, u8::try_from(n).unwrap_or(TAG_CALL), &listener).map_err(failed)?,
                Err(_) if !listening.is_needed => {}
                Err(e) => return Err(failed(e)),
            }
        }
        for _ in 0..self.callback_port.map_or(0, |_| CALLS_MAX) {
            let failed = at(Step::Network, 0);
            hand_over(to, TAG_CALL, &sys::tcp_socket().map_err(&failed)?).map_err(failed)?;
        }
        Ok(())
    }
}

/// 127.77.0.1 and on.
fn own_address(n: u16) -> IpAddr {
    let [high, low] = n.to_be_bytes();
    Ipv4Addr::new(127, 77, high, low).into()
}

pub(super) fn hand_over_secrets(to: &UnixStream, listener: &UnixListener) -> io::Result<()> {
    hand_over(to, TAG_SECRETS, listener)
}

pub(super) fn hand_over_openings(to: &UnixStream, watched: &Watched) -> io::Result<()> {
    hand_over(to, TAG_OPENINGS, &watched.events)?;
    hand_over(to, TAG_SCRATCH, &watched.scratch)
}

fn hand_over(to: &UnixStream, tag: u8, fd: &impl AsFd) -> io::Result<()> {
    let mut socket = to;
    socket.write_all(&[tag])?;
    fd_passing::send(to, fd.as_fd())
}

/// Takes everything that the child hands over, until it closes its end or dies.
pub(super) fn take_over(mut from: UnixStream) -> io::Result<Made> {
    let mut made = Made::default();
    let mut tag = [0];
    while from.read(&mut tag)? == 1 {
        let fd = fd_passing::receive(&from)?;
        match tag[0] {
            TAG_CALL => made.calls.push(fd),
            TAG_ADDRESS => made.tried.push(fd),
            TAG_OPENINGS => made.openings = Some(fd),
            TAG_SCRATCH => made.scratch = Some(fd),
            TAG_NAMES => made.names = Some(UdpSocket::from(fd)),
            TAG_SECRETS => made.secrets = Some(UnixListener::from(fd)),
            n => made.hosts.push((usize::from(n), TcpListener::from(fd))),
        }
    }
    Ok(made)
}

impl Made {
    /// The name server, unless the child died before it had made its socket.
    pub(super) fn take_names(&mut self, outlets: &Outlets) -> io::Result<Option<Names>> {
        self.names.take().map(|socket| Names::new(socket, outlets.known_names())).transpose()
    }

    /// The sockets that show which addresses were tried.
    pub(super) fn take_tried(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.tried)
    }

    /// What tells of files that are opened, if the child could watch all that it was to watch.
    pub(super) fn take_openings(&mut self) -> Option<Watched> {
        let (events, scratch) = self.openings.take().zip(self.scratch.take())?;
        Some(Watched { events, scratch })
    }

    /// What the child has made, put together with what was granted.
    pub(super) fn setup(self, cell: &Prepared<'_>, callers: Vec<TcpListener>) -> Setup {
        let granted =
            |(n, listener): (usize, TcpListener)| Some((cell.outlets.listeners.get(n)?.grant.clone(), listener));
        Setup {
            hosts: self.hosts.into_iter().filter_map(granted).collect(),
            secrets: self.secrets.map(|listener| (listener, cell.spec.secrets.clone())),
            closed_ports: cell.limits.closed_ports.clone(),
            callback: cell.outlets.callback_port.map(|port| Callback { port, listeners: callers, calls: self.calls }),
        }
    }
}

/// The port on this machine's loopback; on its IPv6 half too where there is one.
pub(super) fn open_callback_port(port: u16) -> Result<Vec<TcpListener>, Error> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|cause| Error::CallbackPort { port, cause })?;
    let second = match TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
        Ok(listener) => Some(listener),
        Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => return Err(Error::CallbackPort { port, cause }),
        Err(_) => None,
    };
    Ok(std::iter::once(first).chain(second).collect())
}

#[cfg(test)]
mod tests;
