//! The keys of one mapping, asked for by name and kind; every complaint knows its line and its key.

use super::PlanError;
use super::nearest::nearest;
use super::yaml::{Key, Node, Position, Value};

pub(super) struct Fields<'a> {
    /// Where this mapping stands in the plan, such as `verify[0]`; empty at the top.
    path: String,
    at: Position,
    entries: &'a [(Key, Node)],
}

impl<'a> Fields<'a> {
    pub(super) fn of(node: &'a Node, path: &str, known: &[&str]) -> Result<Self, PlanError> {
        let entries: &[(Key, Node)] = match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            Value::Scalar(_) | Value::List(_) => {
                let place = (!path.is_empty()).then_some(path);
                return Err(PlanError::new(
                    node.at,
                    place,
                    format!("keys with values are needed, this is {}", kind(node)),
                ));
            }
        };
        let fields = Fields { path: path.to_owned(), at: node.at, entries };
        for (key, _) in entries {
            if !known.contains(&key.text.as_str()) {
                let hint = match nearest(&key.text, known) {
                    Some(close) => format!("unknown key; did you mean `{close}`?"),
                    None => format!("unknown key; the keys here are {}", known.join(", ")),
                };
                return Err(PlanError::new(key.at, Some(&fields.path_of(&key.text)), hint));
            }
        }
        Ok(fields)
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// What is written at a key; `null` counts as not written.
    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        let (_, node) = self.entries.iter().find(|(k, _)| k.text == key)?;
        (node.value != Value::Null).then_some(node)
    }

    pub(super) fn error(&self, key: &str, problem: impl AsRef<str>) -> PlanError {
        let at = self.get(key).map_or(self.at, |node| node.at);
        PlanError::new(at, Some(&self.path_of(key)), problem)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, PlanError> {
        self.get(key).map(|node| text_of(node).map_err(|problem| self.error(key, problem))).transpose()
    }

    /// A text with a form of its own: an id, a decimal.
    pub(super) fn parsed<T, E: ToString>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, PlanError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|e| self.error(key, e.to_string()))
    }

    pub(super) fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T, PlanError> {
        value.ok_or_else(|| self.error(key, "this key is needed and missing"))
    }

    pub(super) fn integer<T: TryFrom<i64>>(&self, key: &str) -> Result<Option<T>, PlanError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let number = match &node.value {
            Value::Scalar(scalar) if !scalar.is_text => plain_integer(&scalar.text).and_then(|n| T::try_from(n).ok()),
            _ => None,
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(self.error(key, format!("a whole number is needed, this is {}", kind(node)))),
        }
    }

    pub(super) fn yes_no(&self, key: &str) -> Result<Option<bool>, PlanError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        match &node.value {
            Value::Scalar(scalar) if !scalar.is_text && scalar.text == "true" => Ok(Some(true)),
            Value::Scalar(scalar) if !scalar.is_text && scalar.text == "false" => Ok(Some(false)),
            _ => Err(self.error(key, format!("`true` or `false` is needed, this is {}", kind(node)))),
        }
    }

    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Option<T>, PlanError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        match choices.iter().find(|choice| name(**choice) == text) {
            Some(choice) => Ok(Some(*choice)),
            None => {
                let names: Vec<&str> = choices.iter().map(|choice| name(*choice)).collect();
                let given: String = text.chars().take(40).collect();
                Err(self.error(key, format!("`{given}` is not one of {}", names.join(", "))))
            }
        }
    }

    pub(super) fn list(&self, key: &str) -> Result<&'a [Node], PlanError> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Node { value: Value::List(items), .. }) => Ok(items),
            Some(node) => Err(self.error(key, format!("a list is needed, this is {}", kind(node)))),
        }
    }

    /// A key of the model that this version has nothing behind: it may be there as long as it asks for nothing.
    pub(super) fn must_be_empty(&self, key: &str, problem: &str) -> Result<(), PlanError> {
        let is_empty = self.get(key).is_none_or(|node| match &node.value {
            Value::Null => true,
            Value::Scalar(scalar) => scalar.is_text && scalar.text.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
        });
        if is_empty { Ok(()) } else { Err(self.error(key, problem)) }
    }
}

/// Any scalar is a text if a text is asked for: `no` and `007` are what they look like.
pub(super) fn text_of(node: &Node) -> Result<String, String> {
    match &node.value {
        Value::Scalar(scalar) => Ok(scalar.text.clone()),
        Value::Null | Value::List(_) | Value::Map(_) => Err(format!("text is needed, this is {}", kind(node))),
    }
}

/// Decimal digits and a sign; no other base, no underscores, and no leading zero that might mean octal.
fn plain_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

pub(super) fn kind(node: &Node) -> String {
    match &node.value {
        Value::Null => "empty".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a group of keys".to_owned(),
        Value::Scalar(scalar) => {
            let shown: String = scalar.text.chars().take(40).collect();
            if scalar.is_text { format!("the text `{shown}`") } else { format!("`{shown}`") }
        }
    }
}
