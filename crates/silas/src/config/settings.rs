//! What a setting is: its key, its default, what it must be, and what it is for. All that there are stand in [`table`].
//!
//! `config/silas.yaml` is [`reference`] written to disk; a test compares them.

use super::problem::{self, Problem};
use serde_json::{Map, Value, json};
use silas_core::model::{KeySource, ModelName};
use silas_core::plan::yaml::{self, Scalar};
use std::collections::BTreeMap;
use std::net::IpAddr;

mod table;
pub(super) use table::SETTINGS;

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
    /// A map without an entry.
    NoEntries,
}

impl Default {
    pub(super) fn value(self) -> Value {
        match self {
            Default::Null => Value::Null,
            Default::Text(text) => json!(text),
            Default::Number(number) => json!(number),
            Default::YesNo(yes) => json!(yes),
            Default::NoEntries => json!({}),
        }
    }
}

/// What a value must be.
pub(super) enum Rule {
    Name,
    AbsolutePath,
    /// An address to listen on.
    Address,
    /// What others call this machine: a host name or an address.
    HostName,
    /// Never shown again.
    Secret,
    OneOf(&'static [&'static str]),
    /// A model by its name.
    Model,
    /// Where a key is.
    Key,
    /// An address that is asked, encrypted unless it is on this machine.
    Url,
    /// The name of a domain.
    Domain,
    YesNo,
    Range {
        min: u64,
        max: u64,
    },
    /// Any number of values, each by the rule; in one text they have commas between them.
    ListOf(&'static Rule),
    /// Values by the rule, each under one of these names.
    MapOf {
        names: &'static [&'static str],
        to: &'static Rule,
    },
}

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
            Rule::Address => "an address to listen on: 127.0.0.1, localhost, ::1, or any other in digits".to_owned(),
            Rule::HostName => "a host name or an address, or null".to_owned(),
            Rule::Secret => format!("{SECRET_CHARS_MIN} to {SECRET_CHARS_MAX} letters, digits, `-` or `_`, or null"),
            Rule::OneOf(words) => words.join(" or "),
            Rule::Model => "a model as PROVIDER:MODEL or PROVIDER:MODEL@URL, or null".to_owned(),
            Rule::Key => "env:VARIABLE, secret:NAME, none or null".to_owned(),
            Rule::Url => "an address as https://HOST/PATH, or null".to_owned(),
            Rule::Domain => "the name of a domain".to_owned(),
            Rule::YesNo => "true or false".to_owned(),
            Rule::Range { min, max } => format!("a whole number from {min} to {max}"),
            Rule::ListOf(item) => format!("a list, of which each is {}, or null", item.words()),
            Rule::MapOf { names, to } => format!("values under {}, each {}", names.join(", "), to.words()),
        }
    }

    /// Whether what was written has the form for it, whatever it says.
    pub(super) fn takes(&self, value: &yaml::Value) -> bool {
        match (self, value) {
            (Rule::ListOf(_), yaml::Value::List(_) | yaml::Value::Scalar(_)) => true,
            (Rule::MapOf { .. }, yaml::Value::Map(_)) => true,
            (Rule::MapOf { .. }, _) => false,
            (_, value) => matches!(value, yaml::Value::Scalar(_)),
        }
    }

    /// What to do about something of another form.
    pub(super) fn form(&self) -> &'static str {
        match self {
            Rule::ListOf(_) => "Write a list, as [a, b], or one text with commas.",
            Rule::MapOf { .. } => "Write names with values, as {a: b}.",
            _ => "Write one value.",
        }
    }

    /// The value, or what to do about it.
    pub(super) fn read(&self, value: &yaml::Value) -> Result<Value, String> {
        match (self, value) {
            (Rule::ListOf(item), yaml::Value::List(nodes)) => nodes.iter().map(|node| item.read(&node.value)).collect(),
            (Rule::ListOf(item), yaml::Value::Scalar(scalar)) => {
                let part = |part: &str| Scalar { text: part.trim().to_owned(), is_text: scalar.is_text };
                scalar.text.split(',').map(|text| item.read(&yaml::Value::Scalar(part(text)))).collect()
            }
            (Rule::MapOf { names, to }, yaml::Value::Map(entries)) => {
                let entry = |(key, node): &(yaml::Key, yaml::Node)| match names.contains(&key.text.as_str()) {
                    true => Ok((key.text.clone(), to.read(&node.value)?)),
                    false => Err(format!("`{}` is none of {}.", problem::shown(&key.text), names.join(", "))),
                };
                entries.iter().map(entry).collect::<Result<Map<String, Value>, String>>().map(Value::Object)
            }
            (one, yaml::Value::Scalar(scalar)) => one.read_one(scalar),
            (other, _) => Err(other.form().to_owned()),
        }
    }

    fn read_one(&self, scalar: &Scalar) -> Result<Value, String> {
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
            Rule::Address => match text {
                "localhost" | "127.0.0.1" | "::1" => Ok(json!(text)),
                address if address.parse::<IpAddr>().is_ok_and(|address| !address.is_loopback()) => Ok(json!(address)),
                _ => Err("Write the address in digits, for example 0.0.0.0 for all of this machine's.".to_owned()),
            },
            Rule::HostName if is_host_name(text) => Ok(json!(text)),
            Rule::HostName => Err("Write it in small letters, without port and without https://.".to_owned()),
            Rule::Secret => {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
                if (SECRET_CHARS_MIN..=SECRET_CHARS_MAX).contains(&text.len()) && text.chars().all(fits) {
                    Ok(json!(text))
                } else {
                    Err("Make one with `silas tls token`.".to_owned())
                }
            }
            Rule::OneOf(words) => match words.contains(&text) {
                true => Ok(json!(text)),
                false => Err(format!("Choose {}.", self.words())),
            },
            Rule::Model => ModelName::parse(text).map(|name| json!(name)).map_err(|bad| format!("{bad}.")),
            Rule::Key => KeySource::parse(text).map(|source| json!(source)).map_err(|bad| format!("{bad}.")),
            Rule::Url => match silas_core::model::check_url(text) {
                Ok(()) => Ok(json!(text)),
                Err(bad) => Err(format!("{bad}.")),
            },
            Rule::Domain if is_host_name(text) => Ok(json!(text)),
            Rule::Domain => Err("Write it in small letters, without https://, as docs.rs.".to_owned()),
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
            Rule::ListOf(_) | Rule::MapOf { .. } => Err(self.form().to_owned()),
        }
    }
}

/// Shorter could be guessed; longer is no header any more.
const SECRET_CHARS_MIN: usize = 32;
const SECRET_CHARS_MAX: usize = 128;

/// Whether the value of this setting is never shown.
pub(super) fn is_secret(key: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.key == key && matches!(setting.rule, Rule::Secret))
}

/// A name in small letters or an address, without anything around it.
pub(crate) fn is_host_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-');
    let is_name = (1..=253).contains(&text.len()) && text.chars().all(fits) && !text.starts_with(['.', '-']);
    is_name || text.parse::<IpAddr>().is_ok()
}

/// Whether an address is one that only this machine itself can reach.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Rules that look at more than one value.
pub(super) fn rules_between(values: &BTreeMap<&'static str, Value>) -> Vec<Problem> {
    let mut problems = network_rules(values);
    problems.extend(nonce_rules(values));
    problems
}

/// A door for others is encrypted and asks for the token, or it does not open.
fn network_rules(values: &BTreeMap<&'static str, Value>) -> Vec<Problem> {
    let text = |key: &str| values.get(key).and_then(Value::as_str);
    let host = text("channels.web.host").unwrap_or("127.0.0.1");
    let mut problems = Vec::new();
    if !is_loopback(host) {
        let open = format!("is missing, and `channels.web.host` is {host}, which other machines can reach");
        if text("channels.web.auth_token").is_none() {
            let fix = "Make a token with `silas tls token` and set it, or set the host back to 127.0.0.1.";
            problems.push(Problem::network("channels.web.auth_token", open.clone(), fix));
        }
        if text("channels.web.tls.name").is_none() {
            let fix = "Set the name under which your devices reach this machine, then `silas tls make`; or set the host \
                       back to 127.0.0.1.";
            problems.push(Problem::network("channels.web.tls.name", open, fix));
        }
    }
    let (certificate, key) = (text("channels.web.tls.certificate"), text("channels.web.tls.key"));
    if certificate.is_some() != key.is_some() {
        let what = "and `channels.web.tls.certificate` belong together, but only one is set".to_owned();
        let fix = "Set both, or neither to use what `silas tls make` made.";
        problems.push(Problem::network("channels.web.tls.key", what, fix));
    }
    problems
}

fn nonce_rules(values: &BTreeMap<&'static str, Value>) -> Vec<Problem> {
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
