//! Where settings come from: a YAML file under the key `silas`, and variables named `SILAS__…`.

use super::Origin;
use super::problem::Problem;
use super::settings::SETTINGS;
use silas_core::plan::nearest::nearest;
use silas_core::plan::yaml::{self, Key, Node, Scalar, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

/// Environment variables, in the order of their names so that every start reads them alike.
pub(super) type Variables = BTreeMap<String, String>;

/// What somebody wrote for a setting. `null` and a `${NAME}` that is not set are not written here: they mean the default.
pub(super) struct Given {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// Larger than any configuration file; a wrong path should not fill memory.
const FILE_BYTES_MAX: u64 = 1 << 20;

const PREFIX: &str = "SILAS__";

pub(super) fn file(
    path: &Path,
    variables: &Variables,
    given: &mut BTreeMap<&'static str, Given>,
    problems: &mut Vec<Problem>,
) {
    let name = path.display().to_string();
    let root = match read_text(path).and_then(|text| yaml::read(&text).map_err(|e| e.to_string())) {
        Ok(root) => root,
        Err(error) => return problems.push(Problem::unreadable(&name, &error)),
    };
    let entries = match &root.value {
        Value::Null => return,
        Value::Map(entries) => entries,
        Value::Scalar(_) | Value::List(_) => {
            return problems.push(Problem::unreadable(&name, "it does not begin with `silas:`"));
        }
    };
    let is_setting = |key: &str| {
        let is_below =
            |setting: &&str| setting.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        SETTINGS.iter().map(|setting| setting.key).any(|setting| is_below(&setting))
    };
    let has_top = entries.iter().any(|(key, _)| key.text == "silas");
    if let Some((key, _)) = entries.iter().find(|(key, _)| !has_top && is_setting(&key.text)) {
        return problems.push(Problem::not_under_silas(&name, &key.text, key.at.line));
    }
    let mut walk = Walk { path, variables, given, problems };
    for (key, node) in entries {
        match key.text.as_str() {
            "silas" => walk.node("", node),
            _ => walk.unknown(key, &key.text, &["silas"]),
        }
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let file = crate::named_file::open(path).map_err(|e| e.to_string())?;
    if file.metadata().map_err(|e| e.to_string())?.len() > FILE_BYTES_MAX {
        return Err("it is larger than 1 MiB".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// One pass over the tree of a file.
struct Walk<'a> {
    path: &'a Path,
    variables: &'a Variables,
    given: &'a mut BTreeMap<&'static str, Given>,
    problems: &'a mut Vec<Problem>,
}

impl Walk<'_> {
    fn node(&mut self, at: &str, node: &Node) {
        match &node.value {
            Value::Null => {}
            Value::Map(entries) => entries.iter().for_each(|(key, inner)| self.entry(at, key, inner)),
            Value::Scalar(_) | Value::List(_) => {
                let subject = if at.is_empty() { "silas" } else { at };
                let what = format!("in {}, line {} should hold keys with values", self.path.display(), node.at.line);
                self.problems.push(Problem::together(subject, what, "Put its keys below it, indented."));
            }
        }
    }

    fn entry(&mut self, at: &str, key: &Key, node: &Node) {
        let full = if at.is_empty() { key.text.clone() } else { format!("{at}.{}", key.text) };
        let group = format!("{full}.");
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == full) {
            let origin = Origin::File { path: self.path.to_path_buf(), line: key.at.line };
            match &node.value {
                Value::Null => {}
                value if setting.rule.takes(value) => {
                    if let Some(value) = replaced_in(value, self.variables) {
                        self.given.insert(setting.key, Given { value, origin });
                    }
                }
                _ => {
                    let what = format!("(from {origin}) must be {}", setting.rule.words());
                    self.problems.push(Problem::together(&full, what, setting.rule.form()));
                }
            }
        } else if SETTINGS.iter().any(|setting| setting.key.starts_with(&group)) {
            self.node(&full, node);
        } else {
            self.unknown(key, &full, &[]);
        }
    }

    fn unknown(&mut self, key: &Key, full: &str, known: &[&str]) {
        let all: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
        let what = format!("in {}, line {} is not a setting of this version", self.path.display(), key.at.line);
        let known = if known.is_empty() { nearest_setting(full, &all) } else { nearest(full, known) };
        self.problems.push(Problem::unknown(full, what, known));
    }
}

/// A wrong group (`chanels.web`) is compared with groups, a wrong key with keys.
fn nearest_setting<'a>(full: &str, all: &[&'a str]) -> Option<&'a str> {
    let depth = full.matches('.').count();
    let mut same_depth: Vec<&str> = Vec::new();
    for key in all {
        let end = key.match_indices('.').nth(depth).map_or(key.len(), |(at, _)| at);
        same_depth.push(&key[..end]);
    }
    nearest(full, &same_depth)
}

/// The variables of ours that are not text: nobody can say what they were to mean.
pub(crate) fn not_text(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<Problem> {
    let odd = variables.filter(|(name, value)| name.to_str().is_none() || value.to_str().is_none());
    let ours = odd.map(|(name, _)| name.to_string_lossy().into_owned()).filter(|name| name.starts_with(PREFIX));
    ours.map(|name| Problem::not_text(&name)).collect()
}

pub(super) fn environment(
    variables: &Variables,
    given: &mut BTreeMap<&'static str, Given>,
    problems: &mut Vec<Problem>,
) {
    for (name, value) in variables {
        let Some(path) = name.strip_prefix(PREFIX) else { continue };
        let key = path.to_ascii_lowercase().replace("__", ".");
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
            let all: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
            let variable = |key: &str| format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase());
            let close = nearest(&key, &all).map(variable);
            problems.push(Problem::unknown(
                name,
                "is a variable for no setting of this version".to_owned(),
                close.as_deref(),
            ));
            continue;
        };
        let origin = Origin::Variable(name.clone());
        match yaml::read(value).map(|node| node.value) {
            Ok(Value::Null) => drop(given.remove(setting.key)),
            Ok(value) if setting.rule.takes(&value) => drop(given.insert(setting.key, Given { value, origin })),
            Ok(Value::Scalar(_) | Value::List(_) | Value::Map(_)) | Err(_) => {
                let what = format!("(from {origin}) must be {}", setting.rule.words());
                let fix = match setting.rule.form() {
                    "Write one value." => "Write one value; put it in quotes if it has `:` or `#`.",
                    other => other,
                };
                problems.push(Problem::together(setting.key, what, fix));
            }
        }
    }
}

/// What was given on the command line: the last word, whatever a file or a variable says.
pub(super) fn options(
    options: &[(&'static str, &'static str, String)],
    given: &mut BTreeMap<&'static str, Given>,
    problems: &mut Vec<Problem>,
) {
    for (option, key, value) in options {
        let origin = Origin::Option(option);
        match yaml::read(value).map(|node| node.value) {
            Ok(value @ Value::Scalar(_)) => drop(given.insert(key, Given { value, origin })),
            _ => {
                problems.push(Problem::together(key, format!("(from {origin}) must be one value"), "Write one value."))
            }
        }
    }
}

/// The same of everything in a list or a map; what is not set is left out there.
fn replaced_in(value: &Value, variables: &Variables) -> Option<Value> {
    let inner = |node: &Node| Some(Node { at: node.at, value: replaced_in(&node.value, variables)? });
    match value {
        Value::Null => None,
        Value::Scalar(scalar) => replaced(scalar, variables).map(Value::Scalar),
        Value::List(nodes) => Some(Value::List(nodes.iter().filter_map(inner).collect())),
        Value::Map(entries) => {
            let entry = |(key, node): &(Key, Node)| Some((key.clone(), inner(node)?));
            Some(Value::Map(entries.iter().filter_map(entry).collect()))
        }
    }
}

/// Replaces each `${NAME}`. If one of them is not set, there is no value. What was put together is read again, so that
/// `${PORT}` can be a number.
fn replaced(scalar: &Scalar, variables: &Variables) -> Option<Scalar> {
    if !scalar.text.contains("${") {
        return Some(scalar.clone());
    }
    let mut out = String::new();
    let mut rest = scalar.text.as_str();
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str(variables.get(name)?);
        rest = tail;
    }
    out.push_str(rest);
    match yaml::read(&out).map(|node| node.value) {
        Ok(Value::Scalar(typed)) if typed.text == out => Some(typed),
        _ => Some(Scalar { text: out, is_text: true }),
    }
}
