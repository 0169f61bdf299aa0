//! The server's own key. It signs heads of the ledger and nothing else, and lies where the server may read.
//!
//! Architecture invariant (INV-01): the root key never certifies it, so nothing that it signs is a decision; its type can
//! express nothing but a statement about the ledger.

use crate::keys;
use ed25519_dalek::SigningKey;
use silas_core::checkpoint::{Claim, Head, Statement, StatementBody};
use silas_core::evidence::Anchor;
use silas_core::signature::PublicKey;
use silas_core::{Timestamp, canonical};
use std::io;
use std::path::Path;

pub struct ServerKey {
    key: SigningKey,
}

impl ServerKey {
    /// Makes one where there is none. A damaged one is an error.
    pub fn load_or_make(path: &Path) -> io::Result<Self> {
        Ok(ServerKey { key: keys::load_or_make_plain(path)? })
    }

    pub fn load(path: &Path) -> io::Result<Self> {
        Ok(ServerKey { key: keys::load_plain(path)? })
    }

    pub fn public(&self) -> PublicKey {
        PublicKey::from_bytes(self.key.verifying_key().to_bytes())
    }

    /// Says something about a head of this installation's ledger.
    pub fn state(
        &self,
        claim: Claim,
        anchor: &Anchor,
        head: Head,
        at: Timestamp,
    ) -> Result<Statement, canonical::Error> {
        let installation = anchor.installation.clone();
        let body = StatementBody { v: StatementBody::VERSION, claim, installation, epoch: anchor.epoch, head, at };
        let signature = keys::sign_text(&self.key, &body.message()?);
        Ok(Statement { body, signature })
    }
}

#[cfg(test)]
mod tests;
