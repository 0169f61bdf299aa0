//! The ledger's head, and what the server key says about it.
//!
//! The server key vouches for nothing else: no device certificate is made for it, so nothing that it signs can pass for a
//! decision. Whoever can read it can sign other heads; that a tail was cut shows only against a head that was kept
//! elsewhere.

use crate::signature::{PublicKey, Signature};
use crate::{Digest, InstallationId, Timestamp, canonical};
use serde::{Deserialize, Serialize};

/// An entry of the ledger by its number and its hash, which covers everything before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub seq: u64,
    pub hash: Digest,
}

/// What is said of a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// This entry was written here.
    Checkpoint,
    /// Every entry up to this one was read again and was what had been written.
    VerifiedPrefix,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementBody {
    pub v: u32,
    pub claim: Claim,
    pub installation: InstallationId,
    pub epoch: u64,
    pub head: Head,
    pub at: Timestamp,
}

/// A claim about a head, signed by the server key over the canonical text of its body.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub body: StatementBody,
    pub signature: Signature,
}

impl StatementBody {
    pub const VERSION: u32 = 1;

    /// The bytes that are signed.
    pub fn message(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Statement {
    /// Whether `server` made this claim.
    pub fn verifies(&self, server: &PublicKey, claim: Claim) -> bool {
        let Ok(message) = self.body.message() else { return false };
        self.body.v == StatementBody::VERSION
            && self.body.claim == claim
            && server.verifies(message.as_bytes(), &self.signature)
    }
}
