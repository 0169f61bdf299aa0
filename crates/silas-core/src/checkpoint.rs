//! The ledger's head, and what the server key says about it.
//!
//! The server key vouches for nothing else. The root key says so in a [`ServerCertificate`], which is another type than a
//! device's: nothing that takes a device's can be handed one, so nothing that the server key signs can pass for a decision.
//! Whoever can read the key can sign other heads; that a tail was cut shows only against a head that was kept elsewhere.

use crate::device::Mismatch;
use crate::signature::{PublicKey, Signature};
use crate::{Digest, InstallationId, KeyId, Timestamp, canonical};
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

/// What a key may be used for that decides nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Statements about heads of the ledger.
    Ledger,
}

/// What the root key signs about the server key. Its fields are not a device's, so its canonical text is never that of a
/// device's certificate, and its signature fits none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerCertificateBody {
    pub v: u32,
    pub purpose: Purpose,
    pub installation: InstallationId,
    pub key: KeyId,
    pub public: PublicKey,
    pub issued_at: Timestamp,
    /// The key that this one takes over from; the first of an installation has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Replaced>,
}

/// The key that was the server's until then. It vouches for nothing after this entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaced {
    pub key: KeyId,
    pub last: Head,
}

/// By this, whoever knows the root key can tell a checkpoint of this installation from any other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerCertificate {
    pub body: ServerCertificateBody,
    pub signature: Signature,
}

impl ServerCertificateBody {
    pub const VERSION: u32 = 1;

    /// Whether this says what a certificate of that installation may say.
    pub fn check(&self, installation: &InstallationId) -> Result<(), Mismatch> {
        if self.v != ServerCertificateBody::VERSION {
            return Err(Mismatch::Version);
        }
        let replaces_itself = self.replaces.as_ref().is_some_and(|replaced| replaced.key == self.key);
        if self.key != self.public.id() || replaces_itself {
            return Err(Mismatch::Key);
        }
        if self.installation == *installation { Ok(()) } else { Err(Mismatch::Installation) }
    }

    /// The bytes that are signed.
    pub fn message(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl ServerCertificate {
    /// Whether the root key vouches for this key at this installation; otherwise what does not fit.
    pub fn check(&self, root: &PublicKey, installation: &InstallationId) -> Result<(), Mismatch> {
        self.body.check(installation)?;
        let message = self.body.message().map_err(|_| Mismatch::Signature)?;
        if root.verifies(message.as_bytes(), &self.signature) { Ok(()) } else { Err(Mismatch::Signature) }
    }
}
