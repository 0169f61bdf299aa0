//! What somebody said, and the bytes that a device signs when the owner says it.

use crate::signature::Signature;
use crate::{InstallationId, MessageId, Nonce, Taint, Timestamp, canonical};
use serde::{Deserialize, Serialize};

/// Longest message, in bytes. A plan that is longer belongs in a file.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024;

/// What a device signs: the text, when, a nonce that is used once, and for whom.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageBody {
    pub text: String,
    pub timestamp: Timestamp,
    pub nonce: Nonce,
    pub installation: InstallationId,
    /// Whose conversation this belongs to: signed for one, it is not heard in another. Messages of the first versions had
    /// none; they stay readable and keep the bytes that were signed, and none is heard any more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
}

/// The owner's own conversation; the only one in this version.
pub const OWNER_SCOPE: &str = "owner";

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedMessage {
    pub body: MessageBody,
    pub signature: Signature,
}

/// A message as a door hands it in. Without a signature it is at most a known channel's word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeardMessage {
    pub body: MessageBody,
    pub signature: Option<Signature>,
}

impl HeardMessage {
    pub fn signed(&self) -> Option<SignedMessage> {
        Some(SignedMessage { body: self.body.clone(), signature: self.signature.clone()? })
    }
}

/// A message that has arrived. Its taint was decided when it did, and has no default.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub channel: Channel,
    pub text: String,
    pub at: Timestamp,
    pub taint: Taint,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Web,
    Cli,
}

impl MessageBody {
    pub fn message(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}
