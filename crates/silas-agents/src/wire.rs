//! The two languages that providers speak, as pure functions: a question becomes a body, events become an answer.
//!
//! OpenAI's chat completions serve OpenRouter, OpenAI, Ollama and everything compatible; Anthropic has its own messages.

use crate::model::{Effort, Finish, Request, Usage};
use serde_json::Value;
use silas_core::model::{ModelName, Provider};

mod anthropic;
mod openai;
pub(crate) mod sse;

/// What one event of a stream means.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Event {
    /// More of the text.
    Piece(String),
    /// A call of a tool begins at this place of the answer.
    Call {
        at: u64,
        name: String,
        /// What the provider calls it.
        id: Option<String>,
    },
    /// More of the arguments of the call at this place.
    Arguments {
        at: u64,
        piece: String,
    },
    Finished(Finish),
    Used(Usage),
    /// Nothing more comes.
    End,
    /// The provider gave up in the middle.
    Broken {
        is_busy: bool,
    },
}

/// The path beneath the provider's address.
pub(crate) fn path(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "/messages",
        Provider::Openrouter | Provider::Openai | Provider::Ollama | Provider::Compatible => "/chat/completions",
    }
}

pub(crate) fn body(model: &ModelName, request: &Request, effort: Option<Effort>) -> Value {
    match model.provider() {
        Provider::Anthropic => anthropic::body(model.model(), request, effort),
        provider @ (Provider::Openrouter | Provider::Openai | Provider::Ollama | Provider::Compatible) => {
            openai::body(provider, model.model(), request, effort)
        }
    }
}

/// The body as it is sent. What stays the same from one question of a dialogue to the next comes first, and what was said
/// last of that, so that each begins byte for byte like the one before it and a provider can keep what it has read.
pub(crate) fn text(body: &Value) -> String {
    let first = ["model", "tools", "system"];
    let fields = body.as_object().into_iter().flatten();
    let (stays, changes): (Vec<_>, Vec<_>) =
        fields.filter(|(name, _)| *name != "messages").partition(|(name, _)| first.contains(&name.as_str()));
    let messages = body.as_object().and_then(|fields| fields.get_key_value("messages"));
    let written = |(name, value): (&String, &Value)| format!("{}:{value}", Value::from(name.as_str()));
    let fields: Vec<String> = stays.into_iter().chain(messages).chain(changes).map(written).collect();
    format!("{{{}}}", fields.join(","))
}

/// What a token costs that the provider had kept, of one that it had not. Where it differs from model to model, the dearest.
pub(crate) fn kept_percent(provider: Provider) -> u64 {
    match provider {
        Provider::Anthropic => 10,
        Provider::Openrouter | Provider::Openai | Provider::Ollama | Provider::Compatible => 50,
    }
}

/// Headers besides the content type. The key is in the first one and nowhere else.
pub(crate) fn headers(provider: Provider, key: Option<&str>) -> Vec<(&'static str, String)> {
    match (provider, key) {
        (Provider::Anthropic, Some(key)) => {
            vec![("x-api-key", key.to_owned()), ("anthropic-version", anthropic::VERSION.to_owned())]
        }
        (Provider::Anthropic, None) => vec![("anthropic-version", anthropic::VERSION.to_owned())],
        (_, Some(key)) => vec![("authorization", format!("Bearer {key}"))],
        (_, None) => Vec::new(),
    }
}

/// An answer as it comes: its events, and beside them the same in the provider's own form.
#[derive(Debug)]
pub(crate) enum Answer {
    Anthropic(anthropic::Blocks),
    Openai(openai::Message),
}

impl Answer {
    pub(crate) fn of(provider: Provider) -> Self {
        match provider {
            Provider::Anthropic => Answer::Anthropic(anthropic::Blocks::default()),
            Provider::Openrouter | Provider::Openai | Provider::Ollama | Provider::Compatible => {
                Answer::Openai(openai::Message::default())
            }
        }
    }

    /// What an event says; `None` if it cannot be read.
    pub(crate) fn hear(&mut self, data: &str) -> Option<Vec<Event>> {
        if data == openai::DONE && matches!(self, Answer::Openai(_)) {
            return Some(vec![Event::End]);
        }
        let event: Value = serde_json::from_str(data).ok()?;
        match self {
            Answer::Anthropic(blocks) => {
                blocks.hear(&event);
                anthropic::events(&event)
            }
            Answer::Openai(message) => {
                message.hear(&event);
                openai::events(&event)
            }
        }
    }

    /// Whether it thought before it answered, as far as it shows.
    pub(crate) fn has_thoughts(&self) -> bool {
        match self {
            Answer::Anthropic(blocks) => blocks.has_thoughts(),
            Answer::Openai(message) => message.has_thoughts(),
        }
    }

    /// The whole of it, as the provider wants it back; nothing where our own words for it do.
    pub(crate) fn into_verbatim(self) -> Option<Value> {
        match self {
            Answer::Anthropic(blocks) => blocks.into_value(),
            Answer::Openai(message) => message.into_value(),
        }
    }
}

/// A name that every provider takes back; a model may have invented another.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.chars().take(NAME_CHARS_MAX).map(plain).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Of a tool, at the strictest provider.
const NAME_CHARS_MAX: usize = 64;

/// Arguments as an object, whatever the model wrote; what was wrong with them is in the result.
fn plain_arguments(arguments: &str) -> Value {
    serde_json::from_str(arguments).ok().filter(Value::is_object).unwrap_or_else(|| serde_json::json!({}))
}

/// A call that its provider did not name is told apart by where it stands.
fn call_id(turn: usize, call: usize) -> String {
    format!("call_{turn}_{call}")
}

/// What the body of an error says, for the person who has to mend it.
pub(crate) fn reason(body: &str) -> String {
    let said = serde_json::from_str::<Value>(body).ok();
    let message = said.as_ref().and_then(|said| said["error"]["message"].as_str().or(said["error"].as_str()));
    message.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
