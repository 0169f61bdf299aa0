//! The system calls about the cell's own network.

use super::{above_standard, checked, owned};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};

/// The loopback device is the first in every network namespace.
const LOOPBACK_INDEX: u32 = 1;
/// No one else is asked whether the address is taken (`IFA_F_NODAD`).
const ADDRESS_AT_ONCE: u8 = 0x02;

/// Brings up `lo` of this network namespace, so that programs can talk to servers of their own. It leads nowhere else.
pub(in crate::cell) fn raise_loopback() -> io::Result<()> {
    // SAFETY: only numbers are passed.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }.into())?;
    // SAFETY: `ifreq` is plain data for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: `request` is alive and is what this request reads.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) }.into())?;
    Ok(())
}

/// Gives `lo` one address more, and nothing around it.
pub(in crate::cell) fn add_loopback_address(address: IpAddr) -> io::Result<()> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: only numbers are passed.
    let socket = owned(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) }.into())?;
    let request = address_request(address);
    // SAFETY: pointer and length describe `request`.
    checked(unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) } as libc::c_long)?;
    let mut answer = [0_u8; 512];
    // SAFETY: pointer and length describe `answer`.
    let n = checked(
        unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) } as libc::c_long
    )?;
    // A header of 16 bytes, then the number of an error, negative, or 0.
    match answer.get(16..20).filter(|_| n >= 20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

/// `RTM_NEWADDR` as <linux/rtnetlink.h> lays it out: header, address message, one attribute.
fn address_request(address: IpAddr) -> Vec<u8> {
    let (family, bytes) = match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    };
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
    let attribute = 4 + bytes.len();
    let mut request = Vec::with_capacity(24 + attribute);
    request.extend(((24 + attribute) as u32).to_ne_bytes());
    request.extend(libc::RTM_NEWADDR.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend([0; 8]); // sequence, sender
    request.extend([family, (bytes.len() * 8) as u8, ADDRESS_AT_ONCE, libc::RT_SCOPE_HOST]);
    request.extend(LOOPBACK_INDEX.to_ne_bytes());
    request.extend((attribute as u16).to_ne_bytes());
    request.extend(libc::IFA_LOCAL.to_ne_bytes());
    request.extend(bytes);
    request
}

/// A socket of this network namespace that is handed a copy of every TCP packet for an address of its own.
pub(in crate::cell) fn packets_for(address: Ipv4Addr) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: only numbers are passed.
    let socket = above_standard(owned(unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_TCP) }.into())?)?;
    // SAFETY: `sockaddr_in` is plain data for which all zeros is a value.
    let mut place: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    place.sin_family = libc::AF_INET as libc::sa_family_t;
    place.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: pointer and length describe `place`.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const place).cast(), length) }.into())?;
    Ok(socket)
}

/// A TCP socket of this network namespace, not connected yet.
pub(in crate::cell) fn tcp_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: only numbers are passed.
    above_standard(owned(unsafe { libc::socket(libc::AF_INET, kind, 0) }.into())?)
}
