//! Typed ids: a prefix that says what it names, checked on parsing, so no id passes for another.
//!
//! [`SessionId`] is one channel connection of somebody. A connected outside service is another thing with its own type;
//! it enters with connections.

use crate::{Digest, Random};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, thiserror::Error)]
#[error("`{got}` is not {what}: it should be `{prefix}` followed by letters, digits or `-`, at most 80 in all")]
pub struct BadId {
    got: String,
    what: &'static str,
    prefix: &'static str,
}

/// Longest id that is accepted; bounds every key that is made of ids.
const ID_CHARS_MAX: usize = 80;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(String);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn parse(text: &str) -> Result<Self, BadId> {
                let rest = text.strip_prefix($prefix).unwrap_or("");
                let fits = text.len() <= ID_CHARS_MAX
                    && !rest.is_empty()
                    && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
                if fits {
                    Ok($name(text.to_owned()))
                } else {
                    Err(BadId { got: text.chars().take(40).collect(), what: $what, prefix: $prefix })
                }
            }

            pub fn new(random: &dyn Random) -> Self {
                $name(format!("{}{}", $prefix, uuid(random)))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                $name::parse(&text)
            }
        }
    )*};
}

ids! {
    /// A question to the owner.
    CardId, "card-", "a card's id";
    /// A task; the only kind of work item so far.
    WorkItemId, "task-", "a work item's id";
    /// One spending of a token.
    ExecutionId, "exec-", "an execution's id";
    /// A signed decision: the hash of what was signed.
    TokenId, "token-", "a token's id";
    /// A public key: the first half of its hash.
    KeyId, "key-", "a key's id";
    /// One data directory. Approvals of one installation are worthless at another.
    InstallationId, "inst-", "an installation's id";
    /// One connection of a channel.
    SessionId, "sess-", "a session's id";
    MessageId, "msg-", "a message's id";
    /// An entry of the ledger, wherever in the chain it stands.
    EventId, "event-", "an event's id";
    /// One copy of a data directory. A restored, copied or newly paired one is another host of the same installation.
    HostId, "host-", "a host's id";
    /// One call of a model.
    CallId, "call-", "a call's id";
    /// Makes two otherwise equal bodies different.
    Nonce, "n-", "a nonce";
}

impl EventId {
    /// The n-th event of a change. In the order in which a host names them, as text too.
    pub fn nth(host: &HostId, change: u64, n: u32) -> Self {
        let host = host.as_str().trim_start_matches(HostId::PREFIX);
        EventId(format!("{}{host}-{change:012}-{n:04}", EventId::PREFIX))
    }

    /// What the human's file announced under this hash.
    pub fn of(announced: &Digest) -> Self {
        EventId(format!("{}{announced}", EventId::PREFIX))
    }
}

impl TokenId {
    pub fn of(body: &Digest) -> Self {
        TokenId(format!("{}{}", TokenId::PREFIX, body))
    }
}

impl KeyId {
    pub fn of(public: &[u8]) -> Self {
        let digest = Digest::of(public).to_string();
        KeyId(format!("{}{}", KeyId::PREFIX, &digest[..32]))
    }
}

impl ExecutionId {
    /// A token with one use has one execution, and its id follows from the token: spending it twice is the same id twice.
    pub fn derive(token: &TokenId, occurrence: u32) -> Self {
        let digest = Digest::of(format!("{token} {occurrence}").as_bytes()).to_string();
        ExecutionId(format!("{}{}", ExecutionId::PREFIX, &digest[..32]))
    }
}

/// A version 4 UUID, from sixteen random bytes.
fn uuid(random: &dyn Random) -> String {
    let mut b = [0u8; 16];
    random.fill(&mut b);
    b[6] = b[6] & 0x0f | 0x40;
    b[8] = b[8] & 0x3f | 0x80;
    let hex: String = b.iter().map(|b| format!("{b:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests;
