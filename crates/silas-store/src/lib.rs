//! What must not be forgotten: the agent's domain in one SQLite file, and the ledger of everything that happened.
//!
//! A change is a closure over a [`Tx`]; the one writer runs waiting closures in groups, each group in one commit, and an
//! answer leaves only after that commit. A look is a closure over a [`ReadTx`]. What happened is recorded in the same
//! transaction as the fact itself ([`Tx::record`]), so neither is ever without the other.
//!
//! The files `settings`, `devices`, `nonces`, `chronicle`, `inbound`, `work_items`, `cards`, `tokens` and `executions` are
//! one table each. Their functions that look take a [`ReadTx`], their functions that change take a [`Tx`].
//!
//! Deliberately absent: decisions. Whether a signature is good, a card is expired or a plan may run is asked elsewhere; the
//! store keeps counts honest and forgets nothing that it acknowledged.

pub mod cards;
mod checkpoint;
pub mod chronicle;
mod columns;
mod connect;
pub mod devices;
mod error;
pub mod executions;
pub mod inbound;
pub mod ledger;
mod migrations;
pub mod nonces;
mod pending;
mod queue;
mod reader;
pub mod settings;
mod store;
pub mod tokens;
mod tx;
pub mod work_items;
mod write;
mod writer;

pub use error::Error;
pub use pending::Pending;
pub use queue::Lane;
pub use reader::Reader;
pub use rusqlite::{Row, params};
pub use store::Store;
pub use tx::{ReadTx, Tx};
pub use write::{Abort, Commit, Durability};
