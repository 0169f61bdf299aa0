//! YAML as a tree of texts that remember where they stood.
//!
//! A scalar keeps the characters that were written: `0.5` stays `0.5` and `no` stays `no` until somebody asks for a
//! number or a yes. Deliberately absent: aliases, merge keys and foreign tags. A plan that says one thing by pointing at
//! another is harder to read than to repeat, and expanding it is how small files become large ones.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error as YamlError, Location, Spanned};
use std::fmt;

/// A place in the text: line and column, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    pub line: u64,
    pub column: u64,
}

impl Position {
    pub const START: Position = Position { line: 1, column: 1 };
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub at: Position,
    pub value: Value,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// `null`, `~`, or nothing at all.
    Null,
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scalar {
    pub text: String,
    /// Whether it was written in quotes or reads as words, so that it is text and nothing else.
    pub is_text: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    pub at: Position,
    pub text: String,
}

/// Why a text is not a tree of this kind.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {}, column {}: {problem}", at.line, at.column)]
pub struct Unreadable {
    pub at: Position,
    pub key: Option<String>,
    pub problem: String,
}

/// Deeper nesting than any document of ours has; bounds the recursion.
const DEPTH_MAX: usize = 32;
/// More nodes than any document of ours has; bounds memory.
const NODES_MAX: usize = 50_000;

/// Reads one document. An empty one is [`Value::Null`].
pub fn read(text: &str) -> Result<Node, Unreadable> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: DEPTH_MAX,
            max_documents: 1,
            max_nodes: NODES_MAX,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: true,
        // `!!binary` would otherwise turn a text into another one.
        ignore_binary_tag_for_string: true,
        emit_comments: false,
        with_snippet: false,
    };
    let raw: Spanned<Raw> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| explain(&error, text))?;
    Ok(place(raw, text))
}

/// What the YAML reader hands over. A scalar that it would turn into a number or a bool is only noted as such; its
/// characters are taken from the source afterwards.
enum Raw {
    Null,
    NotText,
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn place(raw: Spanned<Raw>, source: &str) -> Node {
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::NotText => Value::Scalar(Scalar { text: written(&raw.defined, source).to_owned(), is_text: false }),
        Raw::Text(text) => Value::Scalar(Scalar { text, is_text: true }),
        Raw::List(items) => Value::List(items.into_iter().map(|item| place(item, source)).collect()),
        Raw::Map(entries) => {
            let entry = |(key, value): (Spanned<String>, Spanned<Raw>)| {
                (Key { at: position(&key.defined), text: key.value }, place(value, source))
            };
            Value::Map(entries.into_iter().map(entry).collect())
        }
    };
    Node { at: position(&raw.defined), value }
}

fn written<'a>(location: &Location, source: &'a str) -> &'a str {
    let span = location.span();
    let range = || {
        let start = usize::try_from(span.byte_offset()?).ok()?;
        let len = usize::try_from(span.byte_len()?).ok()?;
        source.get(start..start.checked_add(len)?)
    };
    range().unwrap_or_default().trim()
}

fn position(location: &Location) -> Position {
    Position { line: location.line().max(1), column: location.column().max(1) }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }
    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::NotText)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::NotText)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::NotText)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::NotText)
    }
    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

/// The reader's complaints in our words where a person will meet them, and in its own for the rest.
fn explain(error: &YamlError, source: &str) -> Unreadable {
    let at = error.location().map_or(Position::START, |location| position(&location));
    let mut key = None;
    let problem = match error.without_snippet() {
        YamlError::DuplicateMappingKey { key: twice, .. } => {
            key = twice.clone();
            "this key comes twice; keep one".to_owned()
        }
        YamlError::Budget { breach: BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. }, .. }
        | YamlError::UnknownAnchor { .. } => {
            "`&name` and `*name` are not supported; write the value out, or put it in quotes".to_owned()
        }
        YamlError::MergeKeyNotAllowed { .. } => "`<<` is not supported; write the values out".to_owned(),
        YamlError::Budget { breach: BudgetBreach::Documents { .. }, .. } | YamlError::MultipleDocuments { .. } => {
            "only one YAML document is expected here".to_owned()
        }
        YamlError::Budget { .. } => "this is nested too deeply or has too many entries".to_owned(),
        YamlError::UnsupportedTag { tag, .. } => format!("the tag `{tag}` is not supported"),
        _ if indented_by_tab(source, at.line) => "a tab is used for indentation; YAML needs spaces".to_owned(),
        YamlError::NullIntoString { .. } | YamlError::Unexpected { .. } => "a key must be a plain word".to_owned(),
        other => {
            let said = other.to_string();
            let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
            format!("the YAML cannot be read: {}", one_line(said))
        }
    };
    Unreadable { at, key, problem }
}

fn indented_by_tab(source: &str, line: u64) -> bool {
    let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    // A tab is noticed where it stands or at the line after it, depending on what was being read.
    source.lines().skip(index.saturating_sub(1)).take(2).any(|line| {
        let indent = &line[..line.len() - line.trim_start().len()];
        indent.contains('\t')
    })
}

/// Messages of libraries come in several lines and with positions of their own; ours are one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}
