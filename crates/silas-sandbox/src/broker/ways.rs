//! The way of one stream: from an outlet to a name, an address, a connection and its end.
//!
//! Every address is judged here, by the grant that was used, right before it is dialled.

use super::carry::Carried;
use super::{Broker, names, socket};
use silas_core::host::{HostGrant, NotThere};
use silas_core::outside::Reached;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Streams in one run, each of which is an entry of the ledger.
const CONNECTIONS_MAX: usize = 1000;
/// A stream on which nothing moves is closed, so that forgotten ones do not use up the places of others.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// For one address to answer.
const DIAL_MAX: Duration = Duration::from_secs(15);

pub(super) struct Stream {
    pub(super) state: State,
    /// When something last moved.
    pub(super) moved: Instant,
}

pub(super) enum State {
    /// Waits for the name's addresses.
    Naming {
        client: TcpStream,
        grant: HostGrant,
    },
    Dialling(Dial),
    /// Connected, and not written down yet: no byte goes either way.
    Held {
        carried: Carried,
        /// Of the report about it.
        number: u64,
    },
    Open(Carried),
    Over,
}

pub(super) struct Dial {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
    pub(super) grant: HostGrant,
    /// Where `server` is going.
    pub(super) address: IpAddr,
    /// To be tried if it does not get there.
    pub(super) rest: Vec<IpAddr>,
    pub(super) way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Out,
    /// From this machine into the cell.
    In,
}

impl Broker<'_> {
    /// A program in the cell has connected to an outlet.
    pub(super) fn let_out(&mut self, n: usize) -> io::Result<()> {
        let Some((grant, listener)) = self.hosts.get(n) else { return Ok(()) };
        let Some(client) = socket::accept(listener)? else { return Ok(()) };
        let grant = grant.clone();
        self.n_made += 1;
        if self.n_made > CONNECTIONS_MAX {
            socket::reset(client);
            // Said once; after that nobody listens any more, and programs are told by the kernel.
            self.hosts.clear();
            self.callback = None;
            return self.report(grant, None, Reached::TooMany);
        }
        let known = match grant.address() {
            Some(address) => Some(vec![address]),
            // Never asked of anyone: this machine is this machine.
            None if grant.is_localhost() => Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
            None => self.names.known(grant.host()),
        };
        let state = match known {
            Some(addresses) => self.dial_out(client, grant, &addresses)?,
            None => {
                self.names.ask(grant.host())?;
                State::Naming { client, grant }
            }
        };
        self.streams.push(Stream { state, moved: Instant::now() });
        Ok(())
    }

    /// A program of this machine has called the port.
    pub(super) fn let_in(&mut self, n: usize) -> io::Result<()> {
        let Some(callback) = &mut self.callback else { return Ok(()) };
        let Some(client) = callback.listeners.get(n).map(socket::accept).transpose()?.flatten() else { return Ok(()) };
        let (address, port) = (IpAddr::from(Ipv4Addr::LOCALHOST), callback.port);
        let (Some(call), Ok(grant)) = (callback.calls.pop(), HostGrant::parse(&format!("localhost:{port}"))) else {
            socket::reset(client);
            callback.listeners.clear();
            return Ok(());
        };
        let state = match socket::dial_with(call, SocketAddr::new(address, port)) {
            Ok(server) => State::Dialling(Dial { client, server, grant, address, rest: Vec::new(), way: Way::In }),
            // Nobody listens inside yet.
            Err(_) => State::Over,
        };
        self.streams.push(Stream { state, moved: Instant::now() });
        Ok(())
    }

    pub(super) fn dial_out(&mut self, client: TcpStream, grant: HostGrant, addresses: &[IpAddr]) -> io::Result<State> {
        let mut refused = None;
        let mut admitted = Vec::new();
        for address in addresses {
            match grant.admits(*address) {
                Ok(()) if self.closed_ports.contains(&grant.port()) && socket::is_of_this_machine(*address) => {
                    refused = refused.or(Some(NotThere::Silas));
                }
                Ok(()) => admitted.push(*address),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        if let (Some(why), []) = (refused, admitted.as_slice()) {
            socket::reset(client);
            self.report(grant, None, Reached::Refused(why))?;
            return Ok(State::Over);
        }
        admitted.reverse();
        self.dial_next(client, grant, admitted)
    }

    /// Tries the last of `rest`, and the ones before it if that cannot even be begun.
    pub(super) fn dial_next(
        &mut self,
        client: TcpStream,
        grant: HostGrant,
        mut rest: Vec<IpAddr>,
    ) -> io::Result<State> {
        let mut last = None;
        while let Some(address) = rest.pop() {
            if let Ok(server) = socket::dial(SocketAddr::new(address, grant.port())) {
                return Ok(State::Dialling(Dial { client, server, grant, address, rest, way: Way::Out }));
            }
            last = Some(address);
        }
        self.give_up(client, grant, last)
    }

    pub(super) fn give_up(
        &mut self,
        client: TcpStream,
        grant: HostGrant,
        address: Option<IpAddr>,
    ) -> io::Result<State> {
        socket::reset(client);
        self.report(grant, address, Reached::Unanswered)?;
        Ok(State::Over)
    }

    pub(super) fn advance(&mut self, n: usize, event: i16) -> io::Result<()> {
        let Some(stream) = self.streams.get_mut(n) else { return Ok(()) };
        let state = match std::mem::replace(&mut stream.state, State::Over) {
            State::Open(mut carried) => {
                if carried.go_on() {
                    stream.moved = Instant::now();
                }
                if carried.is_over() { State::Over } else { State::Open(carried) }
            }
            State::Dialling(dial) if event & (libc::POLLOUT | libc::POLLERR | libc::POLLHUP) != 0 => {
                stream.moved = Instant::now();
                self.connected(dial)?
            }
            other => other,
        };
        if let Some(stream) = self.streams.get_mut(n) {
            stream.state = state;
        }
        Ok(())
    }

    fn connected(&mut self, dial: Dial) -> io::Result<State> {
        let Dial { client, server, grant, address, rest, way } = dial;
        match (server.take_error(), way) {
            (Ok(None), _) => {
                let outcome = if way == Way::Out { Reached::Opened } else { Reached::Called };
                let number = self.n_reported;
                self.report(grant, Some(address), outcome)?;
                Ok(State::Held { carried: Carried::new(client, server), number })
            }
            (_, Way::In) => {
                socket::reset(client);
                Ok(State::Over)
            }
            (_, Way::Out) if rest.is_empty() => self.give_up(client, grant, Some(address)),
            (_, Way::Out) => self.dial_next(client, grant, rest),
        }
    }
}

impl State {
    pub(super) fn patience(&self) -> Duration {
        match self {
            State::Naming { .. } => names::ASK_MAX + DIAL_MAX,
            State::Dialling(_) => DIAL_MAX,
            State::Held { .. } | State::Open(_) => IDLE_MAX,
            State::Over => Duration::ZERO,
        }
    }
}
