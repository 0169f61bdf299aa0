//! The trust kernel: keys, devices, decisions, and the witness without which nothing runs.
//!
//! A decision is made by a device of the owner and signed there. This room checks it, spends it once, and hands out an
//! [`Approved`], which only this room can make. The engine never signs: the private keys are touched by
//! [`keys::helper`] alone, in a process that lives for one request.
//!
//! Beside them lies the [`vault`] of service secrets, whose key is another and whose values no decision depends on.
//!
//! Deliberately absent: running anything, asking anybody, and, outside of that process, any key that could approve.

mod durable;
pub mod engine;
mod keyring;
pub mod keys;
pub mod lock;
pub mod sealing;
pub mod server_key;
pub mod vault;
pub mod witness;

pub use engine::{Engine, Grant, Recorded, Refusal};
pub use server_key::ServerKey;
pub use silas_core::house_rules;
pub use vault::Vault;
pub use witness::{Admitted, Apply, Approvable, Approved, Askable, Rehearsal};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] silas_store::Error),
    #[error("a body cannot be written for signing: {0}")]
    Canonical(#[from] silas_core::canonical::Error),
}

/// Closures of the store end in the store's error; ours fits in.
impl From<Error> for silas_store::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error,
            Error::Canonical(error) => error.into(),
        }
    }
}
