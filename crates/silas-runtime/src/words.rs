//! The words on cards and in sentences about them, computed from the action and nothing else.
//!
//! Verbs first, numbers exact, no jargon. A door shows these texts and adds none.

use silas_approval::house_rules::HouseRules;
use silas_core::call_order::CallOrder;
use silas_core::canonical;
use silas_core::card::{Card, CardKind, Face};
use silas_core::hidden;
use silas_core::input::{Input, ModelChoice, SecureInput};
use silas_core::inquiry::Inquiry;
use silas_core::model::{BudgetGrant, ModelGrant, ModelName};
use silas_core::passkey::PasskeyGrant;
use silas_core::roots::RootGrant;
use silas_core::token::Kind;
use silas_core::work::WorkItem;

mod budget;
mod checks;
mod claim;
mod conflict;
mod executor;
pub(crate) mod exits;
pub(crate) mod inputs;
mod models;
mod outside;
mod parts;
mod passkey;
mod plan;
pub(crate) mod refusal;
mod rehearsal;
mod rehearsed;
mod result;
mod root;
mod step;
mod time;
mod unknown;
mod uses;
pub(crate) use claim::{caveats, claim};
pub(crate) use conflict::Ways;
pub(crate) use inputs::{Answered, for_model, for_plan, model_option};
pub(crate) use models::{cost, key, price, spoken, spoken_of};
use parts::{approve, ask_for_a_change, decline, expected, fact, listed, whole_name_of, whole_name_of_changed};
pub(crate) use parts::{changed_name, count, duration, name_of, took, turned};
use plan::{quote, shown_first, without_words};
pub(crate) use result::ResultFacts;
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

    /// Whether a card says exactly what its payload asks for. Cards about results are computed from more than their
    /// payload and cannot be recomputed from it; what they ask for is checked against the launcher's own record.
    pub fn shows_what_it_asks(&self, card: &Card) -> bool {
        let payload = card.payload.as_deref().unwrap_or_default();
        match card.face.kind {
            CardKind::Plan
            | CardKind::Root
            | CardKind::Passkey
            | CardKind::UnknownEffect
            | CardKind::Model
            | CardKind::Budget
            | CardKind::HouseRules
            | CardKind::Step
            | CardKind::SecureInput
            | CardKind::Decision => self.in_words_of_today(card).is_some_and(|face| face == card.face),
            CardKind::Refusal => card
                .offer
                .as_ref()
                .is_some_and(|offer| self.refusal_shows_what_it_asks(&card.face, payload, offer.kind)),
            CardKind::Rehearsed => rehearsed::shows_what_it_asks(&card.face, payload),
            // Nothing on it is decided; what it leads to is a card of its own.
            CardKind::ModelChoice => true,
            CardKind::Conflict => conflict::shows_what_it_asks(card),
            CardKind::Pairing | CardKind::Done | CardKind::Report => true,
        }
    }

    /// What the card would say if it were made now; nothing where that takes more than the card holds.
    pub(crate) fn in_words_of_today(&self, card: &Card) -> Option<Face> {
        let payload = card.payload.as_deref().unwrap_or_default();
        match card.face.kind {
            CardKind::Plan => WorkItem::from_canonical(payload).ok().map(|item| {
                let is_rehearsal = card.offer.as_ref().is_some_and(|offer| offer.kind == Kind::Rehearsal);
                if is_rehearsal { self.rehearsal(&item) } else { self.plan(&item) }
            }),
            CardKind::Root => canonical::read::<RootGrant>(payload).ok().map(|grant| self.root(&grant.place)),
            CardKind::Passkey => canonical::read::<PasskeyGrant>(payload).ok().map(|grant| passkey::passkey(&grant)),
            CardKind::UnknownEffect => WorkItem::from_canonical(payload).ok().map(|item| self.unknown_effect(&item)),
            CardKind::Model => canonical::read::<ModelGrant>(payload).ok().map(|grant| match card.test_call {
                true => models::model_to_test(&grant),
                false => models::model(&grant),
            }),
            CardKind::Budget => canonical::read::<BudgetGrant>(payload).ok().map(|grant| budget::budget(&grant)),
            CardKind::HouseRules => canonical::read::<HouseRules>(payload)
                .ok()
                .filter(|rules| *rules == HouseRules::current())
                .map(|rules| rules.card_face()),
            CardKind::Step => canonical::read::<CallOrder>(payload).ok().map(|order| step::step(&order)),
            CardKind::SecureInput => card.input.as_ref().and_then(Input::secret).map(inputs::secure_input),
            CardKind::Decision => card.input.as_ref().and_then(Input::inquiry).map(inputs::inquiry),
            CardKind::Rehearsed => Some(rehearsed::in_words_of_today(&card.face)),
            CardKind::Refusal => {
                card.offer.as_ref().and_then(|offer| self.refusal_in_words_of_today(&card.face, payload, offer.kind))
            }
            // What a card offers instead is not in the ledger, so nobody could say whether it is what was asked.
            CardKind::Conflict => conflict::in_words_of_today(card).filter(|_| card.instead.is_none()),
            CardKind::ModelChoice | CardKind::Pairing | CardKind::Done | CardKind::Report => None,
        }
    }

    /// May this passkey decide what cannot be undone?
    pub fn passkey(&self, grant: &PasskeyGrant) -> Face {
        passkey::passkey(grant)
    }

    /// May this model be asked, and may what you say go there?
    pub fn model(&self, grant: &ModelGrant) -> Face {
        models::model(grant)
    }

    /// May this one call be made?
    pub fn step(&self, order: &CallOrder) -> Face {
        step::step(order)
    }

    /// The same as a step of setting it up: a test question follows.
    pub fn model_to_test(&self, grant: &ModelGrant) -> Face {
        models::model_to_test(grant)
    }

    /// May more be spent on models?
    pub fn budget(&self, grant: &BudgetGrant) -> Face {
        budget::budget(grant)
    }

    /// What is the value of this secret?
    pub fn secure_input(&self, wanted: &SecureInput) -> Face {
        inputs::secure_input(wanted)
    }

    /// What does a model want to know before it plans?
    pub fn inquiry(&self, inquiry: &Inquiry) -> Face {
        inputs::inquiry(inquiry)
    }

    /// Which model should be asked?
    pub fn model_choice(&self, choice: &ModelChoice) -> Face {
        inputs::model_choice(choice.choices.len())
    }

    /// What came of the test question to a model.
    pub(crate) fn model_tested(&self, model: &ModelName, answered: Option<&Answered>, said: &str) -> Face {
        inputs::model_tested(model, answered, said)
    }
}

#[cfg(test)]
mod tests;
