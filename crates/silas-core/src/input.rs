//! Cards that want something entered instead of decided: the value of a secret, which model should be asked, or what to
//! answer a model that has a question.
//!
//! They carry no offer, because there is nothing to sign. Deliberately absent: what is entered. The value of a secret goes
//! from the owner's hand into the vault by a way of its own and is part of no card, message or record.

use crate::Timestamp;
use crate::card::Fact;
use crate::inquiry::Inquiry;
use crate::model::{KeySource, ModelGrant, ModelName, Price, Provider};
use crate::secret::SecretRef;
use serde::{Deserialize, Serialize};

/// What a card wants entered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Input {
    /// The value of a secret, straight into the vault.
    Secret(Box<SecureInput>),
    /// Which model should be asked.
    Model(ModelChoice),
    /// What a model wants to know before it plans. The answer is a signed message of the owner's.
    Inquiry(Box<Inquiry>),
}

impl Input {
    /// Nothing is taken after this; one tap asks again.
    pub fn expires_at(&self) -> Timestamp {
        match self {
            Input::Secret(wanted) => wanted.expires_at,
            Input::Model(choice) => choice.expires_at,
            Input::Inquiry(inquiry) => inquiry.expires_at,
        }
    }

    pub fn set_expires_at(&mut self, at: Timestamp) {
        match self {
            Input::Secret(wanted) => wanted.expires_at = at,
            Input::Model(choice) => choice.expires_at = at,
            Input::Inquiry(inquiry) => inquiry.expires_at = at,
        }
    }

    pub fn secret(&self) -> Option<&SecureInput> {
        match self {
            Input::Secret(wanted) => Some(wanted),
            Input::Model(_) | Input::Inquiry(_) => None,
        }
    }

    pub fn inquiry(&self) -> Option<&Inquiry> {
        match self {
            Input::Inquiry(inquiry) => Some(inquiry),
            Input::Secret(_) | Input::Model(_) => None,
        }
    }
}

/// A secret that is wanted. The answer is a request to `/secrets/{ref_id}`, or the terminal's own door.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecureInput {
    /// What the vault will call it.
    pub ref_id: SecretRef,
    /// What stands over the field.
    pub label: String,
    /// How such a value usually begins. To look at; nothing is compared with it.
    pub input_hint: Option<String>,
    pub guidance: Guidance,
    pub wanted_by: WantedBy,
    pub expires_at: Timestamp,
}

/// How one comes by the value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guidance {
    pub instructions: String,
    pub help_url: Option<String>,
}

/// Who waits for a secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum WantedBy {
    /// A plan; `name` is what it works in.
    Plan { name: String },
    /// A model, whose key it is. `then` is the agreement that is asked for next, if there is none yet.
    Model { model: ModelName, then: Option<ModelGrant> },
}

impl SecureInput {
    /// What such a card is about; every question for the same secret has the same subject.
    pub fn subject_of(reference: &SecretRef) -> String {
        format!("secret:{reference}")
    }

    /// Whether the same one asks for the same thing; when it was asked does not matter.
    pub fn is_same_as(&self, other: &SecureInput) -> bool {
        self.ref_id == other.ref_id && self.wanted_by == other.wanted_by
    }
}

/// The providers to choose from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    pub choices: Vec<ModelOption>,
    /// The one that was tried before; it is filled in as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Provider>,
    pub expires_at: Timestamp,
}

impl ModelChoice {
    /// One such card at a time is enough.
    pub const SUBJECT: &'static str = "model-choice";

    /// The same, filled in with what was chosen before and has not worked, so that nobody types it twice.
    pub fn filled_in(mut self, tried: &ModelGrant, is_key_kept: bool) -> Self {
        let model = &tried.model;
        if let Some(option) = self.choices.iter_mut().find(|option| option.provider == model.provider()) {
            model.model().clone_into(&mut option.model);
            option.url = option.takes_url.then(|| model.url().to_owned());
            option.price = tried.price;
            if is_key_kept {
                option.key = KeyState::Kept;
            } else if option.takes_url && tried.key == KeySource::None {
                option.key = KeyState::None;
            }
            self.tried = Some(model.provider());
        }
        self
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelOption {
    pub provider: Provider,
    pub title: String,
    /// In a few words, what choosing it means.
    pub note: String,
    /// What is suggested, as the provider calls it; empty where nothing can be.
    pub model: String,
    /// Whether the owner has to say where it is, and what it costs.
    pub takes_url: bool,
    /// Where it was said to be before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What it was said to cost before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    pub key: KeyState,
    /// What leaves this machine, and to whom.
    pub facts: Vec<Fact>,
}

/// How it stands with the key of a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It asks for none.
    None,
    Needed,
    /// It is in the vault, or in the server's environment.
    Kept,
}

/// Which key the owner wants to be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyWanted {
    None,
    /// The one that is kept; if there is none, it is asked for.
    Kept,
    /// Another one, in the place of what may be kept.
    New,
}

#[cfg(test)]
mod tests;
