//! Devices of the owner and the certificates by which the root key vouches for them.

use crate::signature::{PublicKey, Signature};
use crate::{InstallationId, KeyId, Timestamp, canonical};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A paired browser; its key never leaves it.
    Browser,
    /// The terminal of the owner's account on this machine.
    Terminal,
}

/// What the root key signs about a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateBody {
    pub v: u32,
    pub kind: DeviceKind,
    pub installation: InstallationId,
    /// What the owner calls the device; shown beside decisions taken on it.
    pub name: String,
    pub key: KeyId,
    pub public: PublicKey,
    pub issued_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    pub body: CertificateBody,
    pub signature: Signature,
}

/// Longest name of a device, in characters.
pub const DEVICE_NAME_CHARS_MAX: usize = 60;

impl Certificate {
    /// Whether the root key vouches for this device at this installation.
    pub fn verifies(&self, root: &PublicKey, installation: &InstallationId) -> bool {
        let Ok(message) = canonical::text(&self.body) else { return false };
        self.body.v == 1
            && self.body.key == self.body.public.id()
            && self.body.installation == *installation
            && root.verifies(message.as_bytes(), &self.signature)
    }
}
