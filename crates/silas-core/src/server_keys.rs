//! The keys that sign the ledger's heads, one after the other, and which of them may say what.
//!
//! The root key certifies each, and each certificate but the first names the key that it replaces and the last entry that
//! that one can still vouch for. So a checkpoint of an old key stays good for what the key saw, and one for anything later
//! is refused, whoever holds the key. The entry itself is part of what the root key signed: a ledger without it is not
//! this one.

use crate::checkpoint::{Claim, Head, ServerCertificate, Statement};
use crate::device::Mismatch;
use crate::signature::PublicKey;
use crate::{InstallationId, KeyId};

/// Server keys that one installation can have; one each month lasts eight years.
pub const SERVER_KEYS_MAX: usize = 100;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerKeys {
    /// Oldest first, each with the last entry that it may vouch for.
    past: Vec<(PublicKey, Head)>,
    current: PublicKey,
    is_vouched: bool,
}

/// Why a statement about the ledger does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// No server key of this installation signed it.
    NotOurs,
    /// One did that had been replaced at this entry.
    Replaced { at: u64 },
}

impl ServerKeys {
    /// A key for which the root key has not vouched yet, and none before it.
    pub fn only(current: PublicKey) -> Self {
        ServerKeys { past: Vec::new(), current, is_vouched: false }
    }

    /// From the certificates, oldest first. Otherwise what does not fit.
    pub fn checked(
        certificates: &[ServerCertificate],
        root: &PublicKey,
        installation: &InstallationId,
    ) -> Result<Self, Mismatch> {
        if certificates.len() > SERVER_KEYS_MAX {
            return Err(Mismatch::Version);
        }
        let mut keys: Option<ServerKeys> = None;
        for certificate in certificates {
            certificate.check(root, installation)?;
            let public = certificate.body.public;
            keys = Some(match (keys, &certificate.body.replaces) {
                (None, None) => ServerKeys { past: Vec::new(), current: public, is_vouched: true },
                (Some(known), Some(replaced)) => {
                    let is_next = replaced.key == known.current.id()
                        && known.past.last().is_none_or(|(_, last)| last.seq <= replaced.last.seq);
                    let is_new = public != known.current && known.past.iter().all(|(old, _)| *old != public);
                    if !is_next || !is_new {
                        return Err(Mismatch::Order);
                    }
                    let mut past = known.past;
                    past.push((known.current, replaced.last));
                    ServerKeys { past, current: public, is_vouched: true }
                }
                (None, Some(_)) | (Some(_), None) => return Err(Mismatch::Order),
            });
        }
        keys.ok_or(Mismatch::Key)
    }

    pub fn current(&self) -> PublicKey {
        self.current
    }

    /// Whether the root key stands behind them.
    pub fn is_vouched(&self) -> bool {
        self.is_vouched
    }

    /// All of them, oldest first.
    pub fn ids(&self) -> Vec<KeyId> {
        self.past.iter().map(|(old, _)| old.id()).chain([self.current.id()]).collect()
    }

    /// The entries that the root key signed for when a key was replaced: the ledger must hold exactly these.
    pub fn pinned(&self) -> impl Iterator<Item = Head> + '_ {
        self.past.iter().map(|(_, last)| *last)
    }

    /// Whether one of them made this claim about this installation's ledger, and may have.
    pub fn judge(&self, statement: &Statement, claim: Claim, installation: &InstallationId) -> Result<(), Unfit> {
        if statement.body.installation != *installation {
            return Err(Unfit::NotOurs);
        }
        if statement.verifies(&self.current, claim) {
            return Ok(());
        }
        let signer = self.past.iter().find(|(old, _)| statement.verifies(old, claim));
        let (_, last) = signer.ok_or(Unfit::NotOurs)?;
        if statement.body.head.seq <= last.seq { Ok(()) } else { Err(Unfit::Replaced { at: last.seq }) }
    }
}

#[cfg(test)]
mod tests;
