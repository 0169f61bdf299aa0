//! Hands one descriptor to another process over a Unix socket, beside a single byte.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Room for one descriptor with its header; aligned as the kernel wants it.
#[repr(align(8))]
struct Control([u8; 64]);

/// The byte that carries the descriptor.
const CARRIER: u8 = b'F';

pub(crate) fn send(socket: &UnixStream, fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [CARRIER];
    let mut control = Control([0; 64]);
    let size = u32::try_from(size_of::<i32>()).map_err(io::Error::other)?;
    // SAFETY: `message` points at live buffers; CMSG_SPACE of one descriptor is less than 64 bytes, so the header and
    // the descriptor written through CMSG_FIRSTHDR and CMSG_DATA lie inside `control`.
    let sent = unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(fd.as_raw_fd());
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut control = Control([0; 64]);
    // SAFETY: `message` points at live buffers with their true sizes; the header is read only if the kernel filled one,
    // and a descriptor that it announces was made for us by this very call.
    unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let got = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if got != 1 || byte[0] != CARRIER || header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().read_unaligned()))
    }
}
