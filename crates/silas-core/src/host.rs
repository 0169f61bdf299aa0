//! A host and a port that a sandbox may reach, and which addresses that name may stand for.
//!
//! Pure: nothing here asks a name server. One grant has one spelling, so that comparing texts means comparing grants.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts that one plan may name; each is a line that a person reads.
pub const HOSTS_MAX: usize = 32;

/// A name, or an address that was named literally, with one port. Written `example.org:443` or `[2001:db8::1]:443`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct HostGrant {
    host: String,
    port: u16,
}

/// Why a text is not a host with a port.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{given}` cannot be granted: {problem}")]
pub struct BadHost {
    given: String,
    problem: &'static str,
}

/// Why a connection may not go to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotThere {
    #[error("the name stands for an address of this machine, of a local network or of no single public host")]
    NotPublic,
    #[error("the name stands for an address outside this machine")]
    NotThisMachine,
    #[error("it is not the address that was granted")]
    OtherAddress,
    #[error("Silas itself answers there")]
    Silas,
}

impl HostGrant {
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        let bad = |problem| BadHost { given: text.chars().filter(|c| !c.is_control()).take(80).collect(), problem };
        if text.contains("://") || text.contains('/') || text.contains('@') {
            return Err(bad("write only the host and the port, such as example.org:443"));
        }
        if text.contains('*') {
            return Err(bad("hosts are named one by one, without `*`"));
        }
        let no_port = "a port is needed, such as example.org:443";
        let (host, port) = text.rsplit_once(':').ok_or_else(|| bad(no_port))?;
        let plain = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) && !port.starts_with('0');
        let port = if plain { port.parse::<u16>().ok() } else { None };
        let port = port.ok_or_else(|| bad("the port must be a number from 1 to 65535"))?;
        let host = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(inner) => address_6(inner.unwrap_or_default()).map_err(bad)?,
            None if host.contains(':') => return Err(bad("an IPv6 address is written in brackets: [2001:db8::1]:443")),
            None => name_or_address_4(host).map_err(bad)?,
        };
        Ok(HostGrant { host, port })
    }

    /// A name in lower case, or an address; an IPv6 address has no brackets here.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, if one was named literally.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// `localhost` and the names below it stand for this machine wherever one asks.
    pub fn is_localhost(&self) -> bool {
        self.host == "localhost" || self.host.ends_with(".localhost")
    }

    /// Whether it is known from the grant alone to lead to this machine.
    pub fn is_this_machine(&self) -> bool {
        self.is_localhost() || self.address().is_some_and(|address| address.is_loopback())
    }

    /// What the grant reaches that is not a public host, in words for a card.
    pub fn inside(&self) -> Option<&'static str> {
        match self.address() {
            None if self.is_localhost() => Some("this machine"),
            Some(address) if address.is_loopback() => Some("this machine"),
            Some(address) if !is_public(address) => Some("a private network"),
            Some(_) | None => None,
        }
    }

    /// Whether a connection that this grant allows may go to `address`. A name stands for public addresses only: what
    /// is private must have been named literally, because whoever owns a name decides where it leads.
    pub fn admits(&self, address: IpAddr) -> Result<(), NotThere> {
        let address = address.to_canonical();
        let (holds, why) = match self.address() {
            Some(named) => (named == address, NotThere::OtherAddress),
            None if self.is_localhost() => (address.is_loopback(), NotThere::NotThisMachine),
            None => (is_public(address), NotThere::NotPublic),
        };
        if holds { Ok(()) } else { Err(why) }
    }
}

/// The one spelling of a name that could be granted, if the text is one. Addresses are no names.
pub fn name(text: &str) -> Option<String> {
    let name = name_or_address_4(text).ok()?;
    name.parse::<Ipv4Addr>().is_err().then_some(name)
}

fn address_6(text: &str) -> Result<String, &'static str> {
    let address: Ipv6Addr =
        text.parse().map_err(|_| "this is not an IPv6 address; names and IPv4 addresses have no brackets")?;
    if embedded(address).is_some() {
        return Err("write the IPv4 address itself, such as 192.0.2.1:443");
    }
    if address.is_unspecified() || address.is_multicast() {
        return Err("this address is no single host");
    }
    Ok(address.to_string())
}

fn name_or_address_4(text: &str) -> Result<String, &'static str> {
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        let no_host = address.is_unspecified() || address.is_multicast() || address.is_broadcast();
        return if no_host { Err("this address is no single host") } else { Ok(address.to_string()) };
    }
    if !text.is_ascii() {
        return Err("write the name in its ASCII form, which begins with xn--");
    }
    let name = text.to_ascii_lowercase();
    let is_label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    // Most programs read `127.1`, `0x7f000001` and `2130706433` as addresses; a name never ends in a number.
    let last = name.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    if !last.is_empty() && (last.bytes().all(|b| b.is_ascii_digit()) || hexadecimal) {
        return Err("an address is written as four plain numbers, such as 192.0.2.1:443");
    }
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err("a name has letters, digits and `-`, with dots between its parts and none at the end");
    }
    Ok(name)
}

/// The IPv4 address that an IPv6 address carries along, in the ways that lead a packet there: mapped, compatible,
/// translated (NAT64) and tunnelled (6to4, Teredo).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match s {
        [0, 0, 0, 0, 0, 0xffff, a, b] | [0, 0, 0, 0, 0xffff, 0, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => {
            Some(join(a, b))
        }
        [0, 0, 0, 0, 0, 0, a, b] if a != 0 => Some(join(a, b)),
        [0x2002, a, b, ..] => Some(join(a, b)),
        [0x2001, 0, _, _, _, _, a, b] => Some(join(!a, !b)),
        _ => None,
    }
}

/// Whether an address is a public host's: nothing of this machine, of a local network, of a cloud's own services, or
/// of a range that is set aside.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let set_aside = matches!(
                (a, b, c),
                (0 | 10 | 127 | 224..=255, _, _)
                    | (100, 64..=127, _)
                    | (169, 254, _)
                    | (172, 16..=31, _)
                    | (192, 0, 0 | 2)
                    | (192, 88, 99)
                    | (192, 168, _)
                    | (198, 18..=19, _)
                    | (198, 51, 100)
                    | (203, 0, 113)
            );
            // Azure answers questions about a machine here, though the address looks public.
            !set_aside && address != Ipv4Addr::new(168, 63, 129, 16)
        }
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            let second = address.segments()[1];
            // What is routed in public begins with 001; parts of that are documentation, benchmarks and identifiers.
            let global = first & 0xe000 == 0x2000;
            let set_aside = (first == 0x2001 && (second < 0x200 || second == 0xdb8)) || first & 0xfff0 == 0x3ff0;
            global && !set_aside && embedded(address).is_none()
        }
    }
}

impl fmt::Display for HostGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl From<HostGrant> for String {
    fn from(grant: HostGrant) -> String {
        grant.to_string()
    }
}

/// On the wire there is one spelling; another is refused instead of being put right, because it was hashed as it is.
impl TryFrom<String> for HostGrant {
    type Error = BadHost;
    fn try_from(text: String) -> Result<Self, BadHost> {
        let grant = HostGrant::parse(&text)?;
        if grant.to_string() == text {
            Ok(grant)
        } else {
            Err(BadHost { given: text, problem: "this is not its usual spelling" })
        }
    }
}

#[cfg(test)]
mod tests;
