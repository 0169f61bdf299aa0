//! The root key hands over: what the old key signs about the new one, and the list of all the times that it happened.
//!
//! From a hand-over on the old key counts for nothing: whatever it had vouched for is vouched for anew by its successor in
//! the same step, so a certificate or a list that it signs later, however it is dated, fits no root key that anybody here
//! stands on. Both keys sign, so that nobody can be handed a key that somebody else holds.
//!
//! Deliberately absent: making keys, and any memory. The keys' own directory and the launcher each remember the list.

use crate::device::Mismatch;
use crate::signature::{PublicKey, Signature};
use crate::{InstallationId, KeyId, Timestamp, canonical};
use serde::{Deserialize, Serialize};

/// Hand-overs that one installation can have; one each month lasts eight years.
pub const HANDOVERS_MAX: usize = 100;

/// What both keys sign.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverBody {
    pub v: u32,
    pub installation: InstallationId,
    /// From 1, and one more with each.
    pub number: u64,
    pub from: PublicKey,
    pub to: PublicKey,
    /// The number of the revocation list that the new key begins with; 0 if nothing was ever revoked.
    pub revocations: u64,
    pub at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    pub body: HandoverBody,
    /// Of the key that hands over.
    pub signature: Signature,
    /// Of the key that takes over.
    pub accepted: Signature,
}

impl HandoverBody {
    pub const VERSION: u32 = 1;

    /// The bytes that are signed.
    pub fn message(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Handover {
    /// Whether both keys signed this for this installation, under this number; otherwise what does not fit.
    pub fn check(&self, installation: &InstallationId, number: u64) -> Result<(), Mismatch> {
        let body = &self.body;
        if body.v != HandoverBody::VERSION {
            return Err(Mismatch::Version);
        }
        if body.installation != *installation {
            return Err(Mismatch::Installation);
        }
        if body.number != number {
            return Err(Mismatch::Order);
        }
        if body.from == body.to {
            return Err(Mismatch::Key);
        }
        let message = body.message().map_err(|_| Mismatch::Signature)?;
        if !body.from.verifies(message.as_bytes(), &self.signature) {
            return Err(Mismatch::Signature);
        }
        if body.to.verifies(message.as_bytes(), &self.accepted) { Ok(()) } else { Err(Mismatch::Unaccepted) }
    }
}

/// Every hand-over from the first root key to the one that holds now, checked. Can be made only by checking.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Handovers(Vec<Handover>);

impl Handovers {
    /// Whether these lead, one after the other, to `root`; otherwise what does not fit.
    pub fn checked(list: Vec<Handover>, root: &PublicKey, installation: &InstallationId) -> Result<Self, Mismatch> {
        if list.len() > HANDOVERS_MAX {
            return Err(Mismatch::Version);
        }
        let mut before: Option<PublicKey> = None;
        for (handover, number) in list.iter().zip(1..) {
            handover.check(installation, number)?;
            if before.is_some_and(|before| before != handover.body.from) {
                return Err(Mismatch::Order);
            }
            // A key that was left is never taken up again.
            if list.iter().filter(|other| other.body.from == handover.body.to).any(|other| other.body.number <= number)
            {
                return Err(Mismatch::Key);
            }
            before = Some(handover.body.to);
        }
        match before {
            Some(last) if last != *root => Err(Mismatch::Successor),
            _ => Ok(Handovers(list)),
        }
    }

    pub fn list(&self) -> &[Handover] {
        &self.0
    }

    /// How many there were; 0 while the first key holds.
    pub fn number(&self) -> u64 {
        self.0.len() as u64
    }

    /// The key with which the installation began. `root` is the one that holds now.
    pub fn first(&self, root: &PublicKey) -> KeyId {
        self.0.first().map_or_else(|| root.id(), |first| first.body.from.id())
    }
}

#[cfg(test)]
mod tests;
