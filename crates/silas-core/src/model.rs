//! Models by name: who answers, where, for whom, with which key, and at what price. The payloads that an owner signs.
//!
//! A name is `PROVIDER:MODEL`, or `PROVIDER:MODEL@URL` where the provider is not where it usually is. Deliberately absent:
//! the values of keys, and any connection.

use crate::secret::SecretRef;
use serde::{Deserialize, Serialize};
use std::fmt;

mod price;
pub use price::{Price, list_price};

/// Raised whenever more, or something else, is sent to a model. A consent to an older version counts no more.
pub const POLICY_VERSION: u32 = 3;

const MODEL_CHARS_MAX: usize = 120;
const URL_CHARS_MAX: usize = 200;
const VARIABLE_CHARS_MAX: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    Openrouter,
    Openai,
    Anthropic,
    Ollama,
    /// Whoever speaks the language of OpenAI's chat completions; always with a URL.
    Compatible,
}

impl Provider {
    pub const ALL: [Provider; 5] =
        [Provider::Openrouter, Provider::Openai, Provider::Anthropic, Provider::Ollama, Provider::Compatible];

    pub fn name(self) -> &'static str {
        match self {
            Provider::Openrouter => "openrouter",
            Provider::Openai => "openai",
            Provider::Anthropic => "anthropic",
            Provider::Ollama => "ollama",
            Provider::Compatible => "compatible",
        }
    }

    /// Where it is usually found.
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Provider::Openrouter => Some("https://openrouter.ai/api/v1"),
            Provider::Openai => Some("https://api.openai.com/v1"),
            Provider::Anthropic => Some("https://api.anthropic.com/v1"),
            Provider::Ollama => Some("http://localhost:11434/v1"),
            Provider::Compatible => None,
        }
    }

    /// The environment variable in which people usually keep its key; Ollama has none.
    pub fn usual_variable(self) -> Option<&'static str> {
        match self {
            Provider::Openrouter => Some("OPENROUTER_API_KEY"),
            Provider::Openai => Some("OPENAI_API_KEY"),
            Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
            Provider::Ollama | Provider::Compatible => None,
        }
    }
}

/// What a model is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Answers at once, or says that it takes a plan.
    Proxy,
    /// Writes plans, which are then approved or not.
    Planner,
    /// Works on what an approved plan leaves to a model, in a private copy.
    Executor,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Proxy, Role::Planner, Role::Executor];

    pub fn name(self) -> &'static str {
        match self {
            Role::Proxy => "proxy",
            Role::Planner => "planner",
            Role::Executor => "executor",
        }
    }
}

/// Exactly which model, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct ModelName {
    provider: Provider,
    model: String,
    /// Without a slash at its end.
    url: String,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadModel {
    #[error(
        "“{0}” is not a model: write PROVIDER:MODEL with openrouter, openai, anthropic, ollama or compatible, \
         for example openrouter:anthropic/claude-haiku-4-5"
    )]
    Name(String),
    #[error("a compatible provider needs its address: compatible:MODEL@https://HOST/v1")]
    NoUrl,
    #[error("“{0}” is not an address of the form https://HOST/PATH, without a name, a password, ? or # in it")]
    Url(String),
    #[error("“{0}” would send everything unencrypted; only this machine may be reached by http://")]
    Plain(String),
}

impl ModelName {
    pub fn parse(text: &str) -> Result<Self, BadModel> {
        let shown = || BadModel::Name(text.chars().filter(|c| !c.is_control()).take(60).collect());
        let (provider, rest) = text.split_once(':').ok_or_else(shown)?;
        let provider = Provider::ALL.into_iter().find(|known| known.name() == provider).ok_or_else(shown)?;
        let (model, url) = match rest.split_once('@') {
            Some((model, url)) => (model, url.trim_end_matches('/')),
            None => (rest, provider.usual_url().ok_or(BadModel::NoUrl)?),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
        if model.is_empty() || model.len() > MODEL_CHARS_MAX || !model.chars().all(fits) {
            return Err(shown());
        }
        check_url(url)?;
        Ok(ModelName { provider, model: model.to_owned(), url: url.to_owned() })
    }

    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// As the provider calls it.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// To whom everything is sent.
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.split('/').next().unwrap_or(rest)
    }

    /// Whether its address is one of this machine. Whose program answers there is [`Listener`]'s to say.
    pub fn is_local(&self) -> bool {
        is_loopback(self.host())
    }
}

/// Whether an address is one that may be asked: encrypted, or on this machine, and nothing hidden in it.
pub fn check_url(url: &str) -> Result<(), BadModel> {
    let shown = || url.chars().filter(|c| !c.is_control()).take(80).collect::<String>();
    let (scheme, rest) = url.split_once("://").ok_or_else(|| BadModel::Url(shown()))?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_./:[]".contains(c);
    let host = rest.split('/').next().unwrap_or_default();
    if url.len() > URL_CHARS_MAX || host.is_empty() || !rest.chars().all(fits) {
        return Err(BadModel::Url(shown()));
    }
    match scheme {
        "https" => Ok(()),
        "http" if is_loopback(host) => Ok(()),
        "http" => Err(BadModel::Plain(shown())),
        _ => Err(BadModel::Url(shown())),
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider.name(), self.model)?;
        if self.provider.usual_url() == Some(self.url.as_str()) { Ok(()) } else { write!(f, "@{}", self.url) }
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> String {
        name.to_string()
    }
}

impl TryFrom<String> for ModelName {
    type Error = BadModel;
    fn try_from(text: String) -> Result<Self, BadModel> {
        ModelName::parse(&text)
    }
}

/// Where the key of a provider is. Never the key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub enum KeySource {
    /// The provider asks for none.
    None,
    /// A secret of the vault.
    Vault(SecretRef),
    /// An environment variable of the server.
    Variable(String),
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` does not say where a key is: write secret:NAME, env:VARIABLE or none")]
pub struct BadKeySource(String);

impl KeySource {
    pub fn parse(text: &str) -> Result<Self, BadKeySource> {
        // Whoever pastes a key here by mistake must not read it back from a log.
        let bad = || BadKeySource(text.chars().take(4).chain("…".chars()).collect());
        if text == "none" {
            return Ok(KeySource::None);
        }
        if let Some(reference) = text.strip_prefix("secret:") {
            return SecretRef::parse(reference).map(KeySource::Vault).map_err(|_| bad());
        }
        let name = text.strip_prefix("env:").ok_or_else(bad)?;
        let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let is_name = (1..=VARIABLE_CHARS_MAX).contains(&name.len()) && name.chars().all(fits);
        if is_name { Ok(KeySource::Variable(name.to_owned())) } else { Err(bad()) }
    }

    /// Where the key of a provider is unless somebody says otherwise.
    pub fn usual(provider: Provider) -> Self {
        provider.usual_variable().map_or(KeySource::None, |name| KeySource::Variable(name.to_owned()))
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::None => f.write_str("none"),
            KeySource::Vault(reference) => write!(f, "secret:{reference}"),
            KeySource::Variable(name) => write!(f, "env:{name}"),
        }
    }
}

impl From<KeySource> for String {
    fn from(source: KeySource) -> String {
        source.to_string()
    }
}

impl TryFrom<String> for KeySource {
    type Error = BadKeySource;
    fn try_from(text: String) -> Result<Self, BadKeySource> {
        KeySource::parse(&text)
    }
}

/// The payload of a `model` decision: what may be asked, and with it the consent that what is said goes there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelGrant {
    pub kind: ModelKind,
    pub model: ModelName,
    /// Sorted, without repetition, not empty.
    pub roles: Vec<Role>,
    pub key: KeySource,
    /// What the owner says it costs, where the list does not know it or is wrong.
    pub price: Option<Price>,
    pub policy_version: u32,
    /// For a model on this machine: who listened there when the card was made. None where that could not be told, and in earlier agreements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<Listener>,
}

/// Whose program listens at an address of this machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Listener {
    /// One of the user that Silas runs as.
    Yours,
    /// One of another user, by name: it may keep or pass on whatever it is sent.
    Another(String),
    Nobody,
}

/// Keeps the payloads of different kinds apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    Model,
}

impl ModelGrant {
    pub fn new(model: ModelName, mut roles: Vec<Role>, key: KeySource, price: Option<Price>) -> Self {
        roles.sort();
        roles.dedup();
        let (kind, policy_version) = (ModelKind::Model, POLICY_VERSION);
        ModelGrant { kind, model, roles, key, price, policy_version, listener: None }
    }

    /// What its card is about; the same question twice has the same subject.
    pub fn subject(&self) -> String {
        let roles: Vec<&str> = self.roles.iter().map(|role| role.name()).collect();
        format!("model:{}:{}", roles.join("+"), self.model)
    }
}

/// The payload of a `budget` decision: more money for one day or one month.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetGrant {
    pub kind: BudgetKind,
    pub period: Period,
    /// What is added to the cap, in micro-dollars.
    pub microusd: u64,
    /// The cap as it was when this was asked, with what was added before, and how much of it was spent or promised.
    /// Decisions of earlier versions do not say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cap_microusd: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spent_microusd: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    Budget,
}

impl BudgetGrant {
    pub fn subject(&self) -> String {
        format!("budget:{}", self.period)
    }
}

/// A day, `2026-11-15`, or a month, `2026-11`, in UTC.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Period(String);

impl Period {
    pub fn day(at: crate::Timestamp) -> Self {
        Period(at.to_string().chars().take(10).collect())
    }

    pub fn month(at: crate::Timestamp) -> Self {
        Period(at.to_string().chars().take(7).collect())
    }

    pub fn is_day(&self) -> bool {
        self.0.len() == 10
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Money as a person writes it: `$0.42`, and never nothing for something.
pub fn dollars(microusd: u64) -> String {
    match microusd {
        0 => "$0.00".to_owned(),
        1..=9_999 => "less than 1 cent".to_owned(),
        _ => format!("${}.{:02}", microusd / 1_000_000, microusd % 1_000_000 / 10_000),
    }
}

/// Tokens of a text by the house's own count: characters ÷ 3.5, one per character for scripts without spaces.
pub fn count_tokens(text: &str) -> u64 {
    let is_wide = |c: char| matches!(u32::from(c), 0x1100..=0x11FF | 0x2E80..=0xA4CF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF);
    let (wide, other) = text.chars().fold(
        (0u64, 0u64),
        |(wide, other), c| {
            if is_wide(c) { (wide + 1, other) } else { (wide, other + 1) }
        },
    );
    wide + (other * 2).div_ceil(7)
}

#[cfg(test)]
mod tests;
