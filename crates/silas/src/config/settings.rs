//! Every setting there is, once: its key, its default, what it must be, and what it is for.
//!
//! `config/silas.yaml` is [`reference`] written to disk; a test compares them.

use super::problem::Problem;
use serde_json::{Value, json};
use silas_core::model::{KeySource, ModelName};
use silas_core::plan::yaml::Scalar;
use std::collections::BTreeMap;

pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) default: Default,
    pub(super) rule: Rule,
    /// For the reference: a sentence or two.
    about: &'static str,
}

#[derive(Clone, Copy)]
pub(super) enum Default {
    Null,
    Text(&'static str),
    Number(u64),
    YesNo(bool),
}

impl Default {
    pub(super) fn value(self) -> Value {
        match self {
            Default::Null => Value::Null,
            Default::Text(text) => json!(text),
            Default::Number(number) => json!(number),
            Default::YesNo(yes) => json!(yes),
        }
    }
}

/// What a value must be.
pub(super) enum Rule {
    Name,
    AbsolutePath,
    Loopback,
    /// A model by its name.
    Model,
    /// Where a key is.
    Key,
    YesNo,
    Range {
        min: u64,
        max: u64,
    },
}

const fn range(min: u64, max: u64) -> Rule {
    Rule::Range { min, max }
}

const DAY_SECS: u64 = 24 * 3600;

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        key: "owner_id",
        default: Default::Text("owner"),
        rule: Rule::Name,
        about: "Your name; written at the first start into the certificate of this machine's terminal.",
    },
    Setting {
        key: "data_dir",
        default: Default::Null,
        rule: Rule::AbsolutePath,
        about: "Where Silas keeps its data. null: $XDG_DATA_HOME/silas, usually ~/.local/share/silas.",
    },
    Setting {
        key: "channels.web.enabled",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether the page is served. The terminal works either way.",
    },
    Setting {
        key: "channels.web.host",
        default: Default::Text("127.0.0.1"),
        rule: Rule::Loopback,
        about: "The address of the page. Only this machine: 127.0.0.1, localhost or ::1.",
    },
    Setting {
        key: "channels.web.port",
        default: Default::Number(8420),
        rule: range(0, 65_535),
        about: "The port of the page. 0 takes any free one.",
    },
    Setting {
        key: "approval.plan_timeout_seconds",
        default: Default::Number(300),
        rule: range(1, DAY_SECS),
        about: "How long a card can be approved. Then it is parked, and one tap asks again.",
    },
    Setting {
        key: "approval.rehearse_first",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether what you ask for is tried out in a private copy before you are asked, where the house rules allow it. \
                If not, each plan asks first.",
    },
    Setting {
        key: "undo.window_seconds",
        default: Default::Number(300),
        rule: range(1, 7 * DAY_SECS),
        about: "How long applied work can be taken back.",
    },
    Setting {
        key: "sandbox.default_memory_mb",
        default: Default::Number(2048),
        rule: range(64, 1 << 20),
        about: "Memory for the commands of one plan.",
    },
    Setting {
        key: "sandbox.default_cpu_seconds",
        default: Default::Number(600),
        rule: range(1, DAY_SECS),
        about: "Processor time for each command.",
    },
    Setting {
        key: "sandbox.default_timeout_seconds",
        default: Default::Number(600),
        rule: range(1, DAY_SECS),
        about: "Time on the clock for each command that sets no limit itself.",
    },
    Setting {
        key: "sandbox.layered_copies",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether plans work on a layer over your directory where the system can, or on a copy of every file.",
    },
    Setting {
        key: "keys.keyring",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether new keys are sealed with a key in the system's keyring, where there is one. `silas key` changes it later.",
    },
    Setting {
        key: "models.proxy",
        default: Default::Null,
        rule: Rule::Model,
        about: "The model that answers what Silas does not understand by itself, as openrouter:anthropic/claude-haiku-4-5. null: the one of `silas model add`, or none. You are asked before anything is sent.",
    },
    Setting {
        key: "models.proxy_key",
        default: Default::Null,
        rule: Rule::Key,
        about: "Where its key is: env:VARIABLE, secret:NAME or none. null: the provider's usual variable, as OPENROUTER_API_KEY. Never the key itself.",
    },
    Setting {
        key: "models.planner",
        default: Default::Null,
        rule: Rule::Model,
        about: "The model that writes plans. null: the one of `silas model add`, or none.",
    },
    Setting { key: "models.planner_key", default: Default::Null, rule: Rule::Key, about: "Where its key is." },
    Setting {
        key: "models.local_only",
        default: Default::YesNo(false),
        rule: Rule::YesNo,
        about: "Whether only models on this machine may be asked.",
    },
    Setting {
        key: "models.daily_cap_cents",
        default: Default::Number(200),
        rule: range(0, 1_000_000),
        about: "What models may cost in a day (UTC), in cents. Checked before each question; a card can add to it.",
    },
    Setting {
        key: "models.monthly_cap_cents",
        default: Default::Number(2000),
        rule: range(0, 10_000_000),
        about: "What models may cost in a month (UTC), in cents.",
    },
    Setting {
        key: "models.turn_budget_tokens",
        default: Default::Number(100_000),
        rule: range(1000, 10_000_000),
        about: "Tokens that one message of yours may use up, every question counted at its largest.",
    },
    Setting {
        key: "models.timeout_seconds",
        default: Default::Number(90),
        rule: range(1, 3600),
        about: "How long a model may take to begin its answer; half of it between two pieces.",
    },
    Setting {
        key: "limits.llm_calls_per_minute_per_scope",
        default: Default::Number(30),
        rule: range(1, 10_000),
        about: "Questions to models in a minute.",
    },
    Setting {
        key: "limits.ws_messages_per_minute_per_scope",
        default: Default::Number(60),
        rule: range(1, 100_000),
        about: "Messages that one connection may send in a minute.",
    },
    Setting {
        key: "backpressure.shutdown_grace_seconds",
        default: Default::Number(30),
        rule: range(0, 3600),
        about: "How long running work may take to finish when Silas is stopped.",
    },
    Setting {
        key: "nonce_store.freshness_seconds",
        default: Default::Number(300),
        rule: range(10, 3600),
        about: "How old a signed message may be when it arrives.",
    },
    Setting {
        key: "nonce_store.ttl_minutes",
        default: Default::Number(40),
        rule: range(1, 7 * 24 * 60),
        about: "How long used nonces are remembered; longer than messages stay fresh, or one could be sent twice.",
    },
    Setting {
        key: "retention.chronicle_days",
        default: Default::Number(90),
        // Longer than any undo window, which needs what it would take back.
        rule: range(8, 36_500),
        about: "How long what was said, answered cards and the details of finished work are kept. The ledger is kept forever.",
    },
];

impl Rule {
    /// Whether a secret may stand there by mistake.
    pub(super) fn is_near_secrets(&self) -> bool {
        matches!(self, Rule::Key)
    }

    /// "must be …"
    pub(super) fn words(&self) -> String {
        match self {
            Rule::Name => "1 to 64 letters, digits, `.`, `_` or `-`".to_owned(),
            Rule::AbsolutePath => "an absolute path or null".to_owned(),
            Rule::Loopback => "an address of this machine: 127.0.0.1, localhost or ::1".to_owned(),
            Rule::Model => "a model as PROVIDER:MODEL or PROVIDER:MODEL@URL, or null".to_owned(),
            Rule::Key => "env:VARIABLE, secret:NAME, none or null".to_owned(),
            Rule::YesNo => "true or false".to_owned(),
            Rule::Range { min, max } => format!("a whole number from {min} to {max}"),
        }
    }

    /// The value, or what to do about it.
    pub(super) fn read(&self, scalar: &Scalar) -> Result<Value, String> {
        let text = scalar.text.as_str();
        // A number or a bool in quotes is a text, and whoever wrote it meant one.
        let plain = (!scalar.is_text).then_some(text);
        match self {
            Rule::Name => {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
                if (1..=64).contains(&text.len()) && text.chars().all(fits) {
                    Ok(json!(text))
                } else {
                    Err("Choose a plain name.".to_owned())
                }
            }
            Rule::AbsolutePath if text.starts_with('/') && !text.contains('\0') => Ok(json!(text)),
            Rule::AbsolutePath => Err("Write the whole path, for example ${HOME}/silas.".to_owned()),
            Rule::Loopback => match text {
                "127.0.0.1" | "localhost" | "::1" => Ok(json!(text)),
                _ => {
                    Err("Other addresses need encryption and an access token, which are not available in this version."
                        .to_owned())
                }
            },
            Rule::Model => ModelName::parse(text).map(|name| json!(name)).map_err(|bad| format!("{bad}.")),
            Rule::Key => KeySource::parse(text).map(|source| json!(source)).map_err(|bad| format!("{bad}.")),
            Rule::YesNo => match plain {
                Some("true") => Ok(json!(true)),
                Some("false") => Ok(json!(false)),
                _ => Err("Write true or false, without quotes.".to_owned()),
            },
            Rule::Range { min, max } => {
                let digits = plain.filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                match digits.and_then(|text| text.parse().ok()).filter(|n: &u64| (min..=max).contains(&n)) {
                    Some(number) => Ok(json!(number)),
                    None => Err("Choose a number in that range, in digits and without quotes.".to_owned()),
                }
            }
        }
    }
}

/// Rules that look at more than one value.
pub(super) fn rules_between(values: &BTreeMap<&'static str, Value>) -> Vec<Problem> {
    let number = |key: &str| values.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (ttl, fresh) = (number("nonce_store.ttl_minutes"), number("nonce_store.freshness_seconds"));
    if ttl.saturating_mul(60) > fresh {
        return Vec::new();
    }
    let what = format!(
        "is {ttl} minutes, but must be longer than `nonce_store.freshness_seconds`, which is {fresh} seconds, or a \
         message could be sent twice"
    );
    vec![Problem::together("nonce_store.ttl_minutes", what, "Raise the first or lower the second.")]
}

/// The whole configuration file with every default and what it means.
pub(crate) fn reference() -> String {
    let mut out = String::from(
        "# Every setting of Silas with its default. Leave out what you do not change.\n\
         #\n\
         # A variable overrides the file: SILAS__CHANNELS__WEB__PORT=9000. `${NAME}` in a value is replaced by that\n\
         # variable; if it is not set, the value counts as null, which means the default.\n\
         silas:\n",
    );
    let mut open: Vec<&str> = Vec::new();
    for setting in SETTINGS {
        let parts: Vec<&str> = setting.key.split('.').collect();
        let (field, groups) = parts.split_last().unwrap_or((&"", &[]));
        let same = open.iter().zip(groups).take_while(|(a, b)| a == b).count();
        for (depth, group) in groups.iter().enumerate().skip(same) {
            out.push_str(&format!("{}{group}:\n", "  ".repeat(depth + 1)));
        }
        open = groups.to_vec();
        let indent = "  ".repeat(groups.len() + 1);
        out.push_str(&format!("{indent}# {}\n{indent}{field}: {}\n", setting.about, setting.default.value()));
    }
    out
}
