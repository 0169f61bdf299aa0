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

/// Everything about a tool but its hands.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    pub name: String,
    /// For the model, in one or two sentences.
    pub about: String,
    /// The JSON schema of the arguments: an object whose properties are all required.
    pub schema: Value,
    /// The arguments that are content. All others are control.
    pub content: Vec<String>,
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

/// The schema of an object with these properties, all of them required.
pub fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

#[cfg(test)]
mod tests;
