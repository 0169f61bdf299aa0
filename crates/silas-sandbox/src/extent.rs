//! How a directory is gone through: what of it counts, how far it is read, and how much it may hold.

use crate::Error;
use crate::dir::Stat;
use crate::ignoring::Ignoring;
use crate::lifeline::Lifeline;
use crate::tree::{Git, Stamp};
use serde::{Deserialize, Serialize};
use silas_core::changeset::FileState;
use silas_core::number::grouped;
use silas_core::relpath::RelPath;
use std::io;

/// How much a private copy may hold, by the owner's settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Files and directories of a copy that is made whole.
    pub entries_max: usize,
    /// Of a copy that is made whole, and of what the work adds to one that is a layer.
    pub bytes_max: u64,
    /// Files that one plan may change.
    pub changes_max: usize,
    /// Of all copies together whose results wait for the owner's word.
    pub waiting_bytes_max: u64,
}

impl Default for Bounds {
    /// More than the source trees that people have, less than what copying would make them wait for; and more changes than
    /// anyone would look through. Of copies that wait there may be as much as two of the largest.
    fn default() -> Self {
        Bounds { entries_max: 200_000, bytes_max: 4 << 30, changes_max: 10_000, waiting_bytes_max: 8 << 30 }
    }
}

/// Through a layer nothing is copied; this many names still fit into memory.
const ENTRIES_MAX_LAYERED: usize = 2_000_000;
/// Larger files are not read where nothing is copied, unless the work changes them: how they look from outside is enough
/// to see that nobody else did.
pub(crate) const READ_BYTES_MAX: u64 = 8 << 20;

/// What of a directory is gone through, and how.
#[derive(Clone, Copy)]
pub(crate) struct Extent<'a> {
    pub(crate) git: Git,
    /// Nothing where everything counts.
    pub(crate) ignoring: Option<&'a Ignoring>,
    pub(crate) bounds: Bounds,
    pub(crate) depth: Depth,
    pub(crate) made_by: MadeBy,
    pub(crate) lifeline: Lifeline<'a>,
}

/// Whose doing it is that there is what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MadeBy {
    /// The owner's directory: whoever chose it may choose another.
    Owner,
    /// The copy, after the work wrote to it.
    Work,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// Every file is read.
    All,
    /// Large ones are only looked at; there may be any amount of them.
    Light,
}

impl<'a> Extent<'a> {
    /// Everything, within the usual bounds.
    pub(crate) fn all(git: Git, lifeline: Lifeline<'a>) -> Self {
        Extent { git, ignoring: None, bounds: Bounds::default(), depth: Depth::All, made_by: MadeBy::Owner, lifeline }
    }

    pub(crate) fn entries_max(&self) -> usize {
        match self.depth {
            Depth::All => self.bounds.entries_max,
            Depth::Light => self.bounds.entries_max.max(ENTRIES_MAX_LAYERED),
        }
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        match self.depth {
            Depth::All => self.bounds.bytes_max,
            Depth::Light => u64::MAX,
        }
    }

    /// What stands for a large file that is not read. One that was just written is: how it looks could be the same later.
    pub(crate) fn unread(&self, stamp: &Stamp, stat: &Stat) -> Option<FileState> {
        let is_left = self.depth == Depth::Light && stamp.is_large() && !stamp.is_fresh;
        is_left.then(|| FileState::File { hash: stamp.digest(), mode: stat.mode })
    }

    /// The sentence for a directory that holds too much, or for why it could not be read.
    pub(crate) fn too_large(&self, why: &io::Error, path: &RelPath) -> Error {
        if why.kind() != io::ErrorKind::FileTooLarge {
            return Error::io(&format!("Reading {path}"), why);
        }
        self.too_much()
    }

    /// What is no file, directory or link. Nobody loses work with it.
    pub(crate) fn no_file(&self, kind: &str, path: &RelPath) -> Error {
        let (kind, todo) = match self.made_by {
            MadeBy::Owner => (
                format!("{kind}, which cannot be copied"),
                "Remove it if nothing needs it, or choose another directory.",
            ),
            MadeBy::Work => (
                format!("{kind} that the work made, which cannot be kept"),
                "Have the work remove it before it ends, or make an ordinary file instead.",
            ),
        };
        Error::unsupported_with(&kind, path, todo)
    }

    pub(crate) fn too_many(&self) -> Error {
        let n = grouped(self.entries_max());
        let most = "the most that `sandbox.copy_files_max` allows";
        Error::TooLarge(match self.made_by {
            MadeBy::Owner => {
                format!("The directory has more than {n} files, {most}. Choose a smaller one, or raise it.")
            }
            MadeBy::Work => {
                format!(
                    "With what the work made, the private copy has more than {n} files, {most}. Let it make less, or raise it."
                )
            }
        })
    }

    pub(crate) fn too_much(&self) -> Error {
        let mb = grouped(usize::try_from(self.bounds.bytes_max >> 20).unwrap_or(usize::MAX));
        let most = "the most that `sandbox.copy_mb_max` allows";
        Error::TooLarge(match (self.made_by, self.depth) {
            (MadeBy::Owner, _) => {
                format!("The directory holds more than {mb} MB, {most}. Choose a smaller one, or raise it.")
            }
            (MadeBy::Work, Depth::Light) => {
                format!("The work wrote more than {mb} MB, {most}. Let it write less, or raise it.")
            }
            // What was there before counts in a copy that has all of it.
            (MadeBy::Work, Depth::All) => {
                format!(
                    "With what the work wrote, the private copy holds more than {mb} MB, {most}. Let it write less, or raise it."
                )
            }
        })
    }
}
