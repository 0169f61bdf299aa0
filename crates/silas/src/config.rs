//! The owner's settings: read once at the start, checked as a whole, and never guessed.
//!
//! Every setting has a default, so Silas starts without a file. A file overrides the defaults, and a variable such as
//! `SILAS__CHANNELS__WEB__PORT=9000` overrides the file. Deliberately absent: settings for what this version does not
//! have, and any setting that would weaken an approval or the sandbox.

mod problem;
mod settings;
mod sources;

pub(crate) use problem::{ConfigError, Problem};
pub(crate) use settings::{is_host_name, is_loopback, reference};
pub(crate) use sources::not_text;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use settings::SETTINGS;
use silas_core::model::{KeySource, ModelName};
use sources::{Given, Variables};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) owner_id: String,
    /// `None` means the place that XDG names for data.
    pub(crate) data_dir: Option<PathBuf>,
    #[serde(rename = "channels.web")]
    pub(crate) web: Web,
    #[serde(rename = "channels.web.tls")]
    pub(crate) tls: TlsFiles,
    pub(crate) approval: Approval,
    pub(crate) undo: Undo,
    pub(crate) sandbox: Sandbox,
    pub(crate) keys: Keys,
    pub(crate) models: Models,
    pub(crate) search: Searching,
    pub(crate) limits: Limits,
    pub(crate) backpressure: Backpressure,
    pub(crate) nonce_store: NonceStore,
    pub(crate) retention: Retention,
    pub(crate) log: Log,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Web {
    pub(crate) enabled: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) auth_token: Option<Secret>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TlsFiles {
    pub(crate) name: Option<String>,
    pub(crate) port: u16,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) levels: BTreeMap<LogOf, Level>,
    pub(crate) names_parts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// A part of Silas, as the log calls it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogOf {
    Agents,
    Approval,
    Runtime,
    Sandbox,
    Store,
    Web,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// How hard models are told to think.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Thinking {
    Auto,
    Low,
    Medium,
    High,
}

/// A setting that is never shown: it prints as `[secret]`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("[secret]")
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approval {
    pub(crate) plan_timeout_seconds: u64,
    pub(crate) rehearse_first: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    pub(crate) window_seconds: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sandbox {
    pub(crate) default_memory_mb: u64,
    pub(crate) default_cpu_seconds: u64,
    pub(crate) default_timeout_seconds: u64,
    pub(crate) default_file_mb: u64,
    pub(crate) default_processes: u64,
    pub(crate) layered_copies: bool,
    pub(crate) copy_files_max: u64,
    pub(crate) copy_mb_max: u64,
    pub(crate) changes_max: u64,
    pub(crate) waiting_mb_max: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    pub(crate) keyring: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Models {
    pub(crate) proxy: Option<ModelName>,
    pub(crate) proxy_key: Option<KeySource>,
    pub(crate) planner: Option<ModelName>,
    pub(crate) planner_key: Option<KeySource>,
    pub(crate) executor: Option<ModelName>,
    pub(crate) executor_key: Option<KeySource>,
    pub(crate) local_only: bool,
    pub(crate) daily_cap_cents: u64,
    pub(crate) monthly_cap_cents: u64,
    pub(crate) turn_budget_tokens: u64,
    pub(crate) replans_max: u32,
    pub(crate) effort: Thinking,
    pub(crate) timeout_seconds: u64,
    pub(crate) patience_minutes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Searching {
    pub(crate) url: Option<String>,
    pub(crate) domains: Option<Vec<String>>,
    pub(crate) results_max: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) llm_calls_per_minute_per_scope: u32,
    pub(crate) ws_messages_per_minute_per_scope: u32,
    pub(crate) ws_messages_per_minute_per_ip: u32,
    pub(crate) connections_max: usize,
    pub(crate) ws_beat_seconds: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backpressure {
    pub(crate) shutdown_grace_seconds: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NonceStore {
    pub(crate) freshness_seconds: u64,
    pub(crate) ttl_minutes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retention {
    pub(crate) chronicle_days: u64,
}

/// Where a value came from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Origin {
    Default,
    File {
        path: PathBuf,
        line: u64,
    },
    Variable(String),
    /// As in `--host`.
    Option(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("the default"),
            Origin::File { path, line } => write!(f, "{}, line {line}", path.display()),
            Origin::Variable(name) => write!(f, "the variable {name}"),
            Origin::Option(name) => write!(f, "the option {name}"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// One entry for each setting, in the order of the reference.
    pub(crate) origin: Vec<(&'static str, Origin)>,
    values: BTreeMap<&'static str, Value>,
}

impl Config {
    /// Reads the file, then the variables, then options of the command line, as `("--port", "channels.web.port", "0")`; then
    /// checks everything. All problems are found at once.
    pub(crate) fn load(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        options: &[(&'static str, &'static str, String)],
    ) -> Result<Loaded, ConfigError> {
        let variables: Variables = env.collect();
        let mut problems = Vec::new();
        let mut given: BTreeMap<&'static str, Given> = BTreeMap::new();
        if let Some(path) = file {
            sources::file(path, &variables, &mut given, &mut problems);
        }
        sources::environment(&variables, &mut given, &mut problems);
        sources::options(options, &mut given, &mut problems);

        let mut values = BTreeMap::new();
        let mut origin = Vec::new();
        for setting in SETTINGS {
            let value = match given.remove(setting.key) {
                None => {
                    origin.push((setting.key, Origin::Default));
                    setting.default.value()
                }
                Some(given) => {
                    origin.push((setting.key, given.origin.clone()));
                    setting.rule.read(&given.value).unwrap_or_else(|fix| {
                        problems.push(Problem::value(setting, &given, fix));
                        setting.default.value()
                    })
                }
            };
            values.insert(setting.key, value);
        }
        problems.extend(settings::rules_between(&values));
        match serde_json::from_value::<Config>(grouped(&values)) {
            Ok(config) if problems.is_empty() => Ok(Loaded { config, origin, values }),
            Ok(_) => Err(ConfigError { problems }),
            Err(error) => {
                problems.push(Problem::unreadable("settings", &error.to_string()));
                Err(ConfigError { problems })
            }
        }
    }
}

/// `channels.web.port` becomes the field `port` of the group `channels.web`.
fn grouped(values: &BTreeMap<&'static str, Value>) -> Value {
    let mut root = Map::new();
    for (key, value) in values {
        match key.rsplit_once('.') {
            None => drop(root.insert((*key).to_owned(), value.clone())),
            Some((group, field)) => {
                if let Value::Object(group) = root.entry(group).or_insert_with(|| Value::Object(Map::new())) {
                    group.insert(field.to_owned(), value.clone());
                }
            }
        }
    }
    Value::Object(root)
}

impl Loaded {
    /// What was set in these groups, as variables for another Silas.
    pub(crate) fn as_variables(&self, groups: &[&str]) -> Vec<(String, String)> {
        let wanted = |(key, origin): &&(&'static str, Origin)| {
            let is_in = |group: &&str| key.strip_prefix(*group).is_some_and(|rest| rest.starts_with('.'));
            *origin != Origin::Default && groups.iter().any(is_in)
        };
        let variable = |(key, _): &(&'static str, Origin)| {
            let text = match self.values.get(key)? {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((format!("SILAS__{}", key.to_uppercase().replace('.', "__")), text))
        };
        self.origin.iter().filter(wanted).filter_map(variable).collect()
    }

    /// One line for each setting: `key = value  (from …)`. Secrets are not shown.
    pub(crate) fn render(&self) -> String {
        let line = |(key, origin): &(&'static str, Origin)| {
            let value = self.values.get(key).unwrap_or(&Value::Null);
            let value = if settings::is_secret(key) && !value.is_null() { "[secret]" } else { &value.to_string() };
            format!("{key} = {value}  (from {origin})\n")
        };
        self.origin.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests;
