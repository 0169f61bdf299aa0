//! How far a text can be trusted, and a wrapper that cannot forget it.
//!
//! Taint has no default. Whoever makes a text says where it came from; who does not know says [`Taint::External`].

use serde::{Deserialize, Serialize};

/// Ordered from most to least trusted; mixing two texts takes the worse of both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Taint {
    /// Signed by a device of the owner.
    Owner,
    /// From a known identity of a channel, not signed.
    Auth,
    /// Anything else: files, command output, the web.
    External,
}

/// Where a text came from. Taint is decided from this and nothing else, and there is no source called "unknown": who
/// does not know says [`Source::Elsewhere`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A message that a paired device of the owner signed, fresh, and heard for the first time.
    Signed,
    /// A message without a signature, over a channel that has authenticated whoever speaks.
    Channel,
    /// Silas's own words and numbers, with nobody's text in them.
    Own,
    /// What an execution printed or wrote. It is as trusted as everything that it could read, and not at all if it could
    /// reach a network.
    Execution { inputs: Taint, network: bool },
    /// Anything else: files of unknown authors, names on disk, messages of strangers, the web.
    Elsewhere,
}

impl Source {
    pub fn taint(self) -> Taint {
        match self {
            Source::Signed => Taint::Owner,
            Source::Channel | Source::Own => Taint::Auth,
            Source::Execution { inputs, network: false } => inputs,
            Source::Execution { network: true, .. } | Source::Elsewhere => Taint::External,
        }
    }
}

/// Everything that went into a text, as far as trust goes. What nothing is known of is external.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lineage(Option<Taint>);

impl Lineage {
    pub fn add(&mut self, taint: Taint) {
        self.0 = Some(self.0.map_or(taint, |so_far| so_far.join(taint)));
    }

    pub fn taint(self) -> Taint {
        self.0.unwrap_or(Taint::External)
    }
}

impl FromIterator<Taint> for Lineage {
    fn from_iter<I: IntoIterator<Item = Taint>>(taints: I) -> Self {
        let mut lineage = Lineage::default();
        taints.into_iter().for_each(|taint| lineage.add(taint));
        lineage
    }
}

/// What a text from outside may try. Finding none proves nothing: what such a text may do is decided where things leave
/// Silas, not here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspicion {
    /// "Ignore what you were told."
    Override,
    /// Pretends to be the system, the owner or the assistant.
    Role,
    /// Claims an approval, or asks for a tool in the spelling of a tool call.
    Authority,
    /// Wants a secret or the instructions sent somewhere.
    Leak,
    /// Characters that are there and cannot be seen.
    Hidden,
}

/// Which text it was found in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Message,
    StepOutput,
    CheckOutput,
    FileName,
    FileContent,
}

impl Taint {
    /// Whether words of this taint may ask for something. Whoever is not the owner can be heard, and that is all.
    pub fn may_ask(self) -> bool {
        self == Taint::Owner
    }

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
