//! The server's own key. It signs heads of the ledger and nothing else, and lies where the server may read.
//!
//! Architecture invariant (INV-01): the root key says of it only that it vouches for the ledger, in a certificate that is
//! no device's ([`ServerCertificate`]); so nothing that it signs is a decision, and its own type can express nothing but a
//! statement about the ledger.

use crate::durable;
use crate::keys;
use ed25519_dalek::SigningKey;
use silas_core::checkpoint::{Claim, Head, Purpose, Replaced, ServerCertificateBody, Statement, StatementBody};
use silas_core::evidence::Anchor;
use silas_core::signature::PublicKey;
use silas_core::{Timestamp, canonical};
use std::io;
use std::path::{Path, PathBuf};

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

    /// Puts a new key beside `path`, to take its place when the root key has vouched for it.
    pub fn make_next(path: &Path) -> io::Result<Self> {
        Ok(ServerKey { key: keys::make_plain(&next(path))? })
    }

    /// After a crash, and at the end of every exchange: the key for which the root key vouched last takes its place, and one
    /// for which it never did goes.
    pub fn settle(path: &Path, vouched: Option<&PublicKey>) -> io::Result<()> {
        let next = next(path);
        if !next.exists() {
            return Ok(());
        }
        if Some(&ServerKey::load(&next)?.public()) == vouched {
            durable::rename(&next, path)
        } else {
            durable::remove(&next)
        }
    }

    pub fn public(&self) -> PublicKey {
        PublicKey::from_bytes(self.key.verifying_key().to_bytes())
    }

    /// What the root key is asked to say about this key, and about the one that it takes over from.
    pub fn to_be_certified(&self, anchor: &Anchor, at: Timestamp, replaces: Option<Replaced>) -> ServerCertificateBody {
        let public = self.public();
        ServerCertificateBody {
            v: ServerCertificateBody::VERSION,
            purpose: Purpose::Ledger,
            installation: anchor.installation.clone(),
            key: public.id(),
            public,
            issued_at: at,
            replaces,
        }
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

fn next(path: &Path) -> PathBuf {
    path.with_extension("next")
}

#[cfg(test)]
mod tests;
