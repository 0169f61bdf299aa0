//! How far a text can be trusted, and a wrapper that cannot forget it.
//!
//! Taint has no default. Whoever makes a text says where it came from; who does not know says [`Taint::External`].

use serde::{Deserialize, Serialize};

/// Ordered from most to least trusted; mixing two texts takes the worse of both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taint {
    /// Signed by a device of the owner.
    Owner,
    /// From a known identity of a channel, not signed.
    Auth,
    /// Anything else: files, command output, the web.
    External,
}

impl Taint {
    #[must_use]
    pub fn join(self, other: Taint) -> Taint {
        self.max(other)
    }
}

/// A value together with how far it can be trusted. There is no `Deref`: looking inside is visible as `peek`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tainted<T> {
    value: T,
    taint: Taint,
}

impl<T> Tainted<T> {
    pub fn new(value: T, taint: Taint) -> Self {
        Tainted { value, taint }
    }

    pub fn taint(&self) -> Taint {
        self.taint
    }

    pub fn peek(&self) -> &T {
        &self.value
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Tainted<U> {
        Tainted { value: f(self.value), taint: self.taint }
    }

    pub fn join<U, V>(self, other: Tainted<U>, f: impl FnOnce(T, U) -> V) -> Tainted<V> {
        Tainted { value: f(self.value, other.value), taint: self.taint.join(other.taint) }
    }
}

#[cfg(test)]
mod tests;
