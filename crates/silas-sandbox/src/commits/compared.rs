//! What branches and tags that moved hold, compared with what the checks see: a commit is what others take home, so it is
//! to be what was checked. Git compares, in a cell and with settings of ours, since what it calls the same depends on
//! attributes such as the ends of lines.
//!
//! Compared is every path in which the new commit differs from the old one. Not compared: commits between the two, and what
//! neither the work nor its commits touched.

use super::{CLEAN, Errand, Repository, small_bytes};
use crate::cell::Mount;
use crate::error::Doing;
use crate::permit::Root;
use crate::workspace::HOME_INSIDE;
use crate::{Error, removal};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

/// Pairs of commits, in which paths they differ, what the new ones hold there, and where the directory holds something else.
pub(super) const PAIRS: &str = "pairs";
pub(super) const DIFFERING: &str = "differing";
const HELD: &str = "held";
const UNLIKE: &str = "unlike";

/// As many names as a changeset may have, and more.
const LIST_BYTES_MAX: u64 = 64 << 20;
/// What git calls a tree without anything in it.
const NOTHING: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// What a commit holds of a submodule: a number, and no content that anybody could look at.
const SUBMODULE: &str = "160000";

/// What moved branches and tags are to hold, by path.
pub(crate) struct Held {
    /// Modes and numbers of contents.
    files: BTreeMap<Vec<u8>, (String, String)>,
    gone: BTreeSet<Vec<u8>>,
    /// What cannot be the same in the directory: submodules, and what two of them hold differently.
    unlike: BTreeSet<Vec<u8>>,
}

impl Repository {
    /// From where to where each branch and tag moved. A new one is compared with the branch that its owner is on.
    pub(super) fn note_pairs(&self, moved: &BTreeMap<&String, &String>) -> io::Result<()> {
        let usual = self.head.as_ref().and_then(|head| self.refs.get(head)).map_or(NOTHING, String::as_str);
        let from = |name: &String| self.refs.get(name).map_or(usual, String::as_str);
        let pairs: BTreeSet<String> = moved.iter().map(|(name, to)| format!("{} {to}\n", from(name))).collect();
        removal::tree(&self.dir, PAIRS.as_bytes())?;
        let mut file = self.dir.create(PAIRS.as_bytes())?;
        pairs.iter().try_for_each(|pair| file.write_all(pair.as_bytes()))
    }

    /// `None` if nothing moved.
    pub(crate) fn held(&self) -> Result<Option<Held>, Error> {
        let doing = || "Reading what was committed".to_owned();
        let Some(differing) = small_bytes(&self.dir, DIFFERING.as_bytes(), LIST_BYTES_MAX).doing(doing)? else {
            return Ok(None);
        };
        Ok(Some(Held::read(&differing)))
    }

    /// Has git look which of it the directory does not hold. `shown` are the directories as a check sees them.
    pub(crate) fn compare(&self, held: &Held, home: &Path, root: &Root, shown: Vec<Mount>) -> Result<Errand, Error> {
        let doing = || "Comparing what was committed".to_owned();
        removal::tree(&self.dir, HELD.as_bytes()).doing(doing)?;
        self.dir.create(HELD.as_bytes()).and_then(|mut file| file.write_all(&held.index())).doing(doing)?;
        let (place, mut mounts) = self.whole(home, root);
        mounts.extend(shown);
        let at = String::from_utf8_lossy(&crate::kept::quoted(root.granted.place.path.as_bytes())).into_owned();
        let git = format!("git --git-dir={place}/{CLEAN} --work-tree=.");
        // What was not refreshed counts as changed; that something is, is no failure.
        let script = format!(
            "cd {at} && export GIT_INDEX_FILE={HOME_INSIDE}/index && {git} update-index -z --index-info < {place}/{HELD} && \
             {{ {git} update-index -q --refresh > /dev/null 2>&1; {git} diff-files -z --name-only > {place}/{UNLIKE}; }}"
        );
        Ok(Errand { script, mounts })
    }

    /// What git found, and what is there although a commit took it away; `has` looks in the directories as a check sees them.
    pub(crate) fn unlike(&self, held: Held, has: impl Fn(&[u8]) -> bool) -> Result<BTreeSet<Vec<u8>>, Error> {
        let doing = || "Comparing what was committed".to_owned();
        let list = small_bytes(&self.dir, UNLIKE.as_bytes(), LIST_BYTES_MAX).doing(doing)?.unwrap_or_default();
        let found = list.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec);
        let is_directory = |path: &[u8]| {
            let below = [path, b"/"].concat();
            held.files.range(below.clone()..).next().is_some_and(|(path, _)| path.starts_with(&below))
        };
        let stayed = held.gone.iter().filter(|path| !is_directory(path) && has(path)).cloned();
        let unlike: BTreeSet<Vec<u8>> = found.chain(stayed).collect();
        Ok(unlike.into_iter().chain(held.unlike).collect())
    }
}

impl Held {
    /// ":100644 100644 1a2b… 3c4d… M", a zero byte, the path, and another zero byte.
    fn read(differing: &[u8]) -> Self {
        let mut held = Held { files: BTreeMap::new(), gone: BTreeSet::new(), unlike: BTreeSet::new() };
        let mut parts = differing.split(|byte| *byte == 0);
        while let (Some(how), Some(path)) = (parts.next(), parts.next()) {
            let how = String::from_utf8_lossy(how);
            match how.split(' ').collect::<Vec<_>>().as_slice() {
                [_, "000000", ..] => {
                    held.gone.insert(path.to_vec());
                }
                [_, mode, _, number, _] if *mode != SUBMODULE => {
                    let is = ((*mode).to_owned(), (*number).to_owned());
                    if held.files.insert(path.to_vec(), is.clone()).is_some_and(|was| was != is) {
                        held.unlike.insert(path.to_vec());
                    }
                }
                _ => {
                    held.unlike.insert(path.to_vec());
                }
            }
        }
        held
    }

    /// As git's index takes it.
    fn index(&self) -> Vec<u8> {
        let entry = |(path, (mode, number)): (&Vec<u8>, &(String, String))| {
            [format!("{mode} blob {number}\t").as_bytes(), path, b"\0"].concat()
        };
        self.files.iter().flat_map(entry).collect()
    }
}

#[cfg(test)]
mod tests;
