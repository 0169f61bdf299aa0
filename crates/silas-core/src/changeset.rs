//! What work changed: the files of the copy that differ from the originals it was made of.

use crate::relpath::RelPath;
use crate::{Digest, ExecutionId, canonical};
use serde::{Deserialize, Serialize};

/// A file as it is on disk. Directories are not part of a changeset: they come and go with their files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileState {
    /// Content and permission bits.
    File { hash: Digest, mode: u32 },
    /// Where a symlink points, as escaped bytes.
    Link { target: String },
}

/// One path that differs. `before` is missing for a new file, `after` for a deleted one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Which granted directory, by its place in the plan.
    pub directory: u32,
    pub path: RelPath,
    pub before: Option<FileState>,
    pub after: Option<FileState>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changeset {
    /// Sorted by directory and path, so that equal work has an equal hash.
    pub changes: Vec<Change>,
}

impl Changeset {
    pub fn hash(&self) -> Result<Digest, canonical::Error> {
        canonical::digest(self)
    }
}

/// How one file's text changed, for people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileDiff {
    /// The directory that the path lies in, where a plan changes several; otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub directory: String,
    pub path: RelPath,
    /// Where the file was before, if it only moved or nearly so. The changeset has both paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<RelPath>,
    /// What it is on disk, before and after; missing where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_before: Option<FileMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_after: Option<FileMode>,
    pub added: u32,
    pub removed: u32,
    /// `None` where the file is not text or too large to show.
    pub lines: Option<Vec<DiffLine>>,
    /// Whether the lines are all of the change, letter by letter: nothing left out, nothing made visible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_verbatim: bool,
}

/// What kind of file, with its permissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    File(u32),
    Link,
}

impl FileState {
    pub fn mode(&self) -> FileMode {
        match self {
            FileState::File { mode, .. } => FileMode::File(*mode),
            FileState::Link { .. } => FileMode::Link,
        }
    }
}

impl FileDiff {
    /// Changed lines of which the diff does not have everything. Counted from the lines that are there, so that it holds for
    /// a diff of any version.
    pub fn n_not_shown(&self) -> u32 {
        let Some(lines) = &self.lines else { return 0 };
        let whole = lines.iter().filter(|line| match line {
            DiffLine::Added(text) | DiffLine::Removed(text) => !is_cut(text),
            DiffLine::Same(_) | DiffLine::Gap(_) | DiffLine::NotShown(_) => false,
        });
        let n_whole = u32::try_from(whole.count()).unwrap_or(u32::MAX);
        self.added.saturating_add(self.removed).saturating_sub(n_whole)
    }

    /// Whether there is a new content of which nothing is shown: it is not text, or too large.
    pub fn is_unread(&self) -> bool {
        self.lines.is_none() && self.mode_after.is_some()
    }

    /// The paths of the changeset that it stands for: a file that moved is one gone and one new.
    pub fn n_paths(&self) -> usize {
        1 + usize::from(self.renamed_from.is_some())
    }
}

/// Stands at the end of a line that no line end follows.
pub const NO_LINE_END: &str = "⟨no line end⟩";
/// Ends the remark at the end of a line of which only the beginning is shown.
pub const MORE_CHARACTERS: &str = " more characters⟩";

fn is_cut(line: &str) -> bool {
    line.strip_suffix(NO_LINE_END).unwrap_or(line).ends_with(MORE_CHARACTERS)
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffLine {
    Same(String),
    Added(String),
    Removed(String),
    /// Unchanged lines left out.
    Gap(u32),
    /// Changed lines left out, because there are too many.
    NotShown(u32),
}

/// The payload of an `undo` decision: exactly this change of exactly this execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeOrder {
    pub kind: crate::token::Kind,
    pub execution: ExecutionId,
    pub changeset: Digest,
}

#[cfg(test)]
mod tests;
