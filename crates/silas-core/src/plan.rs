//! Plans as people and models write them: markdown with YAML front matter, read into a [`WorkItem`] and written back.
//!
//! `parse(render(item)) == item` for every item. Reading is strict: a key that is not known, a feature that this version
//! does not have, or a value that could mean two things is refused with its line. Nothing here decides whether a plan may
//! run; `needs_approval: false` is read as a wish and dropped.

mod fields;
mod item;
pub mod nearest;
mod render;
pub mod yaml;

use crate::work::WorkItem;
pub use render::render;
use std::fmt;
use yaml::{Node, Position, Unreadable, Value};

/// Largest plan, in bytes. A plan is a page or two; what is longer belongs in a file that the plan names.
pub const PLAN_BYTES_MAX: usize = 1 << 20;

/// Why a text is not a plan, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanError {
    /// From 1, in the whole file.
    pub line: u64,
    pub column: u64,
    /// The front-matter key, such as `verify[0].expect`.
    pub key: Option<String>,
    pub problem: String,
}

/// Longest explanation, in characters; it may quote the plan.
const PROBLEM_CHARS_MAX: usize = 500;

impl PlanError {
    fn new(at: Position, key: Option<&str>, problem: impl AsRef<str>) -> Self {
        // A plan may come from anywhere, and what it says is quoted here: nothing of it may steer a terminal.
        let plain = |text: &str| -> String {
            let calm = |c: char| if c.is_control() { '\u{fffd}' } else { c };
            text.chars().map(calm).take(PROBLEM_CHARS_MAX).collect()
        };
        PlanError { line: at.line, column: at.column, key: key.map(plain), problem: plain(problem.as_ref()) }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)?;
        if let Some(key) = &self.key {
            write!(f, ", `{key}`")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for PlanError {}

impl From<Unreadable> for PlanError {
    fn from(e: Unreadable) -> Self {
        PlanError::new(e.at, e.key.as_deref(), e.problem)
    }
}

pub fn parse(markdown: &[u8]) -> Result<WorkItem, PlanError> {
    if markdown.len() > PLAN_BYTES_MAX {
        return Err(PlanError::new(Position::START, None, "a plan is at most 1 MiB"));
    }
    let text = std::str::from_utf8(markdown).map_err(|e| {
        let before = String::from_utf8_lossy(&markdown[..e.valid_up_to()]);
        PlanError::new(end_of(&before), None, "this is not UTF-8 text; save the plan as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split(text)?;
    let root = yaml::read(front)?;
    let definition = item::read(&root, body)?;
    WorkItem::new(definition).map_err(|broken| {
        PlanError::new(locate(&root, &broken.key), Some(&broken.key), format!("expected {}", broken.expected))
    })
}

/// The front matter, with its opening line so that lines keep their numbers, and the body as it is, byte for byte.
fn split(text: &str) -> Result<(&str, &str), PlanError> {
    let mut offset = 0;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == "---";
        if n == 0 && !is_fence {
            break;
        }
        if n > 0 && is_fence {
            return Ok((&text[..offset], &text[offset + line.len()..]));
        }
        offset += line.len();
    }
    let problem = match offset {
        0 => "a plan begins with a line `---`, then its keys, then another line `---`, then the briefing",
        _ => "the front matter is not closed; put a line `---` after its last key",
    };
    Err(PlanError::new(Position::START, None, problem))
}

fn end_of(text: &str) -> Position {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    Position { line: line as u64, column: column as u64 }
}

/// Where a key such as `verify[0].timeout` stands, or the nearest thing around it that was written.
fn locate(root: &Node, key: &str) -> Position {
    let mut here = root;
    for part in key.split(['.', '[']) {
        let inner = match &here.value {
            Value::Map(entries) => entries.iter().find(|(key, _)| key.text == part).map(|(_, node)| node),
            Value::List(items) => part.trim_end_matches(']').parse().ok().and_then(|n: usize| items.get(n)),
            Value::Null | Value::Scalar(_) => None,
        };
        match inner {
            Some(node) => here = node,
            None => break,
        }
    }
    here.at
}

#[cfg(test)]
mod tests;
