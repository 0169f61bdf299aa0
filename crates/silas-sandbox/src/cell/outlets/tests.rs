//! Where each grant is found inside a cell.

use super::*;
use crate::cell::Limits;

fn outlets(hosts: &[&str]) -> Outlets {
    Outlets::of(&CellSpec {
        argv: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
        mounts: Vec::new(),
        hosts: hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect(),
        secrets: Vec::new(),
        callback_port: None,
        watched: Vec::new(),
        signals: false,
        limits: Limits::default(),
    })
}

fn check(hosts: &[&str], listens: &[(&str, &str)], names: &str) {
    let outlets = outlets(hosts);
    let found: Vec<(String, String)> =
        outlets.listeners.iter().map(|l| (l.at.to_string(), l.grant.to_string())).collect();
    let expected: Vec<(String, String)> = listens.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(found, expected);
    assert_eq!(outlets.hosts_lines(), names);
}

#[test]
fn every_name_has_an_address_of_its_own() {
    check(
        &["a.example:443", "b.example:443", "a.example:80"],
        &[("127.77.0.1:443", "a.example:443"), ("127.77.0.2:443", "b.example:443"), ("127.77.0.1:80", "a.example:80")],
        "127.77.0.1 a.example\n127.77.0.2 b.example\n",
    );
}

#[test]
fn an_address_is_itself() {
    check(
        &["127.77.0.1:443", "a.example:443", "10.0.0.5:80", "[2001:db8::1]:80"],
        &[
            ("127.77.0.1:443", "127.77.0.1:443"),
            ("127.77.0.2:443", "a.example:443"),
            ("10.0.0.5:80", "10.0.0.5:80"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
        ],
        "127.77.0.2 a.example\n",
    );
    let added = outlets(&["127.0.0.5:1", "10.0.0.5:80", "10.0.0.5:81", "[::1]:80", "a.example:1"]).addresses;
    assert_eq!(added, [IpAddr::from([10, 0, 0, 5])]);
}

#[test]
fn localhost_is_where_programs_expect_it() {
    check(
        &["localhost:80", "a.localhost:80", "127.0.0.1:80"],
        &[("127.0.0.1:80", "localhost:80"), ("[::1]:80", "localhost:80")],
        "127.0.0.1 a.localhost\n",
    );
    assert!(outlets(&[]).is_empty());
}
