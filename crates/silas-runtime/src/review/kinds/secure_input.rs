//! What is the value of this secret? It is entered on the card and goes to the vault; nothing is decided.

use super::{Answered, Asked, PutAway, Rules, unreadable};
use crate::review::Review;
use crate::words::{Words, press};
use silas_approval::Recorded;
use silas_core::card::{Card, CardState};
use silas_core::card::{CardKind, Detail, Face, INTENT_CHARS_MAX, Press};
use silas_core::input::Input;
use silas_core::input::{Guidance, SecureInput, WantedBy};
use silas_core::model::{ModelName, Provider};
use silas_core::secret::SecretRef;
use silas_gates::scrub;
use silas_store::Tx;

pub(super) struct Secret;

impl Rules for Secret {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        card.input.as_ref().and_then(Input::secret).map(secure_input)
    }

    fn waits_no_longer(&self) -> Option<&'static str> {
        Some(
            "The secret was not given, so nothing was done. Your message waits no longer; say it again when you have it.",
        )
    }

    fn asks_the_same(&self, one: &Card, other: &Card) -> bool {
        match (one.input.as_ref().and_then(Input::secret), other.input.as_ref().and_then(Input::secret)) {
            (Some(one), Some(other)) => one.is_same_as(other),
            _ => false,
        }
    }

    /// It is entered, not approved.
    fn approve(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, _: &Recorded) -> Answered {
        unreadable()
    }

    fn may_be_put_away(&self, state: CardState) -> bool {
        matches!(state, CardState::Open | CardState::Parked)
    }

    fn put_away(&self, _: &Review, _: &mut Tx<'_>, _subject: &str) -> Result<PutAway, silas_store::Error> {
        Ok(PutAway { posted: None, answer: "Skipped. Nothing was stored, and what waited for it is dropped." })
    }
}

/// The intent with the name in it, if all of it fits; a name that is cut off could be another's.
fn named(verb: &str, name: &str, when_long: &str) -> String {
    let whole = scrub::visible(&format!("{verb} {name}"));
    if whole.chars().count() <= INTENT_CHARS_MAX { whole } else { when_long.to_owned() }
}

/// What is the value of this secret? Computed from the question alone, so that every door can compute it again.
pub(crate) fn secure_input(wanted: &SecureInput) -> Face {
    let name = wanted.ref_id.as_str();
    let (intent, why, details_title) = match &wanted.wanted_by {
        WantedBy::Plan { name: place } => (
            named("Paste the secret", name, "Paste a secret, named below"),
            format!("A plan for {place} uses it. It goes straight into this machine's vault."),
            "What happens with it".to_owned(),
        ),
        WantedBy::Model { model, .. } => (
            named("Paste the key for", model.host(), "Paste the key for a host, named below"),
            "Straight into this machine's vault. No model sees it, no log keeps it.".to_owned(),
            match wanted.guidance.instructions.lines().count() {
                0 | 1 => "How to make one".to_owned(),
                n => format!("How to make one, {n} steps"),
            },
        ),
    };
    let mut how: Vec<String> = wanted.guidance.instructions.lines().map(str::to_owned).collect();
    how.extend(wanted.guidance.help_url.clone());
    let then = match &wanted.wanted_by {
        WantedBy::Plan { .. } => "The plan asks you next, and names every host that it may reach",
        WantedBy::Model { then: Some(_), .. } => "You are asked next what may be sent; before that nothing is",
        WantedBy::Model { then: None, .. } => "What waited for it goes on",
    };
    let mut goes = vec![format!("Sealed, into the vault of this machine, under the name {name}")];
    if let WantedBy::Model { model, .. } = &wanted.wanted_by {
        goes.push(format!("From there to {}, with each question, and to nobody else", scrub::visible(model.host())));
    }
    goes.push("Not into a message, a log, the ledger, a database or the page's memory".to_owned());
    goes.push(then.to_owned());
    Face {
        kind: CardKind::SecureInput,
        risk: None,
        state: "No decision".to_owned(),
        intent,
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: why,
        asked: None,
        quote: None,
        details_title,
        details: vec![
            Detail { title: "Where it comes from".to_owned(), lines: how },
            Detail { title: "Where it goes".to_owned(), lines: goes },
        ],
        diffs: Vec::new(),
        ctas: vec![press(Press::Store, "Save to vault"), press(Press::Dismiss, "Skip for now")],
    }
}

/// For a plan: whoever wrote the name knows where the value is.
pub(crate) fn for_plan(reference: &SecretRef) -> (String, Option<String>, Guidance) {
    let instructions = "From whoever gave you this key or password.".to_owned();
    (format!("Value of {reference}"), None, Guidance { instructions, help_url: None })
}

/// For a model: where its provider hands out keys, and how they begin.
pub(crate) fn for_model(model: &ModelName) -> (String, Option<String>, Guidance) {
    let (hint, url) = match model.provider() {
        Provider::Openrouter => (Some("sk-or-"), Some("https://openrouter.ai/settings/keys")),
        Provider::Openai => (Some("sk-"), Some("https://platform.openai.com/api-keys")),
        Provider::Anthropic => (Some("sk-ant-"), Some("https://console.anthropic.com/settings/keys")),
        Provider::Ollama | Provider::Compatible => (None, None),
    };
    let instructions = match url {
        Some(_) => {
            "Sign in at the address below\nMake a new key, with a limit if it offers one\nCopy it and paste it here"
        }
        None => "Whoever runs that server gives out its keys",
    };
    let guidance = Guidance { instructions: instructions.to_owned(), help_url: url.map(str::to_owned) };
    ("Key".to_owned(), hint.map(str::to_owned), guidance)
}
