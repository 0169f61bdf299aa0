//! The few calls on sockets that the standard library does not have.

#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The next caller, if one is still there.
pub(super) fn accept(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(true)?;
            Ok(Some(stream))
        }
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        // Gone again, or one descriptor too many just now; neither is a reason to leave the others alone.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ECONNABORTED | libc::EMFILE | libc::ENFILE | libc::EPROTO)) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Begins to connect, in the network of this process.
pub(super) fn dial(to: SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: only numbers are passed.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor and nobody else owns it.
    dial_with(unsafe { OwnedFd::from_raw_fd(fd) }, to)
}

/// Begins to connect, in the network in which the socket was made.
pub(super) fn dial_with(socket: OwnedFd, to: SocketAddr) -> io::Result<TcpStream> {
    let fd = socket.as_raw_fd();
    let done = match to {
        SocketAddr::V4(to) => {
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: to.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: pointer and size describe `address`, which outlives the call.
            unsafe { libc::connect(fd, (&raw const address).cast(), size_of::<libc::sockaddr_in>() as u32) }
        }
        SocketAddr::V6(to) => {
            let address = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: to.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: to.ip().octets() },
                sin6_scope_id: 0,
            };
            // SAFETY: pointer and size describe `address`, which outlives the call.
            unsafe { libc::connect(fd, (&raw const address).cast(), size_of::<libc::sockaddr_in6>() as u32) }
        }
    };
    let error = io::Error::last_os_error();
    if done == 0 || matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR)) {
        Ok(TcpStream::from(socket))
    } else {
        Err(error)
    }
}

/// Closes so that the other side learns of an error, not of an end.
pub(super) fn reset(stream: TcpStream) {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: pointer and size describe `at_once`. If it fails the stream is closed the usual way.
    unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, (&raw const at_once).cast(), size)
    };
}

/// A peer that is gone is an error to be dealt with, whatever the process that we are forked from thinks of it.
pub(super) fn survive_broken_pipes() {
    // SAFETY: only numbers are passed. Nothing is executed from here, so nobody inherits it.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Ends this process if it takes longer.
pub(super) fn end_after(secs: u32) {
    // SAFETY: only a number is passed; the signal's default is to end the process.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(secs)
    };
}

/// Whether somebody who connects to it stays on this machine: only its own addresses can be bound.
pub(super) fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}
