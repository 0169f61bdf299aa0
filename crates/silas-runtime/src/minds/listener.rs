//! Who answers at the address of a model on this machine, as far as the kernel says: whose program listens there when the card
//! is made. What that program does with what it is sent, nobody can see from here.
//!
//! Deliberately absent: a guess. Where nobody listens yet, or the kernel does not say who does, that is the answer, and no
//! card offers such a model as private.

use silas_core::model::{Listener, ModelName};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;

/// Asks the kernel which users listen at an address; nothing where it does not say.
pub type ListensAt = fn(SocketAddr) -> Option<Vec<u32>>;

/// Nothing for a model elsewhere, and where it cannot be told: the kernel does not say, or this process does not even know
/// its own user.
pub(crate) fn of(model: &ModelName, listens_at: ListensAt) -> Option<Listener> {
    let ours = std::fs::metadata("/proc/self").ok()?.uid();
    let users: Vec<u32> = addresses(model)?.into_iter().map(listens_at).collect::<Option<Vec<_>>>()?.concat();
    Some(match users.iter().find(|uid| **uid != ours) {
        Some(other) => Listener::Another(name_of(*other)),
        None if users.is_empty() => Listener::Nobody,
        None => Listener::Yours,
    })
}

/// Where a question to it would go; `localhost` is both.
fn addresses(model: &ModelName) -> Option<Vec<SocketAddr>> {
    if !model.is_local() {
        return None;
    }
    let usual = if model.url().starts_with("https:") { 443 } else { 80 };
    let host = model.host();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()?),
        _ => (host, usual),
    };
    let both = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let ips = name.trim_matches(['[', ']']).parse().map_or(both, |ip| vec![ip]);
    Some(ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}

/// As the machine calls the user; a number where it has no name for one.
fn name_of(uid: u32) -> String {
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = known.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("number {uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(model: &str, listens_at: ListensAt) -> Option<Listener> {
        of(&ModelName::parse(model).unwrap(), listens_at)
    }

    #[test]
    fn whose_program_listens_is_said_and_nothing_is_guessed() {
        assert_eq!(listener("ollama:qwen3", |_| Some(Vec::new())), Some(Listener::Nobody));
        assert_eq!(
            listener("compatible:m@http://127.0.0.1:9/v1", |_| Some(vec![4_000_000])),
            Some(Listener::Another("number 4000000".to_owned()))
        );
        let ours: ListensAt = |_| Some(vec![std::fs::metadata("/proc/self").unwrap().uid()]);
        assert_eq!(listener("compatible:m@http://[::1]:9/v1", ours), Some(Listener::Yours));
        // One of two addresses is enough for somebody else to answer.
        let other: ListensAt = |at| Some(if at.is_ipv6() { vec![4_000_000] } else { Vec::new() });
        assert!(matches!(listener("compatible:m@http://localhost:9/v1", other), Some(Listener::Another(_))));
        // What the kernel says of one address tells nothing about the other.
        let half: ListensAt = |at| at.is_ipv4().then(|| vec![std::fs::metadata("/proc/self").unwrap().uid()]);
        assert_eq!(listener("compatible:m@http://localhost:9/v1", half), None);
        assert_eq!(listener("anthropic:claude-haiku-4-5", |_| Some(vec![0])), None);
    }
}
