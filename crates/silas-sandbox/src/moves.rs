//! What a new file or directory was before, where the work moved it: that is whose attributes and owner it keeps. Which file
//! moved is decided by [`crate::renames`], here as for whoever reads the change.

use crate::dir::split;
use crate::tree::Manifest;
use silas_core::changeset::Change;
use silas_core::relpath::{BadPath, RelPath};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Moves {
    files: BTreeMap<(u32, RelPath), RelPath>,
    dirs: BTreeMap<(u32, RelPath), RelPath>,
}

/// One directory of the plan, before and after the work.
pub(crate) struct Trees<'a> {
    pub(crate) base: &'a Manifest,
    pub(crate) finished: &'a Manifest,
}

impl Moves {
    /// `moved` has, for the place of each new file in the list, the place of the one that it was.
    pub(crate) fn new<'a>(
        changes: &[Change],
        moved: &BTreeMap<usize, usize>,
        trees: impl Fn(u32) -> Option<Trees<'a>>,
    ) -> Self {
        let (mut files, mut votes) = (BTreeMap::new(), BTreeMap::<_, BTreeMap<RelPath, usize>>::new());
        for (new, old) in moved.iter().filter_map(|(new, old)| Some((changes.get(*new)?, changes.get(*old)?))) {
            files.insert((new.directory, new.path.clone()), old.path.clone());
            let Some(trees) = trees(new.directory) else { continue };
            let (mut to, mut from) = (new.path.clone(), old.path.clone());
            while let (Ok(above), Ok(was)) = (above(&to), above(&from)) {
                let is_new = !trees.base.dirs.contains_key(&above);
                if is_new && trees.base.dirs.contains_key(&was) && !trees.finished.dirs.contains_key(&was) {
                    *votes.entry((new.directory, above.clone())).or_default().entry(was.clone()).or_default() += 1;
                }
                (to, from) = (above, was);
            }
        }
        // A directory is the one that most of its files come from, of equals the first.
        let most =
            |from: BTreeMap<RelPath, usize>| from.into_iter().rev().max_by_key(|(_, n)| *n).map(|(path, _)| path);
        let dirs = votes.into_iter().filter_map(|(to, from)| Some((to, most(from)?))).collect();
        Moves { files, dirs }
    }

    /// Where a new file was.
    pub(crate) fn file(&self, change: &Change) -> Option<&RelPath> {
        self.files.get(&(change.directory, change.path.clone()))
    }

    /// Where a new directory was.
    pub(crate) fn dir(&self, directory: u32, path: &RelPath) -> Option<&RelPath> {
        self.dirs.get(&(directory, path.clone()))
    }
}

fn above(path: &RelPath) -> Result<RelPath, BadPath> {
    RelPath::from_bytes(split(path).0)
}

#[cfg(test)]
mod tests;
