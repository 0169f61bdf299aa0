//! The broker: a process outside a cell's network that takes the streams of its outlets, decides where each may go,
//! and carries the bytes.
//!
//! One process for one run, with one thread and one loop. It resolves a granted name once, checks every address, and
//! keeps to what it found until the run ends; so a name that changes its mind leads nowhere else. It never looks into
//! what it carries, holds no secret longer than one answer takes, cannot write a file and cannot start a program.
//! Whatever it connects or refuses it reports to the process that watches the cell.

mod carry;
mod handle;
mod names;
mod secrets;
mod socket;

use crate::confine::{self, FrontRules};
use crate::{Error, frame, syscall};
use carry::Carried;
pub(crate) use handle::Handle;
use names::Names;
pub(crate) use secrets::Answer;
use secrets::Desk;
use serde::{Deserialize, Serialize};
use silas_core::host::HostGrant;
use silas_core::outside::{Connection, Reached};
use silas_core::secret::SecretRef;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The addresses of a name. Runs in a process of its own, so it may wait.
pub type Resolver<'a> = &'a dyn Fn(&str) -> io::Result<Vec<IpAddr>>;

/// Whatever this system believes about a name.
pub fn system_resolver(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(name, 0))?;
    Ok(found.map(|address| address.ip()).collect())
}

/// Streams at once; a package manager opens a few dozen.
const STREAMS_MAX: usize = 64;
/// Streams in one run, each of which is an entry of the ledger.
const CONNECTIONS_MAX: usize = 1000;
/// A stream on which nothing moves is closed, so that forgotten ones do not use up the places of others.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// For one address to answer.
const DIAL_MAX: Duration = Duration::from_secs(15);
/// For what a program sent right before its end to get through.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// What a resolver reads. Everything else of this machine stays closed to the broker.
const READABLE: [&str; 12] = [
    "/etc",
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/connman",
    "/run/nscd",
    "/dev/urandom",
    "/var/lib/misc",
];

/// From the broker to the process that watches the cell.
#[derive(Serialize, Deserialize)]
enum Says {
    /// Everything is confined and listens.
    Ready,
    Connected(Connection),
    Wanted(SecretRef),
}

/// What a broker has to work with.
pub(crate) struct Setup {
    pub(crate) hosts: Vec<(HostGrant, TcpListener)>,
    pub(crate) secrets: Option<(UnixListener, Vec<SecretRef>)>,
    pub(crate) callback: Option<Callback>,
}

/// A port of this machine whose callers are led into the cell.
pub(crate) struct Callback {
    pub(crate) port: u16,
    pub(crate) listeners: Vec<TcpListener>,
    /// Sockets of the cell's network, one for each call.
    pub(crate) calls: Vec<OwnedFd>,
}

struct Broker<'a> {
    watcher: UnixStream,
    hosts: Vec<(HostGrant, TcpListener)>,
    callback: Option<Callback>,
    desk: Option<Desk>,
    names: Names<'a>,
    streams: Vec<Stream>,
    n_made: usize,
    /// Set when the program is over.
    drains_until: Option<Instant>,
}

struct Stream {
    state: State,
    /// When something last moved.
    moved: Instant,
}

enum State {
    /// Waits for the name's addresses.
    Naming {
        client: TcpStream,
        grant: HostGrant,
    },
    Dialling(Dial),
    Open(Carried),
    Over,
}

struct Dial {
    client: TcpStream,
    server: TcpStream,
    grant: HostGrant,
    /// Where `server` is going.
    address: IpAddr,
    /// To be tried if it does not get there.
    rest: Vec<IpAddr>,
    way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    /// From this machine into the cell.
    In,
}

/// The broker's whole life.
fn live(setup: Setup, watcher: UnixStream, resolver: Resolver<'_>) -> Result<(), Error> {
    syscall::name_process(c"silas-broker");
    let readable = READABLE.map(PathBuf::from);
    let rules = FrontRules { writable: &[], readable: &readable };
    confine::confine_front(&rules).map_err(|e| Error::Isolation { code: e.code().to_owned(), cause: e.to_string() })?;
    let failed = |e: io::Error| Error::io("Carrying a connection of a sandbox", &e);
    let callers = setup.callback.iter().flat_map(|callback| &callback.listeners);
    for listener in setup.hosts.iter().map(|(_, listener)| listener).chain(callers) {
        listener.set_nonblocking(true).map_err(failed)?;
    }
    let mut broker = Broker {
        watcher,
        hosts: setup.hosts,
        callback: setup.callback,
        desk: setup.secrets.map(|(listener, allowed)| Desk::new(listener, allowed)).transpose().map_err(failed)?,
        names: Names::new(resolver),
        streams: Vec::new(),
        n_made: 0,
        drains_until: None,
    };
    broker.say(&Says::Ready)?;
    while broker.turn().map_err(failed)? {}
    Ok(())
}

/// What a descriptor that is waited for belongs to.
#[derive(Clone, Copy)]
enum Source {
    Watcher,
    Host(usize),
    Caller(usize),
    Desk(usize),
    Name(usize),
    Stream(usize),
}

impl Broker<'_> {
    /// Waits for something, and does what it asks for. Whether there is more to do.
    fn turn(&mut self) -> io::Result<bool> {
        let (sources, events) = {
            let waits = self.waits();
            let fds: Vec<(BorrowedFd<'_>, i16)> = waits.iter().map(|(_, fd, events)| (*fd, *events)).collect();
            let events = syscall::poll(&fds, self.patience())?;
            (waits.iter().map(|(source, ..)| *source).collect::<Vec<_>>(), events)
        };
        for (source, event) in sources.into_iter().zip(events) {
            if event != 0 {
                self.attend(source, event)?;
            }
        }
        self.settle()?;
        Ok(self.drains_until.is_none_or(|until| !self.streams.is_empty() && Instant::now() < until))
    }

    fn waits(&self) -> Vec<(Source, BorrowedFd<'_>, i16)> {
        let mut waits = Vec::new();
        if self.drains_until.is_none() {
            waits.push((Source::Watcher, self.watcher.as_fd(), libc::POLLIN));
            // Without a free place nobody is let in; they wait where the kernel keeps them.
            if self.streams.len() < STREAMS_MAX {
                let hosts = self.hosts.iter().enumerate();
                waits.extend(hosts.map(|(n, (_, listener))| (Source::Host(n), listener.as_fd(), libc::POLLIN)));
                let callers = self.callback.iter().flat_map(|callback| &callback.listeners).enumerate();
                waits.extend(callers.map(|(n, listener)| (Source::Caller(n), listener.as_fd(), libc::POLLIN)));
            }
            let desk = self.desk.iter().flat_map(Desk::waits).enumerate();
            waits.extend(desk.map(|(n, fd)| (Source::Desk(n), fd, libc::POLLIN)));
        }
        waits.extend(self.names.waits().enumerate().map(|(n, fd)| (Source::Name(n), fd, libc::POLLIN)));
        for (n, stream) in self.streams.iter().enumerate() {
            match &stream.state {
                State::Naming { .. } | State::Over => {}
                State::Dialling(dial) => waits.push((Source::Stream(n), dial.server.as_fd(), libc::POLLOUT)),
                State::Open(carried) => {
                    waits.extend(carried.waits().into_iter().map(|(fd, events)| (Source::Stream(n), fd, events)));
                }
            }
        }
        waits
    }

    /// Until the next stream has waited long enough.
    fn patience(&self) -> Option<Duration> {
        let ends = self.streams.iter().map(|stream| stream.moved + stream.state.patience());
        let next = ends.chain(self.drains_until).min()?;
        // A little more, so that the time is really over when poll returns.
        Some(next.saturating_duration_since(Instant::now()) + Duration::from_millis(1))
    }

    fn attend(&mut self, source: Source, event: i16) -> io::Result<()> {
        match source {
            Source::Watcher => self.hear(),
            Source::Host(n) => self.let_out(n),
            Source::Caller(n) => self.let_in(n),
            Source::Desk(n) => {
                let wanted = self.desk.as_mut().and_then(|desk| desk.attend(n));
                wanted.map_or(Ok(()), |reference| self.say(&Says::Wanted(reference)).map_err(io::Error::other))
            }
            Source::Name(n) => {
                self.names.read(n);
                Ok(())
            }
            Source::Stream(n) => self.advance(n, event),
        }
    }

    /// The watcher has an answer for the desk, or the program is over.
    fn hear(&mut self) -> io::Result<()> {
        match frame::receive::<Answer>(&mut self.watcher) {
            Ok(Some(answer)) => {
                if let Some(desk) = &mut self.desk {
                    desk.answer(answer);
                }
            }
            Ok(None) | Err(_) => {
                self.drains_until = Some(Instant::now() + DRAIN_MAX);
                self.desk = None;
                let now = Instant::now();
                for stream in &mut self.streams {
                    match &mut stream.state {
                        State::Open(carried) => carried.only_outward(),
                        // What was not connected yet has nobody left to wait for it.
                        State::Naming { .. } | State::Dialling(_) | State::Over => stream.state = State::Over,
                    }
                    stream.moved = now;
                }
            }
        }
        Ok(())
    }

    /// A program in the cell has connected to an outlet.
    fn let_out(&mut self, n: usize) -> io::Result<()> {
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
    fn let_in(&mut self, n: usize) -> io::Result<()> {
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

    fn dial_out(&mut self, client: TcpStream, grant: HostGrant, addresses: &[IpAddr]) -> io::Result<State> {
        let mut refused = None;
        let mut admitted = Vec::new();
        for address in addresses {
            match grant.admits(*address) {
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
    fn dial_next(&mut self, client: TcpStream, grant: HostGrant, mut rest: Vec<IpAddr>) -> io::Result<State> {
        let mut last = None;
        while let Some(address) = rest.pop() {
            if let Ok(server) = socket::dial(SocketAddr::new(address, grant.port())) {
                return Ok(State::Dialling(Dial { client, server, grant, address, rest, way: Way::Out }));
            }
            last = Some(address);
        }
        self.give_up(client, grant, last)
    }

    fn give_up(&mut self, client: TcpStream, grant: HostGrant, address: Option<IpAddr>) -> io::Result<State> {
        socket::reset(client);
        self.report(grant, address, Reached::Unanswered)?;
        Ok(State::Over)
    }

    fn advance(&mut self, n: usize, event: i16) -> io::Result<()> {
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
                self.report(grant, Some(address), outcome)?;
                Ok(State::Open(Carried::new(client, server)))
            }
            (_, Way::In) => {
                socket::reset(client);
                Ok(State::Over)
            }
            (_, Way::Out) if rest.is_empty() => self.give_up(client, grant, Some(address)),
            (_, Way::Out) => self.dial_next(client, grant, rest),
        }
    }

    /// Names that are known by now, and streams that have waited too long.
    fn settle(&mut self) -> io::Result<()> {
        for name in self.names.answered() {
            let addresses = self.names.known(&name);
            for n in 0..self.streams.len() {
                let is_meant = matches!(&self.streams[n].state, State::Naming { grant, .. } if grant.host() == name);
                if !is_meant {
                    continue;
                }
                let State::Naming { client, grant } = std::mem::replace(&mut self.streams[n].state, State::Over) else {
                    continue;
                };
                let state = match &addresses {
                    Some(addresses) => self.dial_out(client, grant, addresses)?,
                    None => {
                        socket::reset(client);
                        self.report(grant, None, Reached::Unresolved)?;
                        State::Over
                    }
                };
                self.streams[n] = Stream { state, moved: Instant::now() };
            }
        }
        let now = Instant::now();
        for n in 0..self.streams.len() {
            if self.streams[n].moved + self.streams[n].state.patience() > now {
                continue;
            }
            let late = std::mem::replace(&mut self.streams[n].state, State::Over);
            let state = match late {
                State::Dialling(dial) if dial.way == Way::Out && !dial.rest.is_empty() => {
                    self.dial_next(dial.client, dial.grant, dial.rest)?
                }
                State::Dialling(dial) if dial.way == Way::Out => {
                    self.give_up(dial.client, dial.grant, Some(dial.address))?
                }
                State::Naming { .. } | State::Dialling(_) | State::Open(_) | State::Over => State::Over,
            };
            self.streams[n] = Stream { state, moved: now };
        }
        self.streams.retain(|stream| !matches!(stream.state, State::Over));
        Ok(())
    }

    fn report(&mut self, to: HostGrant, address: Option<IpAddr>, outcome: Reached) -> io::Result<()> {
        self.say(&Says::Connected(Connection { to, address, outcome })).map_err(io::Error::other)
    }

    fn say(&mut self, what: &Says) -> Result<(), Error> {
        frame::send(&mut self.watcher, what)
    }
}

impl State {
    fn patience(&self) -> Duration {
        match self {
            State::Naming { .. } => names::ASK_MAX + DIAL_MAX,
            State::Dialling(_) => DIAL_MAX,
            State::Open(_) => IDLE_MAX,
            State::Over => Duration::ZERO,
        }
    }
}
