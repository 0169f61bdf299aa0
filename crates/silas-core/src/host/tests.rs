//! Spellings of hosts, and which addresses they stand for.

use super::*;

fn read(text: &str) -> String {
    HostGrant::parse(text).map_or_else(|e| e.to_string(), |grant| grant.to_string())
}

#[test]
fn one_spelling() {
    for (given, expect) in [
        ("example.org:443", "example.org:443"),
        ("Example.ORG:443", "example.org:443"),
        ("a-b.c_d.example:1", "a-b.c_d.example:1"),
        ("localhost:65535", "localhost:65535"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("[::1]:80", "[::1]:80"),
        ("[2001:DB8:0:0::1]:80", "[2001:db8::1]:80"),
        ("xn--bcher-kva.example:443", "xn--bcher-kva.example:443"),
    ] {
        assert_eq!(read(given), expect);
        let wire = serde_json::to_string(&HostGrant::parse(given).unwrap()).unwrap();
        assert_eq!(wire, format!("\"{expect}\""));
        assert_eq!(serde_json::from_str::<HostGrant>(&wire).unwrap(), HostGrant::parse(given).unwrap());
    }
    assert!(serde_json::from_str::<HostGrant>("\"Example.org:443\"").is_err());
}

#[test]
fn refusals() {
    let plain_address = "an address is written as four plain numbers, such as 192.0.2.1:443";
    let mapped = "write the IPv4 address itself, such as 192.0.2.1:443";
    let name = "a name has letters, digits and `-`, with dots between its parts and none at the end";
    let port = "the port must be a number from 1 to 65535";
    for (given, problem) in [
        ("example.org", "a port is needed, such as example.org:443"),
        ("https://example.org:443", "write only the host and the port, such as example.org:443"),
        ("user@example.org:443", "write only the host and the port, such as example.org:443"),
        ("*.example.org:443", "hosts are named one by one, without `*`"),
        ("example.org:*", "hosts are named one by one, without `*`"),
        ("example.org:0", port),
        ("example.org:65536", port),
        ("example.org:0443", port),
        ("example.org:+443", port),
        ("example.org:", port),
        ("2130706433:80", plain_address),
        ("0x7f000001:80", plain_address),
        ("0x7f.1:80", plain_address),
        ("127.1:80", plain_address),
        ("0177.0.0.1:80", plain_address),
        ("127.0.0.01:80", plain_address),
        ("256.0.0.1:80", plain_address),
        ("example.0x:80", plain_address),
        ("0.0.0.0:80", "this address is no single host"),
        ("255.255.255.255:80", "this address is no single host"),
        ("224.0.0.1:80", "this address is no single host"),
        ("[::]:80", "this address is no single host"),
        ("[ff02::1]:80", "this address is no single host"),
        ("[::ffff:127.0.0.1]:80", mapped),
        ("[::ffff:7f00:1]:80", mapped),
        ("[::127.0.0.1]:80", mapped),
        ("[64:ff9b::7f00:1]:80", mapped),
        ("[2002:7f00:1::]:80", mapped),
        ("::1:80", "an IPv6 address is written in brackets: [2001:db8::1]:443"),
        ("[::1:80", "this is not an IPv6 address; names and IPv4 addresses have no brackets"),
        ("[fe80::1%eth0]:80", "this is not an IPv6 address; names and IPv4 addresses have no brackets"),
        ("[example.org]:80", "this is not an IPv6 address; names and IPv4 addresses have no brackets"),
        ("bücher.example:80", "write the name in its ASCII form, which begins with xn--"),
        ("example.org.:80", name),
        (".example.org:80", name),
        ("exa mple.org:80", name),
        ("-a.org:80", name),
        ("a..org:80", name),
        (":80", name),
    ] {
        assert_eq!(read(given), format!("`{given}` cannot be granted: {problem}"));
    }
    assert!(HostGrant::parse(&format!("{}.org:80", "a".repeat(64))).is_err());
    assert!(HostGrant::parse(&format!("{}org:80", "a.".repeat(126))).is_err());
}

#[test]
fn names_stand_for_public_addresses_only() {
    let admits = |grant: &str, address: &str| HostGrant::parse(grant).unwrap().admits(address.parse().unwrap());
    for public in ["93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "2001:4860:4860::8888"] {
        assert_eq!(admits("example.org:443", public), Ok(()), "{public}");
    }
    for private in [
        "127.0.0.1",
        "127.8.9.1",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.5",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.9",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.5",
        "::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::1",
        "2001:0:1::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "3fff::1",
    ] {
        assert_eq!(admits("example.org:443", private), Err(NotThere::NotPublic), "{private}");
    }
}

#[test]
fn what_is_named_literally_is_that_and_nothing_else() {
    let admits = |grant: &str, address: &str| HostGrant::parse(grant).unwrap().admits(address.parse().unwrap());
    assert_eq!(admits("127.0.0.1:80", "127.0.0.1"), Ok(()));
    assert_eq!(admits("127.0.0.1:80", "::ffff:127.0.0.1"), Ok(()));
    assert_eq!(admits("127.0.0.1:80", "127.0.0.2"), Err(NotThere::OtherAddress));
    assert_eq!(admits("169.254.169.254:80", "169.254.169.254"), Ok(()));
    assert_eq!(admits("[::1]:80", "::1"), Ok(()));
    assert_eq!(admits("localhost:80", "127.0.0.1"), Ok(()));
    assert_eq!(admits("a.localhost:80", "::1"), Ok(()));
    assert_eq!(admits("localhost:80", "8.8.8.8"), Err(NotThere::NotThisMachine));
    assert_eq!(admits("localhost.example.org:80", "127.0.0.1"), Err(NotThere::NotPublic));
}

#[test]
fn what_lies_inside_is_said() {
    let inside = |grant: &str| HostGrant::parse(grant).unwrap().inside();
    assert_eq!(inside("example.org:443"), None);
    assert_eq!(inside("93.184.216.34:443"), None);
    assert_eq!(inside("localhost:443"), Some("this machine"));
    assert_eq!(inside("127.0.0.1:443"), Some("this machine"));
    assert_eq!(inside("10.0.0.5:443"), Some("a private network"));
    assert_eq!(inside("169.254.169.254:80"), Some("a private network"));
}
