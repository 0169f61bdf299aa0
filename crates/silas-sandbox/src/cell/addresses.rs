//! Addresses that a command names in its own text: whether it tried to reach one, and at which port.
//!
//! A cell has no way to any of them, so a try ends where it begins and nobody hears of it. Each one that stands in the command
//! is therefore put on the cell's own loopback, where nobody listens, with a socket that is handed every packet meant for it.
//! The child makes these sockets; the process that watches the cell looks at them when everything is over. Deliberately absent:
//! any answer, and addresses that stand elsewhere, in a file or in a program. Those are refused unseen.

use super::sys;
use silas_core::host::HostGrant;
use silas_core::wanted;
use std::fs::File;
use std::io::Read;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

/// Packets that are looked at for one address: the first is the one that matters.
const PACKETS_MAX: usize = 1024;
/// More than the headers of any packet.
const HEADERS_BYTES_MAX: usize = 120;
const TCP: u8 = 6;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Those of the command's addresses that can be tried in vain.
pub(super) fn of(argv: &[String], hosts: &[HostGrant]) -> Vec<Ipv4Addr> {
    let granted = |address: &Ipv4Addr| hosts.iter().any(|host| host.address() == Some((*address).into()));
    let mut named = wanted::addresses_in(&argv.join("\n"));
    named.retain(|address| !granted(address));
    named
}

/// In the child, while it may. Not being able to look allows nothing, so it is no failure.
pub(super) fn open(address: Ipv4Addr) -> Option<OwnedFd> {
    sys::add_loopback_address(address.into()).ok()?;
    sys::packets_for(address).ok()
}

/// What was tried, as it could be granted. Nobody is left who could try more.
pub(super) fn tried(sockets: Vec<OwnedFd>) -> Vec<String> {
    let mut tried = Vec::new();
    for mut socket in sockets.into_iter().map(File::from) {
        let mut packet = [0; HEADERS_BYTES_MAX];
        for _ in 0..PACKETS_MAX {
            let Ok(n) = socket.read(&mut packet) else { break };
            if let Some(host) = asked_for(&packet[..n]).filter(|host| !tried.contains(host)) {
                tried.push(host);
            }
        }
    }
    tried
}

/// Where a packet wants to open a connection, if that is what it does.
fn asked_for(packet: &[u8]) -> Option<String> {
    let header_bytes = usize::from(packet.first()? & 0x0f) * 4;
    let (header, segment) = packet.split_at_checked(header_bytes)?;
    let to: [u8; 4] = header.get(16..20)?.try_into().ok()?;
    let (port, flags) = (u16::from_be_bytes([*segment.get(2)?, *segment.get(3)?]), segment.get(13)?);
    let opens = *header.get(9)? == TCP && flags & (SYN | ACK) == SYN;
    let host = HostGrant::parse(&format!("{}:{port}", Ipv4Addr::from(to))).ok()?;
    opens.then(|| host.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(proto: u8, port: u16, flags: u8) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[9]) = (0x45, proto);
        packet[16..20].copy_from_slice(&[93, 184, 216, 34]);
        packet[22..24].copy_from_slice(&port.to_be_bytes());
        packet[33] = flags;
        packet
    }

    #[test]
    fn only_the_beginning_of_a_connection_asks_for_something() {
        assert_eq!(asked_for(&packet(TCP, 8080, SYN)).as_deref(), Some("93.184.216.34:8080"));
        assert_eq!(asked_for(&packet(TCP, 8080, SYN | ACK)), None);
        assert_eq!(asked_for(&packet(TCP, 8080, ACK)), None);
        assert_eq!(asked_for(&packet(17, 8080, SYN)), None);
        assert_eq!(asked_for(&packet(TCP, 0, SYN)), None);
        for n in 0..34 {
            assert_eq!(asked_for(&packet(TCP, 8080, SYN)[..n]), None);
        }
        let mut odd = packet(TCP, 8080, SYN);
        odd[0] = 0x4f;
        assert_eq!(asked_for(&odd), None);
    }

    #[test]
    fn what_was_granted_is_left_alone() {
        let argv = ["curl", "http://93.184.216.34:8080/", "10.0.0.5"].map(str::to_owned);
        let granted = [HostGrant::parse("10.0.0.5:443").unwrap()];
        assert_eq!(of(&argv, &granted), [Ipv4Addr::new(93, 184, 216, 34)]);
    }
}
