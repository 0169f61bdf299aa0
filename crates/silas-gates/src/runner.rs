//! The one runner of gates: a message that comes in, a reply that goes out and a call of a tool ask it, and what it gives
//! back is what passes.
//!
//! Gates are asked in their order, each about what the one before made of it; the first that blocks ends it. They are
//! policy: what they say is worked out from the thing itself, and the same is said again.
//!
//! Deliberately absent: any model's opinion. One could only score what has passed; it has no way to block or rewrite here.

use serde_json::Value;
use silas_core::tool::Spec;

/// What a gate says of what wants to pass.
#[derive(Clone, PartialEq, Debug)]
pub enum Ruling<T> {
    Passes,
    /// It passes as this.
    Rewritten(T),
    Blocked(Blocked),
}

/// Why something did not pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    pub code: &'static str,
    pub why: String,
    /// What whoever sent it can do.
    pub todo: &'static str,
}

/// A rule of its own. It has a say where it says so, and nowhere else.
pub trait Gate: Send + Sync {
    /// A message is signed: it passes as it is, or not at all.
    fn message_in(&self, _text: &str) -> Result<(), Blocked> {
        Ok(())
    }

    /// A whole reply, or a sentence of one that is shown while the rest is made.
    fn reply_out(&self, _text: &str) -> Ruling<String> {
        Ruling::Passes
    }

    fn tool_call(&self, _spec: &Spec, _arguments: &Value) -> Ruling<Value> {
        Ruling::Passes
    }
}

/// The gates of one turn or run. Which they are does not change while it lasts.
pub struct Gates<'g> {
    gates: Vec<&'g dyn Gate>,
}

impl<'g> Gates<'g> {
    pub fn new(gates: impl IntoIterator<Item = &'g dyn Gate>) -> Self {
        Gates { gates: gates.into_iter().collect() }
    }

    pub fn message_in(&self, text: &str) -> Result<(), Blocked> {
        self.gates.iter().try_for_each(|gate| gate.message_in(text))
    }

    pub fn reply_out(&self, text: String) -> Result<String, Blocked> {
        self.pass(text, |gate, text| gate.reply_out(text))
    }

    pub fn tool_call(&self, spec: &Spec, arguments: Value) -> Result<Value, Blocked> {
        self.pass(arguments, |gate, arguments| gate.tool_call(spec, arguments))
    }

    fn pass<T>(&self, first: T, ask: impl Fn(&dyn Gate, &T) -> Ruling<T>) -> Result<T, Blocked> {
        self.gates.iter().try_fold(first, |passing, gate| match ask(*gate, &passing) {
            Ruling::Passes => Ok(passing),
            Ruling::Rewritten(other) => Ok(other),
            Ruling::Blocked(blocked) => Err(blocked),
        })
    }
}

#[cfg(test)]
mod tests;
