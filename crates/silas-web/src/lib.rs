//! The doors: HTTP, the WebSocket and the page it serves, pairing, the control socket of the terminal,
//! and beside it the way on which secrets come in.
//!
//! A door shows what the runtime computed and hands in what devices signed. It decides nothing and holds no key.
//! Deliberately absent: cookies (ports of localhost share them), tokens in addresses, trust in loopback. Whoever is not
//! paired can pair and do nothing else.

mod assets;
pub mod control;
mod guard;
mod http;
mod limiter;
pub mod protocol;
pub mod secret_door;
mod session;

pub use http::{Door, Listeners, Options};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Port {port} is taken on {address}. Stop what uses it, or start with `--port`.")]
    Taken { address: String, port: u16 },
    #[error("{address} cannot be listened on: {cause}")]
    Listen { address: String, cause: std::io::Error },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
