//! What must not be forgotten: the agent's domain with the ledger of everything that happened in one SQLite file, and what
//! the owner wrote in another.
//!
//! A change is a closure over a [`Tx`]; the one writer runs waiting closures in groups, each group in one commit, and an
//! answer leaves only after that commit. A look is a closure over a [`ReadTx`]. What happened is recorded in the same
//! transaction as the fact itself ([`Tx::record`]), so neither is ever without the other.
//!
//! No transaction spans the two files. What happens in the human's reaches the ledger by the [`outbox`], a change that
//! crosses both is a [`saga`]. `tasks` is the human's; everything else is the agent's.
//!
//! The files `settings`, `devices`, `sessions`, `nonces`, `chronicle`, `channel_outbox`, `queue`, `work_items`, `cards`,
//! `tokens` and `executions` are one table each, `model_calls` is two, `answers` is one; `undo_records` is a part of the last. Their functions that look take a [`ReadTx`], their functions that change take a [`Tx`].
//!
//! What a person may see, or is kept for one, has a scope: whatever makes such a row or looks for some takes it first. What is
//! given the id of a row does not: the id leads to that row alone, and where it came from it was looked for in its scope. Upkeep
//! goes over every scope.
//!
//! Deliberately absent: decisions. Whether a signature is good, a card is expired or a plan may run is asked elsewhere; the
//! store keeps counts honest and forgets nothing that it acknowledged.

pub mod answers;
pub mod audit;
pub mod books;
pub mod cards;
pub mod channel_outbox;
mod checkpoint;
pub mod checkpoints;
pub mod chronicle;
mod columns;
mod connect;
pub mod counts;
pub mod damage;
mod database;
pub mod devices;
mod error;
pub mod executions;
pub mod export;
pub mod forgetting;
mod host;
pub mod instructions;
mod lanes;
pub mod ledger;
mod lock;
mod migrations;
pub mod model_calls;
pub mod nonces;
pub mod outbox;
mod pending;
mod pressure;
pub mod probes;
pub mod queue;
mod reader;
pub mod retention;
pub mod rotations;
pub mod rows;
pub mod saga;
pub mod segment;
pub mod sessions;
pub mod settings;
pub mod snapshot;
mod store;
pub mod take_over;
pub mod tasks;
pub mod tokens;
mod tx;
pub mod undo_records;
mod upgrade;
pub mod work_items;
mod write;
mod writer;

pub use database::{Agent, Database, Human};
pub use error::Error;
pub use lanes::Lane;
pub use pending::Pending;
pub use pressure::{Pressure, Waiting};
pub use reader::Reader;
pub use rusqlite::{Row, params};
pub use store::Store;
pub use tx::{Change, ReadTx, Tx};
pub use write::{Abort, Commit, Durability};
