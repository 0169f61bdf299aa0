//! The network: none of it reaches anything.

use crate::ground::{Ground, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

pub(crate) const CASES: &[Case] = &[
    ("connect_by_tcp", connect_by_tcp),
    ("send_by_udp", send_by_udp),
    ("connect_by_ipv6", connect_by_ipv6),
    ("ask_a_name_server", ask_a_name_server),
    ("open_a_raw_socket", open_a_raw_socket),
    ("open_other_socket_families", open_other_socket_families),
    ("connect_to_an_abstract_socket", connect_to_an_abstract_socket),
    ("connect_to_a_socket_file_outside", connect_to_a_socket_file_outside),
    ("see_network_interfaces", see_network_interfaces),
    ("talk_to_its_own_server", talk_to_its_own_server),
];

fn connect_by_tcp(ground: &Ground) -> Shown {
    needs_python!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)");
    assert_eq!(ground.python(&code).ended, Ended::Exited(1));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(ground.python_outside(&code).status.success());
    listener.accept().unwrap();
    Shown::Held
}

fn send_by_udp(ground: &Ground) -> Shown {
    needs_python!();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    let code =
        format!("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))");
    // Sending works, on the cell's own loopback; what matters is that nothing arrives here.
    ground.python(&code);
    assert_eq!(socket.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(ground.python_outside(&code).status.success());
    assert_eq!(socket.recv(&mut [0]).unwrap(), 1);
    Shown::Held
}

fn connect_by_ipv6(ground: &Ground) -> Shown {
    needs_python!();
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        // Without it a cell must work all the same.
        assert_eq!(ground.cell(&["/bin/true"]).ended, Ended::Exited(0));
        return Shown::Skipped("this machine has no IPv6".to_owned());
    };
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!("import socket; socket.create_connection(('::1', {port}), 5)");
    assert_eq!(ground.python(&code).ended, Ended::Exited(1));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(ground.python_outside(&code).status.success());
    listener.accept().unwrap();
    Shown::Held
}

/// Names carry data out even where nothing else can. A name server of ours listens on the host.
fn ask_a_name_server(ground: &Ground) -> Shown {
    needs_python!();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    let code = format!(
        "import socket
question = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + b'\\6secret\\7example\\0' + b'\\0\\1\\0\\1'
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ('127.0.0.1', {port}))"
    );
    ground.python(&code);
    assert_eq!(server.recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(ground.python_outside(&code).status.success());
    assert!(server.recv(&mut [0; 64]).unwrap() > 20);
    // The resolver itself knows no server but the cell's own, which asks nobody.
    let resolved = ground.python("import socket; socket.getaddrinfo('secret.example', 80)");
    assert_eq!((resolved.ended, resolved.asked), (Ended::Exited(1), vec!["secret.example".to_owned()]));
    let known = text(&ground.sh("cat /etc/resolv.conf").stdout);
    assert_eq!(known, "nameserver 127.78.0.1\noptions timeout:2 attempts:1");
    assert_eq!(ground.python("import socket; socket.getaddrinfo('localhost', 80)").ended, Ended::Exited(0));
    Shown::Held
}

fn open_a_raw_socket(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import socket
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET6, socket.SOCK_RAW, 58), (socket.AF_PACKET, socket.SOCK_RAW, 768)):
    try: socket.socket(family, kind, protocol); print('open')
    except OSError: print('refused')";
    assert_eq!(text(&ground.python(code).stdout), "refused\nrefused\nrefused");
    // In namespaces of its own anybody may.
    std::fs::write(ground.project.join("raw.py"), code).unwrap();
    let control = ground.sh_outside("unshare -Urn /usr/bin/python3 raw.py");
    assert!(text(&control.stdout).contains("open"), "{}", text(&control.stderr));
    Shown::Held
}

fn open_other_socket_families(ground: &Ground) -> Shown {
    needs_python!();
    let code = |family: libc::c_int, kind: libc::c_int| {
        format!(
            "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.socket({family}, {kind}, 0) >= 0, ctypes.get_errno())"
        )
    };
    let refused = format!("False {}", libc::EPERM);
    let families = [libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG, libc::AF_KEY, libc::AF_BLUETOOTH];
    for family in families {
        assert_eq!(text(&ground.python(&code(family, libc::SOCK_RAW)).stdout), refused, "family {family}");
    }
    let netlink = code(libc::AF_NETLINK, libc::SOCK_RAW);
    assert_eq!(text(&ground.python_outside(&netlink).stdout), "True 0");
    for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6] {
        let inside = text(&ground.python(&code(family, libc::SOCK_STREAM)).stdout);
        assert_ne!(inside, refused, "family {family}");
    }
    Shown::Held
}

fn connect_to_an_abstract_socket(ground: &Ground) -> Shown {
    needs_python!();
    let name = format!("silas-escape-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let code = format!("import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')");
    assert_eq!(ground.python(&code).ended, Ended::Exited(1));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(ground.python_outside(&code).status.success());
    listener.accept().unwrap();
    Shown::Held
}

fn connect_to_a_socket_file_outside(ground: &Ground) -> Shown {
    needs_python!();
    let path = ground.outside.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let code = format!("import socket; socket.socket(socket.AF_UNIX).connect('{}')", path.display());
    assert_eq!(ground.python(&code).ended, Ended::Exited(1));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(ground.python_outside(&code).status.success());
    listener.accept().unwrap();
    Shown::Held
}

fn see_network_interfaces(ground: &Ground) -> Shown {
    let inside = text(&ground.sh("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat /proc/net/route").stdout);
    assert_eq!(inside.lines().next(), Some("lo"), "{inside}");
    // No way to anywhere: the table of routes has its head and nothing below it.
    assert!(inside.lines().skip(1).all(|line| line.starts_with("Iface")), "{inside}");
    Shown::Held
}

/// Test suites start servers of their own; inside, loopback is the cell's and nobody else's.
fn talk_to_its_own_server(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import socket; s = socket.create_server(('127.0.0.1', 0)); \
                c = socket.create_connection(s.getsockname(), 5); s.accept()[0].sendall(b'hello'); print(c.recv(5))";
    let inside = ground.python(code);
    assert_eq!(inside.ended, Ended::Exited(0), "{}", text(&inside.stderr));
    assert_eq!(text(&inside.stdout).trim(), "b'hello'");
    Shown::Held
}
