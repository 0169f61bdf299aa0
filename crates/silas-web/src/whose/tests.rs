//! The kernel's table as it is written, and as it is on this machine now.

use super::*;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;

fn me() -> u32 {
    std::fs::metadata("/proc/self").unwrap().uid()
}

#[cfg(target_endian = "little")]
#[test]
fn a_line_is_read_as_the_kernel_writes_it() {
    let text =
        "   7: 0100007F:D2F0 0100007F:20E4 01 00000000:00000000 00:00000000 00000000  1000        0 81516 1 0000 20";
    let line = read(text).unwrap();
    assert_eq!((line.here, line.there), ("127.0.0.1:54000".parse().unwrap(), "127.0.0.1:8420".parse().unwrap()));
    assert_eq!((line.state, line.uid, line.inode), ("01", 1000, 81516));
    let text =
        "   0: 0000000000000000FFFF00000100007F:20E4 00000000000000000000000001000000:0050 0A 0:0 0:0 0 65534 0 9 1";
    let line = read(text).unwrap();
    assert_eq!((line.here, line.there), ("127.0.0.1:8420".parse().unwrap(), "[::1]:80".parse().unwrap()));
    for bad in ["", "  sl  local_address rem_address   st tx_queue", "0: 01:1 02:2 01 0 0 0 x 0 0", "0: 0100007F 1 2"] {
        assert_eq!(read(bad), None, "{bad}");
    }
}

/// By both ways, where the kernel answers questions.
fn holder(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    let found = looked_up(theirs, ours);
    match asked(theirs, ours) {
        Some(holder) => assert_eq!(holder, found),
        None => println!("skipped: this kernel answers no questions"),
    }
    found
}

#[test]
fn an_open_connection_has_a_user_and_a_closed_one_has_none() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            println!("skipped: {address} is not here");
            continue;
        };
        let ours = listener.local_addr().unwrap();
        assert_eq!(listens_at(ours), Some(vec![me()]));
        let client = TcpStream::connect(ours).unwrap();
        let (taken, theirs) = listener.accept().unwrap();
        assert_eq!(holder(theirs, ours), Some(me()));
        assert_eq!(holder(ours, ours), None);
        // Whoever has hung up is nobody, not root, as which the kernel counts what has no owner.
        drop(client);
        assert_eq!(holder(theirs, ours), None);
        drop(taken);
    }
}

/// As some clients do: one kind of socket for both versions.
#[test]
fn a_mapped_address_is_the_same_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = listener.local_addr().unwrap();
    let Ok(_client) = TcpStream::connect(format!("[::ffff:127.0.0.1]:{}", ours.port())) else {
        println!("skipped: there is no version 6");
        return;
    };
    let (_taken, theirs) = listener.accept().unwrap();
    assert_eq!(holder(theirs, ours), Some(me()));
}
