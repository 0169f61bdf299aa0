//! What may leave for a model: five checks in their order, the first that fails refuses, and nothing is ever left out
//! silently. (FOUNDATION §9)
//!
//! [`admit`] is the only way to a [`Projected`] payload, and prompts are rendered from nothing else.

use crate::Taint;
use crate::model::{ModelGrant, ModelName, POLICY_VERSION, Role};
use serde_json::Value;

/// The codes are part of the contract; so is their order.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("only words that you signed may be sent to a model")]
    OutOfScope,
    #[error("this model is not one that the configuration allows here")]
    DisallowedProviderModel,
    #[error("you have not agreed yet that what you say goes there")]
    PrivacyConfirmationRequired,
    #[error("the key for it is not there")]
    SecretUnavailable,
    #[error("the request holds `{field}`, which may not be sent")]
    OversharedPayloadBlocked { field: String },
}

impl Refusal {
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::OutOfScope => "out_of_scope",
            Refusal::DisallowedProviderModel => "disallowed_provider_model",
            Refusal::PrivacyConfirmationRequired => "privacy_confirmation_required",
            Refusal::SecretUnavailable => "secret_unavailable",
            Refusal::OversharedPayloadBlocked { .. } => "overshared_payload_blocked",
        }
    }
}

/// What is to be asked of whom.
pub struct Call<'a> {
    /// Who wants it asked: the worst of what the wish is made of.
    pub asker: Taint,
    pub role: Role,
    pub model: &'a ModelName,
    pub payload: Value,
}

/// What holds now.
pub struct Policy<'a> {
    /// The models that may serve this role.
    pub allowed: &'a [ModelName],
    /// Whether everything must stay on this machine.
    pub local_only: bool,
    /// What the owner has signed and not taken back.
    pub receipts: &'a [ModelGrant],
    /// Whether the key is there, or none is needed. Asked only when everything before it holds.
    pub has_key: &'a (dyn Fn() -> bool + Sync),
}

/// A payload that may leave for one role. Private, so that no other payload can be rendered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Projected {
    role: Role,
    payload: Value,
}

impl Projected {
    pub fn role(&self) -> Role {
        self.role
    }

    pub fn payload(&self) -> &Value {
        &self.payload
    }
}

pub fn admit(call: Call<'_>, policy: &Policy<'_>) -> Result<Projected, Refusal> {
    if !call.asker.may_ask() {
        return Err(Refusal::OutOfScope);
    }
    if !policy.allowed.contains(call.model) || (policy.local_only && !call.model.is_local()) {
        return Err(Refusal::DisallowedProviderModel);
    }
    let confirms = |receipt: &ModelGrant| {
        receipt.model == *call.model && receipt.roles.contains(&call.role) && receipt.policy_version == POLICY_VERSION
    };
    if !policy.receipts.iter().any(confirms) {
        return Err(Refusal::PrivacyConfirmationRequired);
    }
    if !(policy.has_key)() {
        return Err(Refusal::SecretUnavailable);
    }
    match extra_field(&call.payload, allowlist(call.role), "") {
        None => Ok(Projected { role: call.role, payload: call.payload }),
        Some(field) => Err(Refusal::OversharedPayloadBlocked { field }),
    }
}

/// What each role needs to know, under this version of the policy. `[]` stands for every element of a list.
pub fn allowlist(role: Role) -> &'static [&'static str] {
    match role {
        Role::Proxy => &[
            "date",
            "understood[]",
            "directories[]",
            "history[].who",
            "history[].text",
            "wish",
            "has_search",
            "results[].tool",
            "results[].text",
        ],
        Role::Planner => &[
            "date",
            "directories[]",
            "history[].who",
            "history[].text",
            "wish",
            "answered[].question",
            "answered[].answer",
            "answered[].is_chosen",
            "may_ask",
            "reason",
            "continuation_of",
            "can_read",
            "has_executor",
            "has_search",
            "results[].tool",
            "results[].text",
        ],
        Role::Executor => &[
            "date",
            "briefing",
            "is_research",
            "directories[]",
            "checks[].name",
            "checks[].run",
            "attempt",
            "attempts_max",
            "failures[].name",
            "failures[].reason",
            "failures[].output",
            "guidance",
            "results[].tool",
            "results[].text",
        ],
    }
}

/// The first field that is not on the list.
fn extra_field(value: &Value, allowed: &[&str], path: &str) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            extra_field(value, allowed, &path)
        }),
        Value::Array(items) => items.iter().find_map(|item| extra_field(item, allowed, &format!("{path}[]"))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            (!allowed.contains(&path)).then(|| path.to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
