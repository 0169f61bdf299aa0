//! Taking back: what a device signs to withdraw a device or a grant, and the numbered list that the root key makes of it.
//!
//! A withdrawal only takes away, yet it is signed like a decision: whoever took over the front could otherwise lock the
//! owner out for good. Lists only grow, and each has a higher number than the last, so an old one never counts again.
//!
//! Deliberately absent: memory. The engine and the launcher each remember the highest list they have seen.

use crate::device::{Certificate, Mismatch};
use crate::evidence::{Anchor, Refusal};
use crate::signature::{PublicKey, Signature};
use crate::token::Token;
use crate::{InstallationId, KeyId, Nonce, Timestamp, TokenId, canonical};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// What is withdrawn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Withdrawn {
    /// A device: nothing that it signed counts any more, unless it is in place already.
    Device(KeyId),
    /// One decision: a standing rule, a directory, an approval that is not used up.
    Grant(TokenId),
    /// Several of those at once, under one signature.
    Grants(BTreeSet<TokenId>),
}

/// Keeps a withdrawal apart from everything else that is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WithdrawalKind {
    Withdrawal,
}

/// What a device signs to withdraw something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithdrawalBody {
    pub kind: WithdrawalKind,
    pub installation: InstallationId,
    pub epoch: u64,
    /// The device that withdraws; it may withdraw itself.
    pub key: KeyId,
    pub what: Withdrawn,
    pub nonce: Nonce,
    pub timestamp: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Withdrawal {
    pub body: WithdrawalBody,
    pub signature: Signature,
}

/// How old a withdrawal may be. Repeating one changes nothing, so this only keeps old ones from surprising anybody.
const FRESH: Duration = Duration::from_secs(300);

impl WithdrawalBody {
    pub fn message(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Withdrawal {
    /// Whether a device of this installation, itself not revoked, wants this now.
    pub fn verify(
        &self,
        certificate: &Certificate,
        anchor: &Anchor,
        revocations: &Revocations,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let body = &self.body;
        certificate.check(&anchor.root, &anchor.installation).map_err(Refusal::Certificate)?;
        if body.key != certificate.body.key {
            return Err(Refusal::Key);
        }
        let message = body.message().map_err(|e| Refusal::Malformed(e.to_string()))?;
        if !certificate.vouches_for(message.as_bytes(), &self.signature) {
            return Err(Refusal::Signature);
        }
        if body.installation != anchor.installation {
            return Err(Refusal::Installation);
        }
        if body.epoch != anchor.epoch {
            return Err(Refusal::Epoch);
        }
        if revocations.has_device(&body.key) {
            return Err(Refusal::RevokedDevice);
        }
        if now.since(body.timestamp) > FRESH {
            return Err(Refusal::Expired);
        }
        if body.timestamp.since(now) > FRESH {
            return Err(Refusal::NotYet);
        }
        Ok(())
    }
}

/// Everything that is revoked, under a number. Complete: a reader needs the highest one and no other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevocationBody {
    pub v: u32,
    pub installation: InstallationId,
    /// From 1, and one more with each list.
    pub number: u64,
    pub devices: BTreeSet<KeyId>,
    pub grants: BTreeSet<TokenId>,
    pub issued_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevocationList {
    pub body: RevocationBody,
    pub signature: Signature,
}

/// Entries of each sort that a list may have. It is read before every run, and at this length still in a few milliseconds;
/// whoever takes everything back, again and again, must not run into it.
pub const REVOKED_MAX: usize = 10_000;

impl RevocationBody {
    pub const VERSION: u32 = 1;

    pub fn message(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }

    pub fn is_within_bounds(&self) -> bool {
        self.devices.len() <= REVOKED_MAX && self.grants.len() <= REVOKED_MAX
    }
}

impl RevocationList {
    /// Whether the root key of this installation made this list; otherwise what does not fit.
    pub fn check(&self, root: &PublicKey, installation: &InstallationId) -> Result<(), Mismatch> {
        if self.body.v != RevocationBody::VERSION || self.body.number == 0 || !self.body.is_within_bounds() {
            return Err(Mismatch::Version);
        }
        if self.body.installation != *installation {
            return Err(Mismatch::Installation);
        }
        let message = self.body.message().map_err(|_| Mismatch::Signature)?;
        if root.verifies(message.as_bytes(), &self.signature) { Ok(()) } else { Err(Mismatch::Signature) }
    }
}

/// The list that is in force: checked, or none yet. Can be made only by checking.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Revocations(Option<RevocationList>);

impl Revocations {
    pub fn checked(list: RevocationList, anchor: &Anchor) -> Result<Self, Refusal> {
        list.check(&anchor.root, &anchor.installation).map_err(Refusal::Revocations)?;
        Ok(Revocations(Some(list)))
    }

    /// This one, followed by another: refused if the other is older.
    pub fn followed_by(&self, list: RevocationList, anchor: &Anchor) -> Result<Self, Refusal> {
        let next = Revocations::checked(list, anchor)?;
        if next.number() < self.number() { Err(Refusal::Revocations(Mismatch::Number)) } else { Ok(next) }
    }

    pub fn list(&self) -> Option<&RevocationList> {
        self.0.as_ref()
    }

    /// 0 before anything was revoked.
    pub fn number(&self) -> u64 {
        self.0.as_ref().map_or(0, |list| list.body.number)
    }

    pub fn has_device(&self, key: &KeyId) -> bool {
        self.0.as_ref().is_some_and(|list| list.body.devices.contains(key))
    }

    pub fn has_grant(&self, token: &TokenId) -> bool {
        self.0.as_ref().is_some_and(|list| list.body.grants.contains(token))
    }

    pub fn has(&self, what: &Withdrawn) -> bool {
        match what {
            Withdrawn::Device(key) => self.has_device(key),
            Withdrawn::Grant(token) => self.has_grant(token),
            Withdrawn::Grants(tokens) => tokens.iter().all(|token| self.has_grant(token)),
        }
    }

    /// Whether a decision still counts, as far as revocation goes.
    pub fn allow(&self, token: &Token) -> Result<(), Refusal> {
        if self.has_device(&token.body.key) {
            return Err(Refusal::RevokedDevice);
        }
        let id = token.id().map_err(|e| Refusal::Malformed(e.to_string()))?;
        if self.has_grant(&id) { Err(Refusal::RevokedGrant) } else { Ok(()) }
    }

    /// What the root key should sign next to take `what` away as well.
    pub fn next(&self, what: &Withdrawn, installation: &InstallationId, now: Timestamp) -> RevocationBody {
        let known = self.0.as_ref().map(|list| &list.body);
        let mut body = RevocationBody {
            v: RevocationBody::VERSION,
            installation: installation.clone(),
            number: self.number() + 1,
            devices: known.map_or_else(BTreeSet::new, |body| body.devices.clone()),
            grants: known.map_or_else(BTreeSet::new, |body| body.grants.clone()),
            issued_at: now,
        };
        match what {
            Withdrawn::Device(key) => body.devices.extend([key.clone()]),
            Withdrawn::Grant(token) => body.grants.extend([token.clone()]),
            Withdrawn::Grants(tokens) => body.grants.extend(tokens.iter().cloned()),
        }
        body
    }
}

#[cfg(test)]
mod tests;
