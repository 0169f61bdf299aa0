//! What somebody said, and the bytes that a device signs when the owner says it.

use crate::inquiry::Handed;
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
pub const OWNER_SCOPE: &str = crate::scope::OWNER;

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
    /// How far it had come when a model had a question about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed: Option<Box<Handed>>,
}

/// What came of a message. Whoever decides it says so, and nobody has to read it out of the words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CameOf {
    /// It asked for words, and has them.
    Answered,
    /// What it asked for has happened.
    Done,
    /// Work on it has begun; how that goes is told by the work.
    Begun,
    /// A card asks the owner first, and until then nothing happens.
    Asked,
    /// Nothing was made of it.
    Refused,
}

/// Which message an entry of the Stream answers, and what came of that message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answering {
    pub message: MessageId,
    pub came_of: CameOf,
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

    /// What the message is called if it counts as the owner's: the device that signs it knows that before it is sent, and so
    /// which entry of the Stream is its own and which one answers it.
    pub fn id(&self) -> Option<MessageId> {
        let rest = self.nonce.as_str().strip_prefix(Nonce::PREFIX)?;
        MessageId::parse(&format!("{}{rest}", MessageId::PREFIX)).ok()
    }
}
