//! The words on cards that want something entered: a secret, the choice of a model, or an answer to one.

use super::{count, duration, fact, spoken};
use silas_core::card::{CardKind, Cta, Detail, Face, Fact, INTENT_CHARS_MAX, Press, Quote};
use silas_core::input::{Guidance, KeyState, ModelOption, SecureInput, WantedBy};
use silas_core::inquiry::Inquiry;
use silas_core::model::{ModelName, Provider, Role};
use silas_core::secret::SecretRef;
use silas_gates::scrub;
use std::time::Duration;

/// The intent with the name in it, if all of it fits; a name that is cut off could be another's.
fn named(verb: &str, name: &str, when_long: &str) -> String {
    let whole = scrub::visible(&format!("{verb} {name}"));
    if whole.chars().count() <= INTENT_CHARS_MAX { whole } else { when_long.to_owned() }
}

fn press(press: Press, label: &str) -> Cta {
    Cta { press, label: label.to_owned(), consequence: String::new() }
}

/// What is the value of this secret? Computed from the question alone, so that every door can compute it again.
pub(super) fn secure_input(wanted: &SecureInput) -> Face {
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

/// Which model should be asked?
pub(super) fn model_choice(n_choices: usize) -> Face {
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

/// What does a model want to know? The question is its own, and so is every answer to choose from.
pub(super) fn inquiry(inquiry: &Inquiry) -> Face {
    let quoted = |option: &String| format!("“{}”", scrub::visible(option));
    Face {
        kind: CardKind::Decision,
        risk: None,
        state: "Question".to_owned(),
        intent: "Answer a question before the plan".to_owned(),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: "Your wish waits for the answer, which allows nothing: the plan asks you.".to_owned(),
        asked: Some(inquiry.wish.clone()),
        quote: Some(Quote { who: inquiry.by.to_string(), text: inquiry.question.clone() }),
        details_title: "What an answer does".to_owned(),
        details: vec![
            Detail {
                title: "What you answer".to_owned(),
                lines: vec![
                    format!(
                        "Goes to {} with your wish, signed as a message of yours",
                        scrub::visible(inquiry.to.host())
                    ),
                    "Allows nothing: the plan that comes of it is a card of its own".to_owned(),
                    "Names nothing that only you may name, like a host or a secret, unless you bring it up".to_owned(),
                ],
            },
            Detail {
                title: "Answers that the model proposes".to_owned(),
                lines: inquiry.options.iter().map(quoted).collect(),
            },
        ],
        diffs: Vec::new(),
        ctas: vec![press(Press::Answer, "Answer in my words"), press(Press::Dismiss, "Drop the wish")],
    }
}

/// One of the models that can be chosen: what it is called, and what would leave this machine.
pub(crate) fn model_option(provider: Provider, key: KeyState) -> ModelOption {
    let host = provider.usual_url().and_then(|url| url.split("://").nth(1)?.split('/').next());
    let note = match (provider, key) {
        (Provider::Ollama, _) => "Nothing leaves",
        (Provider::Compatible, _) => "You name it",
        (_, KeyState::Kept) => "Key saved",
        (_, KeyState::None | KeyState::Needed) => "Needs a key",
    };
    let facts = match provider {
        Provider::Ollama => leaving(None),
        Provider::Compatible => leaving(Some("The address that you name")),
        Provider::Openrouter | Provider::Openai | Provider::Anthropic => leaving(host),
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

/// What leaves this machine, and to whom.
fn leaving(host: Option<&str>) -> Vec<Fact> {
    let (leaves, goes_to, stays) = match host {
        // It plans and works too: what is in the directories of plans goes there as well.
        Some(host) => ("What you say, files in plans", host, "Other files, keys, the log"),
        None => ("Nothing", "This machine only", "Everything"),
    };
    vec![fact("Leaves", leaves), fact("Goes to", goes_to), fact("Stays", stays)]
}

/// A test question that was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answered {
    pub(crate) took: Duration,
    /// What it was tested for.
    pub(crate) role: Role,
    /// How its answers are brought into their form.
    pub(crate) form: &'static str,
}

impl Answered {
    /// In one sentence, for the Stream.
    pub(crate) fn said(&self, model: &ModelName) -> String {
        format!("{} answered in {}.", spoken(model), answered_in(self.took))
    }
}

/// What came of the test question.
pub(super) fn model_tested(model: &ModelName, answered: Option<&Answered>, said: &str) -> Face {
    let mut details =
        vec![Detail { title: "Model".to_owned(), lines: vec![model.to_string(), model.url().to_owned()] }];
    if let Some(Answered { took, role, form }) = answered {
        let tested_for = format!("Tested for {}", super::models::role(*role).to_lowercase());
        let lines = vec![format!("In {}", answered_in(*took)), tested_for, (*form).to_owned()];
        details.push(Detail { title: "Answered".to_owned(), lines });
    }
    Face {
        kind: CardKind::Report,
        risk: None,
        state: "Step 3 of 3".to_owned(),
        intent: if answered.is_some() { "The model answers" } else { "The model did not answer the test" }.to_owned(),
        facts: super::models::which(model),
        evidence: None,
        versions: None,
        rationale: said.to_owned(),
        asked: None,
        quote: None,
        details_title: "Exactly which model".to_owned(),
        details,
        diffs: Vec::new(),
        ctas: match answered {
            Some(_) => vec![press(Press::Dismiss, "Done")],
            None => vec![
                press(Press::Again, "Try again"),
                press(Press::Another, "Choose another"),
                press(Press::Dismiss, "Leave it"),
            ],
        },
    }
}

fn answered_in(took: Duration) -> String {
    if took < Duration::from_secs(1) { format!("{} ms", took.as_millis()) } else { duration(took.as_secs()) }
}

#[cfg(test)]
mod tests;
