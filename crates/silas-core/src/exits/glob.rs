//! One entry of a control set: a text that means itself, with `*` where any name may stand and `**` where any path may.
//!
//! In a path neither stands for a hidden name (`.env`, `.git`, `.github`): who means those writes them out. There are no
//! other signs and no escapes, so a person can read an entry aloud.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest entry, in characters: a line of a card.
pub const GLOB_CHARS_MAX: usize = 200;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Glob(String);

/// Why a text is no entry of a control set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadGlob {
    #[error("1 to 200 characters are needed")]
    Length,
    #[error("one line without control characters, and no space at either end, is needed")]
    Form,
}

impl Glob {
    pub fn parse(text: &str) -> Result<Self, BadGlob> {
        if text.is_empty() || text.chars().count() > GLOB_CHARS_MAX {
            return Err(BadGlob::Length);
        }
        let is_plain = |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
        if text.trim() != text || !text.chars().all(is_plain) {
            return Err(BadGlob::Form);
        }
        Ok(Glob(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for more than itself.
    pub fn is_pattern(&self) -> bool {
        self.0.contains('*')
    }

    /// A path that cannot lead anywhere else: parts that are not empty, `.` or `..`.
    pub fn is_path(&self) -> bool {
        let inside = self.0.strip_prefix('/').unwrap_or(&self.0);
        inside.split('/').all(|part| !matches!(part, "" | "." | ".."))
    }

    /// As a text: `*` stands for anything.
    pub fn matches_text(&self, text: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let text: Vec<char> = text.chars().collect();
        matches(&pattern, &text, |p| *p == '*', |_| true, |p, t| p == t)
    }

    /// As a path: `**` stands for any number of parts, `*` for any run of characters of one part.
    pub fn matches_path(&self, path: &str) -> bool {
        let pattern: Vec<&str> = self.0.split('/').collect();
        let path: Vec<&str> = path.split('/').collect();
        matches(&pattern, &path, |p| *p == "**", |part| is_shown(part), |p, part| matches_name(p, part))
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    if pattern.starts_with('*') && !is_shown(name) {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    matches(&pattern, &name, |p| *p == '*', |_| true, |p, c| p == c)
}

fn is_shown(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.')
}

/// Whether all of `given` is matched. `reached[n]` says whether the pattern so far matches the first `n` of it, so the work
/// is the product of both lengths whatever is written.
fn matches<P, T>(
    pattern: &[P],
    given: &[T],
    is_any: impl Fn(&P) -> bool,
    may_stand_for: impl Fn(&T) -> bool,
    is_one: impl Fn(&P, &T) -> bool,
) -> bool {
    let mut reached = vec![false; given.len() + 1];
    reached[0] = true;
    for p in pattern {
        let mut next = vec![false; given.len() + 1];
        if is_any(p) {
            next[0] = reached[0];
            for (n, one) in given.iter().enumerate() {
                next[n + 1] = reached[n + 1] || (next[n] && may_stand_for(one));
            }
        } else {
            for (n, one) in given.iter().enumerate() {
                next[n + 1] = reached[n] && is_one(p, one);
            }
        }
        reached = next;
    }
    reached[given.len()]
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> String {
        glob.0
    }
}

impl TryFrom<String> for Glob {
    type Error = BadGlob;
    fn try_from(text: String) -> Result<Self, BadGlob> {
        Glob::parse(&text)
    }
}
