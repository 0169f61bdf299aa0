//! A free port is one that both loopback addresses have free.

use super::*;
use std::cell::RefCell;

fn any(address: SocketAddr) -> Result<std::net::TcpListener, Error> {
    bind(SocketAddr::new(address.ip(), 0))
}

fn held(at: SocketAddr) -> Error {
    Error::Taken { address: at.ip().to_string(), port: at.port() }
}

/// Somebody's connection to the other address goes out by the port that the first one has free.
#[test]
fn any_port_that_one_address_has_not_free_is_exchanged_for_another() {
    let taken = RefCell::new(Vec::new());
    let bind_one = |at: SocketAddr| {
        if at.is_ipv6() && taken.borrow().len() < 3 {
            taken.borrow_mut().push(at.port());
            return Err(held(at));
        }
        bind(at)
    };
    let (listeners, port) = bind_both_by(0, bind_one).unwrap();
    assert!(taken.borrow().len() == 3 && port > 0, "{:?} {port}", taken.borrow());
    assert!(listeners.iter().all(|listener| listener.local_addr().unwrap().port() == port));
}

#[test]
fn a_port_that_was_named_is_that_one_or_none() {
    let n_tried = RefCell::new(0);
    let bind_one = |at: SocketAddr| {
        *n_tried.borrow_mut() += 1;
        if at.is_ipv6() { Err(held(at)) } else { any(at) }
    };
    assert!(matches!(bind_both_by(9999, bind_one), Err(Error::Taken { .. })));
    assert_eq!(*n_tried.borrow(), 2);
}
