//! The doors: HTTP, the WebSocket and the page it serves, pairing, the control socket of the terminal,
//! and beside it the way on which secrets come in.
//!
//! A door shows what the runtime computed and hands in what devices signed. It decides nothing and holds no key but the
//! one that its certificate is for.
//! Deliberately absent: cookies (ports of localhost share them), tokens in addresses, trust in loopback. Whoever is not
//! paired can pair and do nothing else.

mod access;
mod acting;
mod assets;
mod begun;
mod caller;
pub mod control;
mod deliveries;
mod guard;
mod guests;
mod health;
mod hearing;
mod http;
mod limiter;
mod listeners;
mod metrics;
mod open_sockets;
pub mod openapi;
mod pace;
mod pairing;
pub mod protocol;
mod reads;
pub mod secret_door;
mod secret_post;
mod session;
mod socket;
mod tallies;
mod tls;
mod whose;

pub use access::AccessToken;
pub use http::{Door, Options};
pub use listeners::{Listeners, NetworkDoor, Ports, is_free as port_is_free};
pub use tls::{Tls, validity};
pub use whose::listens_at;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "Port {port} is taken on {address}, perhaps by another Silas. Stop what uses it, or take another port: `silas start \
         --port {}`.", port.checked_add(1).unwrap_or(8421)
    )]
    Taken { address: String, port: u16 },
    #[error(
        "Port {port} is held on {address} by a program of another user of this machine (user id {uid}). Whatever it shows a \
         browser at this address can act as every browser that was paired here, also later. Start Silas on another port with \
         `silas start --port {}`, take those browsers out with `silas device list` and `silas device revoke`, clear what they \
         keep for this address, and pair them again.", port.checked_add(1).unwrap_or(8421)
    )]
    TakenByAnother { address: String, port: u16, uid: u32 },
    #[error("{address} cannot be listened on: {cause}")]
    Listen { address: String, cause: std::io::Error },
    #[error("The certificate cannot be used: {reason}.")]
    Certificate { reason: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
