//! The journal of an apply or an undo: one file whose appearance is the commit point. From then on all of it is carried out,
//! or all of it is taken back and the journal with it; where neither can be, it says what is in place.
//!
//! It carries its own evidence, so whoever finishes it can check again that it was approved.

use crate::error::Doing;
use crate::{Error, InPart, KeptText, durable, memory, stage, trade, tree, two_steps};
use serde::{Deserialize, Serialize};
use silas_core::changeset::FileState;
use silas_core::evidence::Evidence;
use silas_core::relpath::RelPath;
use silas_core::roots::Place;
use silas_core::{Digest, ExecutionId};
use std::path::Path;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    /// The execution whose changes these are, also in the journal of its undo.
    pub(crate) execution: ExecutionId,
    pub(crate) evidence: Evidence,
    /// The directories that are changed, in the plan's order.
    #[serde(alias = "place", deserialize_with = "memory::one_or_more")]
    pub(crate) places: Vec<Place>,
    pub(crate) changeset: Digest,
    pub(crate) ops: Vec<Op>,
    /// Directories that an apply makes and its undo removes, parents first.
    pub(crate) new_dirs: Vec<NewDir>,
    /// Whether a file is missing for an instant while it is replaced, because the file system cannot exchange two.
    #[serde(default)]
    pub(crate) is_in_two_steps: bool,
    /// How each operation ended, in order; `None` until all have.
    pub(crate) fates: Option<Vec<Fate>>,
    /// Why not all of it is in place, if it could be neither carried out nor taken back as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) in_part: Option<String>,
}

/// What is in place and what is staged change places. Either may be nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Op {
    /// Which of the directories.
    #[serde(default)]
    pub(crate) root: usize,
    pub(crate) path: RelPath,
    /// The name in that directory's staging directory.
    pub(crate) stage: String,
    /// What is in place if nobody interferes.
    pub(crate) there: Option<FileState>,
    /// What waits in the staging directory.
    pub(crate) staged: Option<FileState>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDir {
    #[serde(default)]
    pub(crate) root: usize,
    pub(crate) path: RelPath,
    pub(crate) mode: u32,
    /// The directory that it was before it moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) was: Option<RelPath>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    /// As intended: what came out is exactly what was expected to be there.
    InPlace,
    /// What came out is somebody's newer text. It stays in the staging directory.
    OwnersKept,
    /// Something else is in place. What was staged stays in the staging directory.
    NotApplied,
}

impl Journal {
    pub(crate) fn load(path: &Path) -> Result<Option<Self>, Error> {
        memory::read(path)
    }

    /// Saving it for the first time commits it.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Error> {
        let bytes = serde_json::to_vec(self).map_err(|e| Error::Damaged(e.to_string()))?;
        durable::replace(path, &bytes).doing(|| "Writing the journal".to_owned())
    }

    /// Writes down how it ended. If it is not known whether that reached the disk, what is there counts.
    pub(crate) fn settle(&mut self, fates: Vec<Fate>, path: &Path) -> Result<(), Error> {
        self.fates = Some(fates);
        let Err(why) = self.save(path) else { return Ok(()) };
        if Journal::load(path).is_ok_and(|on_disk| on_disk.as_ref() == Some(self)) {
            return Ok(());
        }
        self.fates = None;
        Err(why)
    }

    /// What waits in a staging directory as long as nothing of this is in place.
    pub(crate) fn staged(&self, root: usize) -> Vec<(String, FileState)> {
        let here = self.ops.iter().filter(|op| op.root == root);
        here.filter_map(|op| Some((op.stage.clone(), op.staged.clone()?))).collect()
    }

    /// How many files changed places, or are to.
    pub(crate) fn files(&self) -> u32 {
        let n_not = self.fates.iter().flatten().filter(|fate| **fate == Fate::NotApplied).count();
        let n_not = if self.in_part.is_some() { n_not } else { 0 };
        u32::try_from(self.ops.len() - n_not).unwrap_or(u32::MAX)
    }

    /// Which files are new and which are old, where an apply or an undo is in place in part only.
    pub(crate) fn in_part(&self) -> Option<InPart> {
        let why = self.in_part.clone()?;
        let (old, new): (Vec<_>, Vec<_>) = self.ended().partition(|(_, fate)| *fate == Fate::NotApplied);
        let names =
            |ops: Vec<(&Op, Fate)>| tree::shortened(ops.into_iter().map(|(op, _)| trade::named(self, op)).collect());
        Some(InPart { new: names(new), old: names(old), why })
    }

    /// Operations with their fates, once all have one.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (&Op, Fate)> {
        self.ops.iter().zip(self.fates.iter().flatten().copied())
    }

    /// What came out of its place and never went back, because somebody had put something there before the second step.
    pub(crate) fn between_steps(&self, root: usize) -> impl Iterator<Item = (String, FileState)> {
        let stopped = self.ended().filter(move |(op, fate)| op.root == root && *fate == Fate::NotApplied);
        stopped.filter_map(|(op, _)| Some((two_steps::out_of(&op.stage), op.there.clone()?)))
    }

    pub(crate) fn conflicts(&self) -> Vec<KeptText> {
        let stage = stage::name(&self.execution);
        self.ended()
            .filter(|(op, fate)| match fate {
                Fate::InPlace => false,
                Fate::OwnersKept => true,
                // What could not be put in place at all was nobody's last moment.
                Fate::NotApplied => op.staged.is_some() && self.in_part.is_none(),
            })
            .map(|(op, _)| KeptText {
                directory: self.places.get(op.root).map_or_else(String::new, |place| place.path.clone()),
                path: op.path.to_string(),
                kept_at: format!("{stage}/{}", op.stage),
            })
            .collect()
    }
}
