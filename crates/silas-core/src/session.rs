//! A session: one place at which the owner and Silas talk. It outlives connections and restarts.
//!
//! Deliberately absent: items that a session pins into a model's context; they enter with that context.

use crate::{KeyId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionType {
    /// A device that follows the Stream, from its pairing on.
    Stream,
    /// A command in a terminal, for as long as it runs.
    Side,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Session {
    pub session_id: SessionId,
    pub session_type: SessionType,
    /// The device behind it; a side session has none of its own.
    pub key: Option<KeyId>,
    pub title: String,
    pub created_at: Timestamp,
    /// When it last connected, spoke, took something in or left.
    pub last_active: Timestamp,
    /// Messages that were taken in over it.
    pub turn_count: u64,
    /// Whether somebody is connected right now.
    pub active: bool,
    /// The last of the channel outbox that it has shown to its owner.
    pub acknowledged: u64,
}
