//! The broker: what was granted is reached by clients that know nothing of it, and nothing else is reached by anyone.

use crate::ground::{Ground, PYTHON, eventually, refusal, text};
use crate::internet::{FILES, Log, OTHER, PRIVATE, Server};
use crate::runner::{Case, Shown};
use crate::{enter_the_internet, needs, needs_python};
use silas_core::check::Ended;
use silas_core::host::{HostGrant, NotThere};
use silas_core::outside::{Connection, Reached};
use silas_sandbox::cell::{self, Brokers, CellOutcome, CellSpec, Error};
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const CASES: &[Case] = &[
    ("reached_by_curl", reached_by_curl),
    ("reached_by_node", reached_by_node),
    ("reached_by_python", reached_by_python),
    ("reached_by_a_static_program", reached_by_a_static_program),
    ("reached_by_address_and_localhost", reached_by_address_and_localhost),
    ("reached_by_ipv6", reached_by_ipv6),
    ("much_in_both_directions", much_in_both_directions),
    ("more_streams_than_places", more_streams_than_places),
    ("nothing_without_a_grant", nothing_without_a_grant),
    ("by_the_address_behind_a_name", by_the_address_behind_a_name),
    ("by_odd_spellings", by_odd_spellings),
    ("by_a_redirect", by_a_redirect),
    ("by_another_port", by_another_port),
    ("by_another_hosts_port", by_another_hosts_port),
    ("by_a_name_that_changes_its_mind", by_a_name_that_changes_its_mind),
    ("by_a_name_of_something_private", by_a_name_of_something_private),
    ("by_a_name_of_both", by_a_name_of_both),
    ("by_dns_and_udp", by_dns_and_udp),
    ("without_being_written_down", without_being_written_down),
    ("failures_are_reported", failures_are_reported),
    ("too_often", too_often),
    ("by_a_port_of_silas", by_a_port_of_silas),
    ("a_port_for_a_login", a_port_for_a_login),
    ("a_port_that_is_taken", a_port_that_is_taken),
];

const ADDRESS: IpAddr = IpAddr::V4(FILES);

fn grants(hosts: &[&str]) -> Vec<HostGrant> {
    hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect()
}

fn spec(ground: &Ground, hosts: &[&str], argv: &[&str]) -> CellSpec {
    CellSpec { hosts: grants(hosts), ..ground.spec(argv) }
}

fn run(spec: &CellSpec, resolver: cell::Resolver<'_>) -> (CellOutcome, Vec<Connection>) {
    let mut log = Log::default();
    let outcome = cell::run_with(spec, cell::Streams::Kept, None, Brokers { outside: &mut log, resolver });
    (outcome.unwrap_or_else(|e| panic!("{}: {e}", e.code())), log.connections)
}

/// Every name is the files server.
fn files(_: &str) -> std::io::Result<Vec<IpAddr>> {
    Ok(vec![ADDRESS])
}

fn python(ground: &Ground, hosts: &[&str], code: &str) -> (CellOutcome, Vec<Connection>) {
    run(&spec(ground, hosts, &[PYTHON, "-c", code]), &files)
}

fn opened(to: &str, address: IpAddr) -> Connection {
    Connection { to: HostGrant::parse(to).unwrap(), address: Some(address), outcome: Reached::Opened }
}

fn server(ground: &Ground, at: Ipv4Addr, port: u16) -> Server {
    Server::http(&ground.outside, (at.into(), port), "200 OK", "hello")
}

/// A client, in Python, that prints the answer or how it failed.
fn ask(host: &str, port: u16) -> String {
    format!(
        "import socket
try:
    s = socket.create_connection(('{host}', {port}), 100)
    s.sendall(b'GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n')
    data = b''
    while True:
        some = s.recv(4096)
        if not some: break
        data += some
    print(data.decode().splitlines()[-1])
except OSError as e: print('failed')
"
    )
}

fn reached_by_curl(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs!("/usr/bin/curl");
    let _server = server(ground, FILES, 80);
    let argv = ["/usr/bin/curl", "-sS", "--noproxy", "*", "http://files.example/"];
    let (outcome, connections) = run(&spec(ground, &["files.example:80"], &argv), &files);
    assert_eq!(text(&outcome.stdout), "hello", "{}", text(&outcome.stderr));
    assert_eq!(connections, [opened("files.example:80", ADDRESS)]);
    Shown::Held
}

fn reached_by_node(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs!("/usr/bin/node");
    let _server = server(ground, FILES, 80);
    let code = "fetch('http://files.example/').then(r => r.text()).then(t => console.log(t))";
    let argv = ["/usr/bin/node", "-e", code];
    let (outcome, connections) = run(&spec(ground, &["files.example:80"], &argv), &files);
    assert_eq!(text(&outcome.stdout), "hello", "{}", text(&outcome.stderr));
    assert_eq!(connections, [opened("files.example:80", ADDRESS)]);
    Shown::Held
}

fn reached_by_python(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let _server = server(ground, FILES, 80);
    let (outcome, connections) = python(ground, &["files.example:80"], &ask("files.example", 80));
    assert_eq!(text(&outcome.stdout), "hello", "{}", text(&outcome.stderr));
    assert_eq!(connections, [opened("files.example:80", ADDRESS)]);
    Shown::Held
}

/// A program without any library, built before a case takes on its user, who may not have a compiler.
pub(crate) struct StaticClient {
    _dir: tempfile::TempDir,
}

static CLIENT: OnceLock<PathBuf> = OnceLock::new();

impl StaticClient {
    pub(crate) fn build() -> Option<StaticClient> {
        const CASE: &str = "broker::reached_by_a_static_program";
        let words: Vec<String> = std::env::args().skip(1).collect();
        let mut filters = words.iter().filter(|word| !word.starts_with('-')).peekable();
        let is_meant = |word: &String| CASE.contains(word.trim_start_matches("root::").trim_start_matches("user::"));
        if words.iter().any(|word| word == "--list") || (filters.peek().is_some() && !filters.any(is_meant)) {
            return None;
        }
        let source = "use std::io::{Read, Write};
fn main() {
    let mut stream = std::net::TcpStream::connect((\"files.example\", 80)).unwrap();
    stream.write_all(b\"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    println!(\"{}\", answer.lines().last().unwrap());
}";
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (file, program) = (dir.path().join("client.rs"), dir.path().join("client"));
        fs::write(&file, source).unwrap();
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "-Ctarget-feature=+crt-static", "-o"]).arg(&program).arg(&file);
        if rustc.output().is_ok_and(|built| built.status.success()) {
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            CLIENT.get_or_init(|| program);
        }
        Some(StaticClient { _dir: dir })
    }
}

fn reached_by_a_static_program(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    let Some(built) = CLIENT.get() else {
        return Shown::Skipped("no static program can be built here".to_owned());
    };
    let client = ground.project.join("client");
    fs::copy(built, &client).unwrap();
    let _server = server(ground, FILES, 80);
    let (outcome, connections) = run(&spec(ground, &["files.example:80"], &[client.to_str().unwrap()]), &files);
    assert_eq!(text(&outcome.stdout), "hello", "{}", text(&outcome.stderr));
    assert_eq!(connections, [opened("files.example:80", ADDRESS)]);
    Shown::Held
}

/// Addresses that were named literally, private ones too, and this machine by its name.
fn reached_by_address_and_localhost(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let never = |_: &str| -> std::io::Result<Vec<IpAddr>> { panic!("nobody needs to be asked") };
    for (grant, host, port, at) in [
        ("93.184.216.34:8080", "93.184.216.34", 8080, FILES),
        ("10.0.0.5:80", "10.0.0.5", 80, PRIVATE[1]),
        ("169.254.169.254:80", "169.254.169.254", 80, PRIVATE[3]),
        ("127.0.0.1:4443", "127.0.0.1", 4443, PRIVATE[0]),
        ("localhost:4444", "localhost", 4444, PRIVATE[0]),
        ("a.localhost:4445", "a.localhost", 4445, PRIVATE[0]),
    ] {
        let _server = server(ground, at, port);
        let code = ask(host, port);
        let (outcome, connections) = run(&spec(ground, &[grant], &[PYTHON, "-c", &code]), &never);
        assert_eq!(text(&outcome.stdout), "hello", "{grant}: {}", text(&outcome.stderr));
        assert_eq!(connections, [opened(grant, at.into())]);
    }
    Shown::Held
}

fn reached_by_ipv6(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    needs!("/proc/net/if_inet6");
    let local = Server::http(&ground.outside, (Ipv6Addr::LOCALHOST.into(), 4446), "200 OK", "hello");
    for (grant, host) in [("[::1]:4446", "::1"), ("localhost:4446", "::1")] {
        let (outcome, connections) = python(ground, &[grant], &ask(host, 4446));
        assert_eq!(text(&outcome.stdout), "hello", "{grant}: {}", text(&outcome.stderr));
        assert_eq!(connections, [opened(grant, Ipv6Addr::LOCALHOST.into())]);
    }
    assert_eq!(local.hits(), 2);
    // An address that only the cell's loopback has: the program gets to the broker, and the broker nowhere.
    let (outcome, connections) = python(ground, &["[2606:4700::1111]:443"], &ask("2606:4700::1111", 443));
    assert_eq!(text(&outcome.stdout), "failed");
    let to = HostGrant::parse("[2606:4700::1111]:443").unwrap();
    assert_eq!(connections, [Connection { address: to.address(), to, outcome: Reached::Unanswered }]);
    Shown::Held
}

fn much_in_both_directions(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    // Says how much it got only when the client has said that there is no more.
    let _server = Server::start(&ground.outside, (ADDRESS, 80), |stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
    });
    let code = "import socket, threading, os, hashlib
s = socket.create_connection(('files.example', 80), 100)
data = os.urandom(8 << 20)
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
got = b''
while True:
    some = s.recv(1 << 16)
    if not some: break
    got += some
print(got == data)
";
    let (outcome, _) = python(ground, &["files.example:80"], code);
    assert_eq!(text(&outcome.stdout), "True", "{}", text(&outcome.stderr));
    // What is sent right before the end gets through as well.
    let code =
        "import socket; s = socket.create_connection(('files.example', 80)); s.sendall(b'x' * 100000); s.recv(1)";
    let slow = Server::start(&ground.outside, (OTHER.into(), 80), |stream| {
        stream.write_all(b"y").unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 100_000);
        stream.write_all(b"z").ok();
    });
    let (_, connections) =
        run(&spec(ground, &["files.example:80"], &[PYTHON, "-c", code]), &|_: &str| Ok(vec![OTHER.into()]));
    assert_eq!((connections.len(), slow.hits()), (1, 1));
    Shown::Held
}

fn more_streams_than_places(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let server = server(ground, FILES, 80);
    let code = "import socket
many = [socket.create_connection(('files.example', 80), 100) for _ in range(100)]
for s in many: s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')
n = 0
for s in many:
    data = b''
    while True:
        some = s.recv(4096)
        if not some: break
        data += some
    n += data.endswith(b'hello')
    s.close()
print(n)
";
    let (outcome, connections) = python(ground, &["files.example:80"], code);
    assert_eq!(text(&outcome.stdout), "100", "{}", text(&outcome.stderr));
    assert_eq!((connections.len(), server.hits()), (100, 100));
    Shown::Held
}

fn nothing_without_a_grant(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let server = server(ground, FILES, 80);
    for host in ["files.example", "93.184.216.34"] {
        let (outcome, connections) = python(ground, &[], &ask(host, 80));
        assert_eq!((text(&outcome.stdout).as_str(), connections.len()), ("failed", 0));
    }
    assert_eq!(server.hits(), 0);
    assert_eq!(text(&ground.python_outside(&ask("93.184.216.34", 80)).stdout), "hello");
    Shown::Held
}

/// The name is granted; its address is not.
fn by_the_address_behind_a_name(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let server = server(ground, FILES, 80);
    let (outcome, connections) = python(ground, &["files.example:80"], &ask("93.184.216.34", 80));
    assert_eq!((text(&outcome.stdout).as_str(), connections.len(), server.hits()), ("failed", 0, 0));
    assert_eq!(text(&ground.python_outside(&ask("93.184.216.34", 80)).stdout), "hello");
    Shown::Held
}

fn by_odd_spellings(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let server = server(ground, FILES, 80);
    // One number, hexadecimal, octal, short, and as an IPv6 address.
    let spellings = ["1572395042", "0x5db8d822", "0135.0270.0330.042", "93.12113954", "::ffff:93.184.216.34"];
    for spelling in spellings {
        let (outcome, connections) = python(ground, &["files.example:80"], &ask(spelling, 80));
        assert_eq!((text(&outcome.stdout).as_str(), connections.len()), ("failed", 0), "{spelling}");
    }
    assert_eq!(server.hits(), 0);
    for spelling in spellings {
        assert_eq!(text(&ground.python_outside(&ask(spelling, 80)).stdout), "hello", "{spelling}");
    }
    Shown::Held
}

fn by_a_redirect(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs!("/usr/bin/curl");
    let away = "302 Found\r\nLocation: http://93.184.216.35/";
    let first = Server::http(&ground.outside, (ADDRESS, 80), away, "");
    let second = server(ground, OTHER, 80);
    let argv = ["/usr/bin/curl", "-sSL", "--noproxy", "*", "http://files.example/"];
    let (outcome, connections) = run(&spec(ground, &["files.example:80"], &argv), &files);
    assert_ne!(outcome.ended, Ended::Exited(0));
    assert_eq!(connections, [opened("files.example:80", ADDRESS)]);
    assert_eq!((first.hits(), second.hits()), (1, 0));
    let outside =
        ground.sh_outside("curl -sSL --noproxy '*' --resolve files.example:80:93.184.216.34 http://files.example/");
    assert_eq!(text(&outside.stdout), "hello");
    Shown::Held
}

fn by_another_port(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let server = server(ground, FILES, 81);
    let (outcome, connections) = python(ground, &["files.example:80"], &ask("files.example", 81));
    assert_eq!((text(&outcome.stdout).as_str(), connections.len(), server.hits()), ("failed", 0, 0));
    assert_eq!(text(&ground.python_outside(&ask("93.184.216.34", 81)).stdout), "hello");
    Shown::Held
}

fn by_another_hosts_port(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let servers = [80, 81].map(|port| server(ground, FILES, port));
    let hosts = ["a.example:80", "b.example:81"];
    for (host, port) in [("a.example", 81), ("b.example", 80)] {
        let (outcome, connections) = python(ground, &hosts, &ask(host, port));
        assert_eq!((text(&outcome.stdout).as_str(), connections.len()), ("failed", 0), "{host}:{port}");
    }
    assert_eq!(servers.each_ref().map(Server::hits), [0, 0]);
    for (host, port) in [("a.example", 80), ("b.example", 81)] {
        let (outcome, connections) = python(ground, &hosts, &ask(host, port));
        assert_eq!(text(&outcome.stdout), "hello");
        assert_eq!(connections, [opened(&format!("{host}:{port}"), ADDRESS)]);
    }
    Shown::Held
}

/// The first answer counts until the run is over, even if another public host is named later.
fn by_a_name_that_changes_its_mind(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let first = server(ground, FILES, 80);
    let second = server(ground, OTHER, 80);
    let n_asked = shared_counter();
    let changing = |_: &str| {
        let n = n_asked.fetch_add(1, Ordering::SeqCst);
        Ok(vec![if n == 0 { ADDRESS } else { OTHER.into() }])
    };
    let code = ask("files.example", 80).repeat(3);
    let (outcome, connections) = run(&spec(ground, &["files.example:80"], &[PYTHON, "-c", &code]), &changing);
    assert_eq!(text(&outcome.stdout), "hello\nhello\nhello");
    assert_eq!(connections, vec![opened("files.example:80", ADDRESS); 3]);
    assert_eq!((first.hits(), second.hits(), n_asked.load(Ordering::SeqCst)), (3, 0, 1));
    // Another run asks again, and hears the other answer.
    let argv = [PYTHON, "-c", &ask("files.example", 80)];
    let (_, connections) = run(&spec(ground, &["files.example:80"], &argv), &changing);
    assert_eq!(connections, [opened("files.example:80", OTHER.into())]);
    Shown::Held
}

/// Seen by this process and all that are forked from it; the broker can write no file.
fn shared_counter() -> &'static AtomicU32 {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new page, zeroed, never unmapped, and large enough for the counter.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        &*page.cast::<AtomicU32>()
    }
}

fn by_a_name_of_something_private(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    for address in PRIVATE {
        let server = server(ground, address, 80);
        let answer = |_: &str| Ok(vec![IpAddr::V4(address)]);
        let argv = [PYTHON, "-c", &ask("files.example", 80)];
        let (outcome, connections) = run(&spec(ground, &["files.example:80"], &argv), &answer);
        assert_eq!((text(&outcome.stdout).as_str(), server.hits()), ("failed", 0), "{address}");
        let outcome = Reached::Refused(NotThere::NotPublic);
        assert_eq!(connections, [Connection { to: grants(&["files.example:80"])[0].clone(), address: None, outcome }]);
        assert_eq!(text(&ground.python_outside(&ask(&address.to_string(), 80)).stdout), "hello");
    }
    Shown::Held
}

/// A private address among public ones is passed over.
fn by_a_name_of_both(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let private = server(ground, PRIVATE[1], 80);
    let public = server(ground, FILES, 80);
    let mapped = IpAddr::V6(PRIVATE[1].to_ipv6_mapped());
    let answer = |_: &str| Ok(vec![PRIVATE[1].into(), mapped, ADDRESS]);
    let argv = [PYTHON, "-c", &ask("files.example", 80)];
    let (outcome, connections) = run(&spec(ground, &["files.example:80"], &argv), &answer);
    assert_eq!(text(&outcome.stdout), "hello");
    assert_eq!(connections, [opened("files.example:80", ADDRESS)]);
    assert_eq!((private.hits(), public.hits()), (0, 1));
    Shown::Held
}

fn by_dns_and_udp(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let sockets = [FILES, PRIVATE[0]].map(|address| UdpSocket::bind((address, 53)).unwrap());
    sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
    let code = "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for host in ['93.184.216.34', '127.0.0.1', '127.77.0.1']:
    try: s.sendto(b'query', (host, 53))
    except OSError: pass
try: socket.getaddrinfo('other.example', 80); print('resolved')
except OSError: print('unknown')
print(socket.getaddrinfo('files.example', 80)[0][4][0])
";
    let (outcome, connections) = python(ground, &["files.example:80", "files.example:53"], code);
    assert_eq!(text(&outcome.stdout), "unknown\n127.77.0.1", "{}", text(&outcome.stderr));
    assert_eq!(connections, []);
    sockets.iter().for_each(|socket| assert!(socket.recv(&mut [0; 16]).is_err()));
    let outside = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'query', ('93.184.216.34', 53))";
    assert!(ground.python_outside(outside).status.success());
    assert_eq!(sockets[0].recv(&mut [0; 16]).unwrap(), 5);
    Shown::Held
}

/// With nobody to write it down, the first connection ends the run.
fn without_being_written_down(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let code = format!("{}\nimport time; time.sleep(60)", ask("127.0.0.1", 4443));
    let _server = server(ground, PRIVATE[0], 4443);
    let error = refusal(&spec(ground, &["127.0.0.1:4443"], &[PYTHON, "-c", &code]));
    assert!(matches!(error, Error::Unrecorded), "{error}");
    Shown::Held
}

fn failures_are_reported(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let argv = [PYTHON, "-c", &ask("files.example", 80)];
    let granted = spec(ground, &["files.example:80"], &argv);
    let failed = |address, outcome| [Connection { to: granted.hosts[0].clone(), address, outcome }];
    let (outcome, connections) = run(&granted, &files);
    assert_eq!(text(&outcome.stdout), "failed");
    assert_eq!(connections, failed(Some(ADDRESS), Reached::Unanswered));
    let unknown = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let (outcome, connections) = run(&granted, &unknown);
    assert_eq!(text(&outcome.stdout), "failed");
    assert_eq!(connections, failed(None, Reached::Unresolved));
    // The first address does not answer, the second does.
    let _server = server(ground, OTHER, 80);
    let (outcome, connections) = run(&granted, &|_: &str| Ok(vec![ADDRESS, OTHER.into()]));
    assert_eq!(text(&outcome.stdout), "hello");
    assert_eq!(connections, [opened("files.example:80", OTHER.into())]);
    Shown::Held
}

fn too_often(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let _server = server(ground, FILES, 80);
    let code = "import socket
for n in range(1200):
    try:
        s = socket.create_connection(('files.example', 80), 100)
        s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')
        if not s.recv(4096): break
        s.close()
    except OSError: break
print(n)
";
    let (outcome, connections) = python(ground, &["files.example:80"], code);
    assert_eq!(text(&outcome.stdout), "1000", "{}", text(&outcome.stderr));
    let last = connections.last().unwrap();
    assert_eq!((connections.len(), last.outcome), (1001, Reached::TooMany));
    Shown::Held
}

/// Whatever was granted: this machine by any of its names, at a port where Silas answers.
fn by_a_port_of_silas(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let own = |_: &str| -> std::io::Result<Vec<IpAddr>> { Ok(vec![FILES.into()]) };
    for (grant, host, at) in [
        ("localhost:4450", "localhost", PRIVATE[0]),
        ("a.localhost:4450", "a.localhost", PRIVATE[0]),
        ("127.0.0.1:4450", "127.0.0.1", PRIVATE[0]),
        ("10.0.0.5:4450", "10.0.0.5", PRIVATE[1]),
        // A public name of this very machine.
        ("files.example:4450", "files.example", FILES),
    ] {
        let _silas = server(ground, at, 4450);
        let mut spec = spec(ground, &[grant], &[PYTHON, "-c", &ask(host, 4450)]);
        let (control, _) = run(&spec, &own);
        assert_eq!(text(&control.stdout), "hello", "the control of {grant}: {}", text(&control.stderr));
        spec.limits.closed_ports = vec![8000, 4450];
        let (outcome, connections) = run(&spec, &own);
        assert_ne!(text(&outcome.stdout), "hello", "{grant}");
        assert!(!connections.is_empty(), "{grant}");
        for made in connections {
            assert_eq!((made.address, made.outcome), (None, Reached::Refused(NotThere::Silas)), "{grant}");
        }
    }
    Shown::Held
}

fn a_port_for_a_login(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    // The browser: asks again until the program listens.
    let port = 8765;
    // SAFETY: this process has one thread.
    let browser = unsafe { libc::fork() };
    if browser == 0 {
        eventually("the callback is answered", || {
            let mut answer = String::new();
            TcpStream::connect(("127.0.0.1", port)).is_ok_and(|mut stream| {
                stream.write_all(b"GET /callback?code=42 HTTP/1.0\r\n\r\n").is_ok()
                    && stream.read_to_string(&mut answer).is_ok()
                    && answer == "thanks"
            })
        });
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    let code = format!(
        "import socket
s = socket.create_server(('127.0.0.1', {port}))
c, _ = s.accept()
print(c.recv(4096).decode().splitlines()[0])
c.sendall(b'thanks'); c.shutdown(socket.SHUT_WR); c.recv(1)
"
    );
    let called = CellSpec { callback_port: Some(port), ..ground.spec(&[PYTHON, "-c", &code]) };
    let (outcome, connections) = run(&called, &files);
    assert_eq!(text(&outcome.stdout), "GET /callback?code=42 HTTP/1.0", "{}", text(&outcome.stderr));
    let to = HostGrant::parse("localhost:8765").unwrap();
    let address = Some(IpAddr::from(PRIVATE[0]));
    assert_eq!(connections, [Connection { to, address, outcome: Reached::Called }]);
    let mut status = 0;
    // SAFETY: our own child; `status` outlives the call.
    unsafe { libc::waitpid(browser, &raw mut status, 0) };
    assert_eq!(status, 0);
    // After the run nobody listens there any more.
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    Shown::Held
}

fn a_port_that_is_taken(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    let _server = server(ground, PRIVATE[0], 8766);
    let error = refusal(&CellSpec { callback_port: Some(8766), ..ground.spec(&["true"]) });
    assert_eq!(error.code(), "E_SANDBOX_PORT");
    Shown::Held
}
