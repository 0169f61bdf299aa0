//! The words on cards and in sentences about them, computed from the action and nothing else.
//!
//! Verbs first, numbers exact, no jargon. A door shows these texts and adds none.

use crate::review::kinds::{self, budget, decision, model, model_choice, passkey, secure_input, step};
use silas_core::call_order::CallOrder;
use silas_core::card::{Card, Face};
use silas_core::hidden;
use silas_core::input::{ModelChoice, SecureInput};
use silas_core::inquiry::Inquiry;
use silas_core::model::{BudgetGrant, ModelGrant, ModelName};
use silas_core::passkey::PasskeyGrant;

pub(crate) mod basis;
pub(crate) mod checks;
pub(crate) mod chooser;
pub(crate) mod claim;
pub(crate) mod credential;
pub(crate) mod executor;
pub(crate) mod exits;
mod models;
pub(crate) mod outside;
mod parts;
pub(crate) mod result;
mod time;
pub(crate) mod uses;
pub(crate) use claim::{Reader, caveats, claim, known, not_ruled_out};
pub(crate) use models::{SPOKEN_CHARS_MAX, cost, key, price, role, spoken, spoken_of, which};
pub(crate) use parts::{
    approve, ask_for_a_change, changed_name, count, decline, directory, duration, expected, fact, in_code, listed,
    listed_directories, name_of, press, took, turned, were_changed, whole_name_of, whole_name_of_changed,
};
pub(crate) use result::{COMMAND_CHARS_MAX, ResultFacts, UNSAID, exit_code, failed};
pub(crate) use time::date;
pub use time::{OnTheWall, WallClock};

/// How the owner's home directory is shortened in what is shown, and what the clock on their wall says.
#[derive(Clone, Debug)]
pub struct Words {
    home: Option<String>,
    wall: WallClock,
}

impl Words {
    pub fn new(home: Option<String>) -> Self {
        Words { home: home.filter(|home| home.len() > 1), wall: time::utc }
    }

    /// The same, with times as this clock shows them.
    pub fn by_the_clock(self, wall: WallClock) -> Self {
        Words { wall, ..self }
    }

    /// A path as a person writes it.
    pub fn path(&self, path: &str) -> String {
        let short = self.home.as_deref().and_then(|home| {
            let rest = path.strip_prefix(home)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("~{rest}"))
        });
        hidden::name(&short.unwrap_or_else(|| path.to_owned()))
    }

    /// Whether a card says exactly what its payload asks for, as far as its kind lets that be computed.
    pub fn shows_what_it_asks(&self, card: &Card) -> bool {
        kinds::rules(card.face.kind).shows_what_it_asks(self, card)
    }

    /// May this passkey decide what cannot be undone?
    pub fn passkey(&self, grant: &PasskeyGrant) -> Face {
        passkey::passkey(grant)
    }

    /// May this model be asked, and may what you say go there?
    pub fn model(&self, grant: &ModelGrant) -> Face {
        model::model(grant)
    }

    /// May this one call be made?
    pub fn step(&self, order: &CallOrder) -> Face {
        step::step(order)
    }

    /// The same as a step of setting it up: a test question follows.
    pub fn model_to_test(&self, grant: &ModelGrant) -> Face {
        model::model_to_test(grant)
    }

    /// May more be spent on models?
    pub fn budget(&self, grant: &BudgetGrant) -> Face {
        budget::budget(grant)
    }

    /// What is the value of this secret?
    pub fn secure_input(&self, wanted: &SecureInput) -> Face {
        secure_input::secure_input(wanted)
    }

    /// What does a model want to know before it plans?
    pub fn inquiry(&self, inquiry: &Inquiry) -> Face {
        decision::inquiry(inquiry)
    }

    /// Which model should be asked?
    pub fn model_choice(&self, choice: &ModelChoice) -> Face {
        model_choice::model_choice(choice.choices.len())
    }

    /// What came of the test question to a model.
    pub(crate) fn model_tested(&self, model: &ModelName, answered: Option<&model::Answered>, said: &str) -> Face {
        model::model_tested(model, answered, said)
    }
}

#[cfg(test)]
mod tests;
