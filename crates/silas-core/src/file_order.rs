//! What a model that works in a private copy can have done to files there, and what it hears: reading, searching, replacing,
//! patching. Whoever carries it out does so inside a cell and sees what a command there sees.
//!
//! What stands in files and what Silas says about them are apart in every answer, because only the second is Silas's own.

use crate::Digest;
use crate::patch::FilePatch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Characters of files that one answer shows.
pub const SHOWN_CHARS_MAX: usize = 10_000;
/// The longest text that a model can write at once.
pub const WRITTEN_CHARS_MAX: usize = 200_000;

/// Paths are as the model wrote them: absolute, or below the first directory of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FileOrder {
    /// Lines, each after its number, counted from 1; `None` is to the end.
    Read {
        path: String,
        from_line: u64,
        lines: Option<u64>,
    },
    /// Makes a file, or replaces the text of one that was seen whole.
    Write {
        path: String,
        text: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
        all: bool,
    },
    /// All of it or nothing.
    Patch(Vec<FilePatch>),
    /// Lines that a regular expression matches, in a file or in all files below a directory whose names match.
    Search {
        pattern: String,
        path: String,
        name: Option<String>,
    },
    List {
        path: String,
        depth: u64,
        name: Option<String>,
    },
}

impl FileOrder {
    /// Whether it only looks.
    pub fn only_reads(&self) -> bool {
        match self {
            FileOrder::Read { .. } | FileOrder::Search { .. } | FileOrder::List { .. } => true,
            FileOrder::Write { .. } | FileOrder::Edit { .. } | FileOrder::Patch(_) => false,
        }
    }
}

/// What a model has seen of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sight {
    /// Of the file as it was then.
    pub text: Digest,
    pub n_lines: u64,
    /// Ranges of lines that were shown exactly, counted from 1, in order and apart.
    pub shown: Vec<(u64, u64)>,
}

impl Sight {
    /// Nothing of it yet.
    pub fn of(text: &[u8]) -> Sight {
        let n_lines = u64::try_from(crate::replacing::lines(text).len()).unwrap_or(u64::MAX);
        Sight { text: Digest::of(text), n_lines, shown: Vec::new() }
    }

    /// All of it.
    pub fn whole(text: &[u8]) -> Sight {
        let sight = Sight::of(text);
        let n_lines = sight.n_lines;
        sight.with(1, n_lines)
    }

    #[must_use]
    pub fn with(mut self, from: u64, to: u64) -> Sight {
        if from > to {
            return self;
        }
        self.shown.push((from, to));
        self.shown.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::new();
        for (from, to) in std::mem::take(&mut self.shown) {
            match apart.last_mut() {
                Some((_, last)) if from <= last.saturating_add(1) => *last = to.max(*last),
                _ => apart.push((from, to)),
            }
        }
        self.shown = apart;
        self
    }

    pub fn is_whole(&self) -> bool {
        self.n_lines == 0 || self.shown == [(1, self.n_lines)]
    }
}

/// What was seen of files, by their real paths.
pub type Sights = BTreeMap<String, Sight>;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FileAnswer {
    /// What stands in files, and their names: words of nobody knows whom.
    pub shown: String,
    /// What Silas says about it.
    pub said: String,
    pub is_done: bool,
    /// What the model has now seen of the files that were shown or written.
    pub sights: Sights,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shown_in_parts_is_whole_in_the_end() {
        let sight = Sight::of(b"1\n2\n3\n4\n5").with(4, 5).with(1, 1);
        assert_eq!((sight.shown.as_slice(), sight.is_whole()), (&[(1, 1), (4, 5)][..], false));
        assert!(sight.with(2, 3).is_whole());
        assert!(Sight::of(b"").is_whole() && !Sight::of(b"\n").is_whole() && Sight::whole(b"a\nb").is_whole());
        assert_eq!(Sight::of(b"a").with(2, 1).shown, []);
    }
}
