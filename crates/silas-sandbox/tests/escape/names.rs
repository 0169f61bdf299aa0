//! The name server of a cell: honest clients are told at once that a name does not exist, what they asked for is known
//! afterwards, and nobody gets anything out by asking.

use crate::ground::{Ground, PYTHON, run, text};
use crate::internet::{FILES, Log, PRIVATE, Server};
use crate::runner::{Case, Shown};
use crate::{enter_the_internet, needs, needs_python};
use silas_core::check::Ended;
use silas_core::host::HostGrant;
use silas_core::wanted::NAMES_MAX;
use silas_sandbox::cell::{self, Brokers, CellOutcome, CellSpec};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

pub(crate) const CASES: &[Case] = &[
    ("asked_by_getent", asked_by_getent),
    ("asked_by_python", asked_by_python),
    ("asked_by_curl", asked_by_curl),
    ("asked_by_git", asked_by_git),
    ("asked_by_node", asked_by_node),
    ("asked_by_busybox", asked_by_busybox),
    ("addresses_that_are_tried", addresses_that_are_tried),
    ("granted_names_are_not_refused", granted_names_are_not_refused),
    ("by_asking_a_name_server_outside", by_asking_a_name_server_outside),
    ("by_names_that_carry_something", by_names_that_carry_something),
    ("by_a_flood_of_questions", by_a_flood_of_questions),
    ("by_taking_the_servers_place", by_taking_the_servers_place),
];

/// Not reached, and known.
fn is_refused(outcome: &CellOutcome) {
    assert_ne!(outcome.ended, Ended::Exited(0), "{}", text(&outcome.stdout));
    assert_eq!(outcome.asked, ["tides.example"], "{}", text(&outcome.stderr));
}

fn asked_by_getent(ground: &Ground) -> Shown {
    needs!("/usr/bin/getent");
    is_refused(&ground.sh("getent ahosts Tides.Example"));
    is_refused(&ground.sh("getent ahostsv4 tides.example"));
    // What has its place in the cell itself is asked of nobody.
    let own = ground.sh("getent ahostsv4 localhost && getent hosts silas");
    assert_eq!((own.ended, own.asked.len()), (Ended::Exited(0), 0), "{}", text(&own.stderr));
    Shown::Held
}

fn asked_by_python(ground: &Ground) -> Shown {
    needs_python!();
    is_refused(&ground.python("import socket; socket.getaddrinfo('tides.example', 443)"));
    is_refused(&ground.python("import urllib.request as r; r.urlopen('https://tides.example/zones.csv', timeout=10)"));
    is_refused(&ground.python("import socket; socket.gethostbyname('tides.example')"));
    let literal =
        ground.python("import socket\ntry: socket.create_connection(('93.184.216.34', 80), 2)\nexcept OSError: pass");
    assert_eq!((literal.ended, &literal.asked[..]), (Ended::Exited(0), &["93.184.216.34:80".to_owned()][..]));
    Shown::Held
}

fn asked_by_curl(ground: &Ground) -> Shown {
    needs!("/usr/bin/curl");
    let outcome = ground.sh("curl -sS --noproxy '*' https://tides.example/zones.csv");
    is_refused(&outcome);
    assert!(text(&outcome.stderr).contains("Could not resolve host"), "{}", text(&outcome.stderr));
    Shown::Held
}

fn asked_by_git(ground: &Ground) -> Shown {
    if ground.sh("git --version && test -x \"$(git --exec-path)/git-remote-https\"").ended != Ended::Exited(0) {
        return Shown::Skipped("there is no git that knows https in a cell".to_owned());
    }
    is_refused(&ground.sh("git ls-remote https://tides.example/zones.git"));
    Shown::Held
}

fn asked_by_node(ground: &Ground) -> Shown {
    needs!("/usr/bin/node");
    let fails = "e => { if (e) process.exit(1) }";
    is_refused(&ground.cell(&["/usr/bin/node", "-e", &format!("require('dns').lookup('tides.example', {fails})")]));
    is_refused(&ground.cell(&["/usr/bin/node", "-e", &format!("require('dns').resolve4('tides.example', {fails})")]));
    Shown::Held
}

/// A client with a resolver of its own making, or with the C library's without its modules.
fn asked_by_busybox(ground: &Ground) -> Shown {
    needs!("/usr/bin/busybox");
    is_refused(&ground.sh("/usr/bin/busybox wget -q -O - http://tides.example/zones.csv"));
    Shown::Held
}

/// What stands in the command is seen when it is tried, with its port, and not when it is only named; what is computed is not.
fn addresses_that_are_tried(ground: &Ground) -> Shown {
    needs_python!();
    let code = "
import socket
def to(address, port):
    try: socket.create_connection((address, port), 5)
    except OSError as e: return e.errno != 0
print(to('198.51.100.7', 8080), to('198.51.100.7', 8080), to('192.0.2.9', 22), to('.'.join(['203', '0', '113', '5']), 80))
version = '1.2.3.4'
";
    let outcome = ground.python(code);
    assert_eq!(text(&outcome.stdout), "True True True True", "{}", text(&outcome.stderr));
    assert_eq!(outcome.asked, ["198.51.100.7:8080", "192.0.2.9:22"]);
    // Not by way of a server of its own: that is the cell's business, at whatever address.
    let own = ground.python(
        "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname(), 5)",
    );
    assert_eq!((own.ended, own.asked.len()), (Ended::Exited(0), 0), "{}", text(&own.stderr));
    Shown::Held
}

fn granted(ground: &Ground, hosts: &[&str], argv: &[&str]) -> CellOutcome {
    let hosts = hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect();
    let files = |_: &str| Ok(vec![IpAddr::V4(FILES)]);
    let spec = CellSpec { hosts, ..ground.spec(argv) };
    let mut log = Log::default();
    let brokers = Brokers { outside: &mut log, resolver: &files };
    cell::run_with(&spec, cell::Streams::Kept, None, brokers).unwrap_or_else(|e| panic!("{}: {e}", e.code()))
}

/// A question to the cell's own name server, past the C library and `/etc/hosts`.
const ASK: &str = "
import socket, struct
def ask(name, to=('127.78.0.1', 53), secs=100):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(secs)
    q = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.')) + b'\\0' + struct.pack('>HH', 1, 1)
    s.sendto(struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + q, to)
    r = s.recv(512)
    return '.'.join(map(str, r[-4:])) if r[7] else 'code %d' % (r[3] & 15)
";

fn granted_names_are_not_refused(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let server = Server::http(&ground.outside, (FILES.into(), 80), "200 OK", "hello");
    let fetch = "import urllib.request as r; print(r.urlopen('http://files.example/', timeout=100).read().decode())";
    let code = format!("{ASK}\n{fetch}\nprint(ask('files.example'), ask('localhost'), ask('tides.example'))");
    let outcome = granted(ground, &["files.example:80"], &[PYTHON, "-c", &code]);
    assert_eq!(text(&outcome.stdout), "hello\n127.77.0.1 127.0.0.1 code 3", "{}", text(&outcome.stderr));
    assert_eq!((outcome.asked, server.hits()), (vec!["tides.example".to_owned()], 1));
    Shown::Held
}

/// Whoever answers names on the machine, at whatever address, hears nothing of what a cell asks.
fn by_asking_a_name_server_outside(ground: &Ground) -> Shown {
    enter_the_internet!(ground);
    needs_python!();
    let places = [Ipv4Addr::new(127, 78, 0, 1), PRIVATE[0], FILES];
    let sockets = places.map(|address| UdpSocket::bind((address, 53)).unwrap());
    sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
    let code = format!(
        "{ASK}
print(ask('leak.example'))
for to in ['127.0.0.1', '93.184.216.34']:
    try: print(ask('leak.example', (to, 53), 1))
    except OSError: print('nobody')
try: socket.getaddrinfo('leak.example', 80)
except OSError: print('unknown')"
    );
    let outcome = granted(ground, &["files.example:53"], &[PYTHON, "-c", &code]);
    assert_eq!(text(&outcome.stdout), "code 3\nnobody\nnobody\nunknown", "{}", text(&outcome.stderr));
    assert_eq!(outcome.asked, ["leak.example"]);
    sockets.iter().for_each(|socket| assert!(socket.recv(&mut [0; 512]).is_err()));
    let outside =
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'query', ('127.78.0.1', 53))";
    assert!(ground.python_outside(outside).status.success());
    assert_eq!(sockets[0].recv(&mut [0; 512]).unwrap(), 5);
    Shown::Held
}

/// Only what could be granted is reported: no control characters, no other alphabets, nothing longer than a name, few.
fn by_names_that_carry_something(ground: &Ground) -> Shown {
    needs_python!();
    let code = "
import socket, struct
def send(labels):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    q = b''.join(bytes([len(l) & 255]) + l for l in labels) + b'\\0' + struct.pack('>HH', 1, 1)
    s.sendto(struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + q, ('127.78.0.1', 53))
for labels in [[b'\\x1b[2J', b'example'], ['tid\\u0435s'.encode(), b'example'], [b'a.b', b'example'], [b'x' * 63] * 5, [b'two words'], [b'10', b'0', b'0', b'1']]:
    send(labels)
for n in range(100): send([b'n%d' % n, b'example'])
";
    let outcome = ground.python(code);
    assert_eq!(outcome.ended, Ended::Exited(0), "{}", text(&outcome.stderr));
    assert_eq!(outcome.asked.len(), NAMES_MAX);
    assert!(outcome.asked.iter().enumerate().all(|(n, name)| *name == format!("n{n}.example")), "{:?}", outcome.asked);
    Shown::Held
}

/// A flood is the cell's own trouble: its output is read, its time limit holds and its end is noticed.
fn by_a_flood_of_questions(ground: &Ground) -> Shown {
    needs_python!();
    let code = "
import os, socket
for _ in range(3):
    if os.fork() == 0:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        while True:
            try: s.sendto(os.urandom(64), ('127.78.0.1', 53))
            except OSError: pass
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(2000): s.sendto(b'\\0' * 1400, ('127.78.0.1', 53))
print('x' * 200000)
";
    let outcome = ground.python(code);
    assert_eq!((outcome.ended, outcome.stdout.len()), (Ended::Exited(0), 200_001), "{}", text(&outcome.stderr));
    let forever = code.replace("print('x' * 200000)", "\nwhile True: pass");
    let mut spec = ground.spec(&[PYTHON, "-c", &forever]);
    spec.limits.wall = std::time::Duration::from_secs(1);
    assert_eq!(run(&spec).ended, Ended::TimedOut { after_secs: 1 });
    Shown::Held
}

/// What a cell says of itself is what the watcher heard, and not what a program in it would like to be heard.
fn by_taking_the_servers_place(ground: &Ground) -> Shown {
    needs_python!();
    let code = "
import socket
for options in [(), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,)]:
    for address in ['127.78.0.1', '0.0.0.0']:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for option in options: s.setsockopt(socket.SOL_SOCKET, option, 1)
        try: s.bind((address, 53)); print('bound', address, options)
        except OSError: pass
for path in ['/etc/resolv.conf', '/etc/nsswitch.conf', '/etc/hosts']:
    try: open(path, 'a'); print('opened', path)
    except OSError: pass
try: socket.getaddrinfo('tides.example', 443)
except OSError: print('unknown')
";
    let outcome = ground.python(code);
    assert_eq!(text(&outcome.stdout), "unknown", "{}", text(&outcome.stderr));
    assert_eq!(outcome.asked, ["tides.example"]);
    Shown::Held
}
