//! What is wrong with a configuration: which key, what it said, what is expected, and what to do.

use super::settings::{Rule, Setting};
use super::sources::Given;
use silas_core::plan::yaml;
use std::fmt;

/// All problems of one configuration. Fixing one and meeting the next is nobody's idea of a start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConfigError {
    pub(crate) problems: Vec<Problem>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    /// The key, the variable or the file.
    pub(crate) subject: String,
    pub(crate) what: String,
    pub(crate) fix: String,
}

impl Problem {
    /// A value that its setting's rule does not allow.
    pub(super) fn value(setting: &Setting, given: &Given, fix: String) -> Self {
        let said = match &setting.rule {
            Rule::Secret => "set".to_owned(),
            // Whoever puts a key there by mistake must not find it in a log.
            rule if rule.is_near_secrets() => "`…`".to_owned(),
            _ => format!("`{}`", shown(&written(&given.value))),
        };
        Problem {
            code: "E_CFG_VALUE",
            subject: setting.key.to_owned(),
            what: format!("is {said} (from {}), but must be {}", given.origin, setting.rule.words()),
            fix,
        }
    }

    /// Two values that do not go together.
    pub(super) fn together(key: &str, what: String, fix: &str) -> Self {
        Problem { code: "E_CFG_VALUE", subject: key.to_owned(), what, fix: fix.to_owned() }
    }

    /// What a door for other machines lacks.
    pub(super) fn network(key: &str, what: String, fix: &str) -> Self {
        Problem { code: "E_CFG_NETWORK", subject: key.to_owned(), what, fix: fix.to_owned() }
    }

    pub(super) fn unknown(subject: &str, what: String, nearest: Option<&str>) -> Self {
        let fix = match nearest {
            Some(key) => format!("Did you mean `{key}`?"),
            None => "Remove it; `silas config show` lists every key.".to_owned(),
        };
        Problem { code: "E_CFG_KEY", subject: shown(subject), what, fix }
    }

    /// A variable of ours that is not text.
    pub(super) fn not_text(variable: &str) -> Self {
        Problem {
            code: "E_CFG_VALUE",
            subject: shown(variable),
            what: "is not text (UTF-8)".to_owned(),
            fix: "Set it again, or remove it.".to_owned(),
        }
    }

    /// A file whose settings stand where only `silas:` should.
    pub(super) fn not_under_silas(file: &str, key: &str, line: u64) -> Self {
        Problem {
            code: "E_CFG_KEY",
            subject: shown(file),
            what: format!("lacks `silas:` at its top, so line {line}, `{}`, is not found where it belongs", shown(key)),
            fix: "Make `silas:` the first line, and indent everything below it by two spaces.".to_owned(),
        }
    }

    pub(super) fn unreadable(subject: &str, what: &str) -> Self {
        Problem {
            code: "E_CFG_FILE",
            subject: shown(subject),
            what: format!("cannot be read: {}", shown(what)),
            fix: "Correct it, or start without it: every setting has a default.".to_owned(),
        }
    }
}

/// What stands there, as it could be written on one line.
fn written(value: &yaml::Value) -> String {
    match value {
        yaml::Value::Null => "null".to_owned(),
        yaml::Value::Scalar(scalar) => scalar.text.clone(),
        yaml::Value::List(nodes) => {
            let items: Vec<String> = nodes.iter().map(|node| written(&node.value)).collect();
            format!("[{}]", items.join(", "))
        }
        yaml::Value::Map(entries) => {
            let entry = |(key, node): &(yaml::Key, yaml::Node)| format!("{}: {}", key.text, written(&node.value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Text of a file or a variable, made fit for a terminal.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}. {} ({})", self.subject, self.what, self.fix, self.code)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigError {}
