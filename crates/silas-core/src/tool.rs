//! What a tool is, whoever calls it: a name, the form of its arguments, and what is known about what it does.
//!
//! Arguments are *control* (who, where, which, how much) unless a tool says that they are *content*; whoever forgets to say
//! so has said the stricter thing. Deliberately absent: doing anything. That is for whoever has hands.

use crate::card::Risk;
use serde_json::{Value, json};

mod form;
pub use form::misfit;

/// What happens beyond the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing. The only tools that exist in research.
    Reads,
    /// Only in a private copy, which nothing leaves by itself.
    Workspace,
    /// Somebody or something else notices.
    Outside,
}

/// A way by which a call lets something out of its run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WayOut {
    /// This argument goes to the search server.
    Search { query: String },
    /// Words to the owner, and to nobody else.
    Owner,
}

/// Everything about a tool but its hands. What stands around a call is decided by what is declared here, never by the
/// name of a tool or of an argument.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    pub name: String,
    /// For the model, in one or two sentences.
    pub about: String,
    /// The JSON schema of the arguments: an object whose properties are all required.
    pub schema: Value,
    /// The arguments that are content. All others are control.
    pub content: Vec<String>,
    /// The arguments that are paths: a run looks whether they stay within what it may touch.
    pub paths: Vec<String>,
    /// Every way by which a call can let something out. One that has effects outside and names no way is always asked
    /// about.
    pub ways_out: Vec<WayOut>,
    /// The argument with which a call asks for time, and the seconds that it gets without.
    pub time: Option<(String, u64)>,
    /// The argument by which a person recognises a call.
    pub shown_by: Option<String>,
    /// In dot notation, as actors name them: `shell.exec`.
    pub capabilities: Vec<String>,
    pub risk: Risk,
    pub effect: Effect,
    pub is_reversible: bool,
    pub requires_approval: bool,
    /// Whether it can be called without doing anything.
    pub has_dry_run: bool,
    /// Whether calling it again with the same arguments changes nothing more.
    pub is_idempotent: bool,
    /// Whether several calls may be under way at once.
    pub is_parallel: bool,
}

impl Spec {
    /// A tool that only reads; other kinds say what they are.
    pub fn reading(name: &str, about: &str, schema: Value) -> Self {
        Spec {
            name: name.to_owned(),
            about: about.to_owned(),
            schema,
            content: Vec::new(),
            paths: Vec::new(),
            ways_out: Vec::new(),
            time: None,
            shown_by: None,
            capabilities: Vec::new(),
            risk: Risk::Low,
            effect: Effect::Reads,
            is_reversible: true,
            requires_approval: false,
            has_dry_run: false,
            is_idempotent: true,
            is_parallel: true,
        }
    }
}

impl Spec {
    /// What the call names as paths, in the order in which they are declared.
    pub fn named_paths<'a>(&'a self, arguments: &'a Value) -> impl Iterator<Item = &'a str> {
        self.paths.iter().filter_map(|name| arguments[name.as_str()].as_str())
    }

    /// Whether it speaks to the owner and has no other way out.
    pub fn only_tells_owner(&self) -> bool {
        self.ways_out == [WayOut::Owner]
    }
}

/// The schema of an object with these properties, all of them required.
pub fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

#[cfg(test)]
mod tests;
