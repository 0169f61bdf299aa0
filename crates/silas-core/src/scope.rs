//! Whose it is: the owner's, or that of one customer, one actor or one identity of a channel.
//!
//! Whatever a person may see, or is kept for one, has a scope. In columns and JSON it is a text: `owner`, or what somebody is,
//! a colon, and who. Nothing else reads as a scope, so that a row that was mangled is nobody's rather than somebody's.
//!
//! Deliberately absent: what a scope may do. Access levels and exits decide that; here is only who is kept apart from whom.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The owner's scope as a text.
pub const OWNER: &str = "owner";

const CUSTOMER: &str = "customer";
const ACTOR: &str = "actor";
const CHANNEL: &str = "channel";

/// Longest name of a customer, an actor or an identity; bounds every key that is made of scopes.
pub const NAME_BYTES_MAX: usize = 100;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Scope {
    Owner,
    Customer(Name),
    Actor(Name),
    /// Somebody of whom only an identity on a channel is known, like `telegram:12345`.
    Channel(Name),
}

/// Who it is among those of its kind: letters, digits and `-_.@+=:`. No white space, and none of the signs that separate the
/// parts of a key (`/`, `|` and `,`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(String);

#[derive(Debug, thiserror::Error)]
#[error(
    "`{got}` is no scope: it should be `owner`, or `customer:`, `actor:` or `channel:` followed by at most 100 letters, \
     digits or `-_.@+=:`"
)]
pub struct BadScope {
    got: String,
}

impl Scope {
    pub fn parse(text: &str) -> Result<Self, BadScope> {
        if text == OWNER {
            return Ok(Scope::Owner);
        }
        let bad = || BadScope { got: text.chars().take(40).collect() };
        let (kind, name) = text.split_once(':').ok_or_else(bad)?;
        let name = Name::parse(name)?;
        match kind {
            CUSTOMER => Ok(Scope::Customer(name)),
            ACTOR => Ok(Scope::Actor(name)),
            CHANNEL => Ok(Scope::Channel(name)),
            _ => Err(bad()),
        }
    }
}

impl Name {
    pub fn parse(text: &str) -> Result<Self, BadScope> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@+=:".contains(&byte);
        if text.is_empty() || text.len() > NAME_BYTES_MAX || !text.bytes().all(is_plain) {
            return Err(BadScope { got: text.chars().take(40).collect() });
        }
        Ok(Name(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, Name(name)) = match self {
            Scope::Owner => return f.write_str(OWNER),
            Scope::Customer(name) => (CUSTOMER, name),
            Scope::Actor(name) => (ACTOR, name),
            Scope::Channel(name) => (CHANNEL, name),
        };
        write!(f, "{kind}:{name}")
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> String {
        scope.to_string()
    }
}

impl TryFrom<String> for Scope {
    type Error = BadScope;

    fn try_from(text: String) -> Result<Self, BadScope> {
        Scope::parse(&text)
    }
}

#[cfg(test)]
mod tests;
