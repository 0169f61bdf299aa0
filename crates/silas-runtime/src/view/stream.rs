//! What the Stream shows: what was said, who listens, and what a device finds that was away.

use serde::{Deserialize, Serialize};
use silas_core::message::Answering;
use silas_core::model::Role;
use silas_core::session::SessionType;
use silas_core::{MessageId, SessionId, Timestamp};

/// What a model has said so far.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct DraftView {
    /// The id that the answer will have.
    pub reply: MessageId,
    /// Whole sentences, all of them from the beginning.
    pub text: String,
    /// Whether an earlier draft could not be used, and the model was asked once more.
    pub is_second: bool,
}

/// A model that was asked and has not answered yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AskedModelView {
    /// What the owner calls it.
    pub model: String,
    pub role: Role,
    /// Whether a piece of work waits for it, and no message.
    pub for_work: bool,
    /// The message that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    pub since: Timestamp,
    /// Where it did not answer: when it will be asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<Timestamp>,
}

/// One thing that was looked at for an answer that is being made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LookView {
    /// The message that is being answered.
    pub message: MessageId,
    /// What is looked at, in a few words of Silas's; names in it are marked.
    pub text: String,
    pub at: Timestamp,
}

/// An entry of the Stream with its number in the channel outbox, by which it is acknowledged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct DeliveryView {
    pub seq: u64,
    pub entry: Entry,
}

/// What a device finds that was away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct SinceView {
    /// When it was last here.
    pub at: Timestamp,
    /// Entries of the Stream that came since.
    pub n_entries: u64,
}

/// One place at which the owner and Silas talk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SessionView {
    pub session: SessionId,
    pub session_type: SessionType,
    pub title: String,
    pub created_at: Timestamp,
    pub last_active: Timestamp,
    pub turn_count: u64,
    pub active: bool,
    /// Entries that it has not shown yet.
    pub n_waiting: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// Freshly signed by a device of the owner's.
    Owner,
    /// It came by a door of the owner's, and no device had freshly signed it.
    Somebody,
    Silas,
}

/// One turn's text in the Stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Entry {
    pub id: MessageId,
    pub sender: Sender,
    /// Whether Silas only passes on what a model said. What Silas says itself is computed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_models_words: bool,
    pub text: String,
    /// Which message it answers, and what came of that; absent where it answers none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answering>,
    pub at: Timestamp,
}

/// A message that was tried often enough and put aside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeadLetterView {
    pub message: MessageId,
    /// What could not be done: the owner's words, or the title of the work.
    pub text: String,
    pub attempts: u32,
}
