//! What a plan says about its exits: control sets, flows, and the owner's own words. All of it is in the plan's hash.

use super::Reading;
use super::glob::Glob;
use super::typed;
use crate::work::{RuleBroken, rule};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Entries of one control set, and flows of one plan; each is a line that a person reads.
pub const ENTRIES_MAX: usize = 32;

/// Longest wish that is kept as the owner's words. Who pastes a book into a wish has not typed it.
pub const TYPED_BYTES_MAX: usize = 8 * 1024;

/// Which values may steer an exit of a run that has read what others wrote. What is not here is asked about.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exits {
    /// Files that may be put in place without being asked about: below the first directory that may be changed, or absolute.
    #[serde(default)]
    pub paths: Vec<Glob>,
    /// What may be searched for.
    #[serde(default)]
    pub queries: Vec<Glob>,
    /// The owner's signed words. A value that stands in them was typed by the owner. Never taken from a model.
    #[serde(default)]
    pub typed: Option<String>,
}

/// Text from here may go there: `web → report.md`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub from: Reading,
    /// Which file.
    pub to: Glob,
}

/// Why a text is no flow.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadFlow(String);

impl Flow {
    pub fn parse(text: &str) -> Result<Self, BadFlow> {
        let bad = |problem: &str| BadFlow(problem.to_owned());
        let arrows = ["→", "->"].into_iter().filter_map(|arrow| Some((text.find(arrow)?, arrow)));
        let (at, arrow) = arrows.min().ok_or_else(|| bad("a flow is written `web → report.md`"))?;
        let (from, to) = (text[..at].trim(), text[at + arrow.len()..].trim());
        let from = Reading::ALL.into_iter().find(|reading| reading.name() == from);
        let from = from.ok_or_else(|| bad("a flow begins at `files` or at `web`"))?;
        let to = Glob::parse(to).map_err(|e| BadFlow(format!("where a flow ends: {e}")))?;
        Ok(Flow { from, to })
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.from.name(), self.to)
    }
}

impl Exits {
    /// What the owner said, and nothing else.
    pub fn of_words(words: &str) -> Self {
        let typed = (words.len() <= TYPED_BYTES_MAX).then(|| words.to_owned());
        Exits { typed, ..Exits::default() }
    }

    pub fn is_empty(&self) -> bool {
        *self == Exits::default()
    }

    /// Whether the owner typed this value: it stands in the owner's own words, whole.
    pub(super) fn is_typed(&self, value: &str, is_name: bool) -> bool {
        self.typed.as_deref().is_some_and(|words| match is_name {
            true => typed::names(words, value),
            false => typed::contains(words, value),
        })
    }

    pub(crate) fn check(&self, flows: &[Flow]) -> Result<(), RuleBroken> {
        for (key, set) in [("paths", &self.paths), ("queries", &self.queries)] {
            rule(set.len() <= ENTRIES_MAX, &format!("exits.{key}"), "at most 32 entries")?;
            for (n, entry) in set.iter().enumerate() {
                rule(!set[..n].contains(entry), &format!("exits.{key}[{n}]"), "an entry that is not listed twice")?;
            }
        }
        for (n, path) in self.paths.iter().enumerate() {
            rule(path.is_path(), &format!("exits.paths[{n}]"), "a path without `.`, `..` or empty parts")?;
        }
        let is_short = |words: &String| words.len() <= TYPED_BYTES_MAX;
        rule(self.typed.as_ref().is_none_or(is_short), "exits.typed", "at most 8 KiB")?;
        rule(flows.len() <= ENTRIES_MAX, "flows", "at most 32 flows")?;
        for (n, flow) in flows.iter().enumerate() {
            let key = format!("flows[{n}]");
            rule(flow.to.is_path(), &key, "a flow that ends at a file, without `.`, `..` or empty parts")?;
            rule(!flows[..n].contains(flow), &key, "a flow that is not listed twice")?;
        }
        Ok(())
    }
}
