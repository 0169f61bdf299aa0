//! Which model should be asked? Choosing decides nothing; the card that asks follows.

use super::model::{LEAVES_FILES, LEAVES_NOTHING, is_private};
use super::{Answered, Asked, Rules, unreadable};
use crate::review::Review;
use crate::words::{Words, count, fact, press};
use silas_approval::Recorded;
use silas_core::card::{Card, CardState};
use silas_core::card::{CardKind, Detail, Face, Fact, Press};
use silas_core::input::{KeyState, ModelOption};
use silas_core::model::{Listener, Provider};
use silas_store::Tx;

pub(super) struct ModelChoice;

impl Rules for ModelChoice {
    fn worded(&self, _: &Words, _: &Card) -> Option<Face> {
        None
    }

    /// Nothing on it is decided; what it leads to is a card of its own.
    fn shows_what_it_asks(&self, _: &Words, _: &Card) -> bool {
        true
    }

    fn is_asked_once(&self) -> bool {
        true
    }

    fn approve(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, _: &Recorded) -> Answered {
        unreadable()
    }

    fn may_be_put_away(&self, state: CardState) -> bool {
        matches!(state, CardState::Open | CardState::Parked)
    }
}

/// Which model should be asked?
pub(crate) fn model_choice(n_choices: usize) -> Face {
    Face {
        kind: CardKind::ModelChoice,
        risk: None,
        state: "Step 1 of 3".to_owned(),
        intent: "Choose who answers open questions".to_owned(),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: "Tasks, commands and checks work without one.".to_owned(),
        asked: None,
        quote: None,
        details_title: "What comes next".to_owned(),
        details: vec![Detail {
            title: format!("{} to choose from, then", count(n_choices, "provider")),
            lines: vec![
                "The key, if one is needed: straight into the vault".to_owned(),
                "Your agreement to what is sent, and to whom: nothing is sent before it".to_owned(),
                "One small test question, with nothing of yours in it".to_owned(),
            ],
        }],
        diffs: Vec::new(),
        ctas: vec![press(Press::Choose, "Go on with this one"), press(Press::Dismiss, "Stay without")],
    }
}

/// One of the models that can be chosen: what it is called, and what would leave this machine. `listener` is who answers
/// where a provider on this machine usually is.
pub(crate) fn model_option(provider: Provider, key: KeyState, listener: Option<&Listener>) -> ModelOption {
    let host = provider.usual_url().and_then(|url| url.split("://").nth(1)?.split('/').next());
    let note = match (provider, key) {
        (Provider::Ollama, _) => "On this machine",
        (Provider::Compatible, _) => "You name it",
        (_, KeyState::Kept) => "Key saved",
        (_, KeyState::None | KeyState::Needed) => "Needs a key",
    };
    let facts = match provider {
        Provider::Ollama => leaving_here(listener),
        Provider::Compatible => leaving(LEAVES_FILES, "The address that you name"),
        Provider::Openrouter | Provider::Openai | Provider::Anthropic => {
            leaving(LEAVES_FILES, host.unwrap_or_default())
        }
    };
    ModelOption {
        provider,
        title: title(provider).to_owned(),
        note: note.to_owned(),
        model: suggested(provider).to_owned(),
        takes_url: provider == Provider::Compatible,
        url: None,
        price: None,
        key,
        facts,
    }
}

/// What is suggested where the owner names no model: small, current and on the price list.
pub fn suggested(provider: Provider) -> &'static str {
    match provider {
        Provider::Openrouter => "anthropic/claude-haiku-4-5",
        Provider::Openai => "gpt-5-mini",
        Provider::Anthropic => "claude-haiku-4-5",
        Provider::Ollama => "llama3.2",
        Provider::Compatible => "",
    }
}

pub fn title(provider: Provider) -> &'static str {
    match provider {
        Provider::Openrouter => "OpenRouter",
        Provider::Openai => "OpenAI",
        Provider::Anthropic => "Anthropic",
        Provider::Ollama => "Ollama",
        Provider::Compatible => "Other address",
    }
}

/// What leaves this machine, and to whom. It plans and works too: what is in the directories of plans goes there as well.
fn leaving(leaves: &str, goes_to: &str) -> Vec<Fact> {
    vec![fact("Leaves", leaves), fact("Goes to", goes_to), fact("Stays", "Other files, keys, the log")]
}

/// The same for an address of this machine, where it depends on whose program answers.
fn leaving_here(listener: Option<&Listener>) -> Vec<Fact> {
    let leaves = if is_private(listener) { LEAVES_NOTHING } else { LEAVES_FILES };
    let goes_to = match listener {
        Some(Listener::Another(_)) => "A program of another user",
        Some(Listener::Yours | Listener::Nobody) | None => "A program on this machine",
    };
    leaving(leaves, goes_to)
}
