//! The broker: a process outside a cell's network that takes the streams of its outlets, decides where each may go,
//! and carries the bytes.
//!
//! One process for one run, with one thread and one loop. It resolves a granted name once, checks every address, and
//! keeps to what it found until the run ends; so a name that changes its mind leads nowhere else. It never looks into
//! what it carries, holds no secret longer than one answer takes, cannot write a file and cannot start a program.
//! Whatever it connects or refuses it reports to the process that watches the cell, and no byte goes over a connection before
//! that process has said that it is written down: whoever finds nothing in the ledger knows that nothing was sent.

mod carry;
mod handle;
mod names;
mod secrets;
mod socket;
mod ways;

use crate::confine::{self, FrontRules};
use crate::{Error, frame, syscall};
pub(crate) use handle::Handle;
use names::Names;
pub(crate) use secrets::Answer;
use secrets::Desk;
use serde::{Deserialize, Serialize};
use silas_core::host::HostGrant;
use silas_core::outside::{Connection, Reached};
use silas_core::secret::SecretRef;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use ways::{State, Stream, Way};

/// The addresses of a name. Runs in a process of its own, so it may wait.
pub type Resolver<'a> = &'a dyn Fn(&str) -> io::Result<Vec<IpAddr>>;

/// Whatever this system believes about a name.
pub fn system_resolver(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(name, 0))?;
    Ok(found.map(|address| address.ip()).collect())
}

/// Streams at once; a package manager opens a few dozen.
const STREAMS_MAX: usize = 64;
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

/// From the process that watches the cell to its broker.
#[derive(Serialize, Deserialize)]
enum Hears {
    /// The oldest report that has not been answered yet is written down.
    Written,
    /// The answer to the oldest question of the desk.
    Secret(Answer),
    /// The program is over: nothing new is begun, and what it sent gets through.
    Over,
}

/// What a broker has to work with.
pub(crate) struct Setup {
    pub(crate) hosts: Vec<(HostGrant, TcpListener)>,
    pub(crate) secrets: Option<(UnixListener, Vec<SecretRef>)>,
    pub(crate) callback: Option<Callback>,
    /// Ports of this machine at which Silas answers.
    pub(crate) closed_ports: Vec<u16>,
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
    closed_ports: Vec<u16>,
    desk: Option<Desk>,
    names: Names<'a>,
    streams: Vec<Stream>,
    n_made: usize,
    /// Reports so far, and how many of them are written down.
    n_reported: u64,
    n_written: u64,
    /// The watcher is gone; nobody can write anything down any more.
    is_alone: bool,
    /// Set when the program is over.
    drains_until: Option<Instant>,
}

/// The broker's whole life.
fn live(setup: Setup, watcher: UnixStream, resolver: Resolver<'_>) -> Result<(), Error> {
    syscall::name_process(c"silas-broker");
    socket::survive_broken_pipes();
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
        closed_ports: setup.closed_ports,
        desk: setup.secrets.map(|(listener, allowed)| Desk::new(listener, allowed)).transpose().map_err(failed)?,
        names: Names::new(resolver),
        streams: Vec::new(),
        n_made: 0,
        n_reported: 0,
        n_written: 0,
        is_alone: false,
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
        let has_time = |until: Instant| self.has_held() || Instant::now() < until;
        Ok(self.drains_until.is_none_or(|until| !self.streams.is_empty() && has_time(until)))
    }

    fn waits(&self) -> Vec<(Source, BorrowedFd<'_>, i16)> {
        let mut waits = Vec::new();
        if !self.is_alone {
            waits.push((Source::Watcher, self.watcher.as_fd(), libc::POLLIN));
        }
        if self.drains_until.is_none() {
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
                State::Naming { .. } | State::Held { .. } | State::Over => {}
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
        let next = ends.chain(self.drains_until.filter(|_| !self.has_held())).min()?;
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

    /// Something is written down, the watcher has an answer for the desk, or the program is over.
    fn hear(&mut self) -> io::Result<()> {
        match frame::receive::<Hears>(&mut self.watcher) {
            Ok(Some(Hears::Written)) => self.let_go(),
            Ok(Some(Hears::Secret(answer))) => {
                if let Some(desk) = &mut self.desk {
                    desk.answer(answer);
                }
            }
            Ok(Some(Hears::Over)) => self.drain(),
            Ok(None) | Err(_) => {
                self.is_alone = true;
                self.drain();
                for stream in self.streams.iter_mut().filter(|stream| matches!(stream.state, State::Held { .. })) {
                    stream.state = State::Over;
                }
            }
        }
        Ok(())
    }

    /// Bytes go over what is written down by now.
    fn let_go(&mut self) {
        self.n_written += 1;
        let now = Instant::now();
        for stream in &mut self.streams {
            stream.state = match std::mem::replace(&mut stream.state, State::Over) {
                State::Held { carried, number } if number < self.n_written => {
                    stream.moved = now;
                    State::Open(carried)
                }
                other => other,
            };
        }
        if self.drains_until.is_some() {
            self.drains_until = Some(now + DRAIN_MAX);
        }
    }

    fn drain(&mut self) {
        let now = Instant::now();
        self.drains_until = Some(now + DRAIN_MAX);
        self.desk = None;
        for stream in &mut self.streams {
            match &mut stream.state {
                State::Open(carried) | State::Held { carried, .. } => carried.only_outward(),
                // What was not connected yet has nobody left to wait for it.
                State::Naming { .. } | State::Dialling(_) | State::Over => stream.state = State::Over,
            }
            stream.moved = now;
        }
    }

    fn has_held(&self) -> bool {
        self.streams.iter().any(|stream| matches!(stream.state, State::Held { .. }))
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
                State::Naming { .. } | State::Dialling(_) | State::Held { .. } | State::Open(_) | State::Over => {
                    State::Over
                }
            };
            self.streams[n] = Stream { state, moved: now };
        }
        self.streams.retain(|stream| !matches!(stream.state, State::Over));
        Ok(())
    }

    fn report(&mut self, to: HostGrant, address: Option<IpAddr>, outcome: Reached) -> io::Result<()> {
        self.n_reported += 1;
        self.say(&Says::Connected(Connection { to, address, outcome })).map_err(io::Error::other)
    }

    fn say(&mut self, what: &Says) -> Result<(), Error> {
        frame::send(&mut self.watcher, what)
    }
}
