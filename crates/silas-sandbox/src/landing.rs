//! What would land of one directory: exactly the new contents of its changeset, written by us out of the private copy, with
//! the modes that an apply gives them and one time for all. The checks after the work stand on this and on the owner's
//! directory, never on the copy itself, and an apply takes its bytes from here: what is checked is what is applied.
//!
//! Deliberately absent: everything else that the work left in its copy, such as extended attributes that no file of
//! the owner's has, times, empty
//! directories, other modes of directories that the owner has, second names of one file, and whatever is named like a
//! staging directory. A directory that comes with new files has the mode that the work gave it, as it will in place.

use crate::attributes::Origins;
use crate::dir::{Dir, Kind, split};
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::moves::Moves;
use crate::overlay;
use crate::permit::Root;
use crate::private_copy::{PrivateCopy, Way};
use crate::tree::{self, Git, Manifest, is_stage};
use crate::{Error, attributes, commits, observe, removal, syscall};
use silas_core::changeset::Change;
use silas_core::relpath::RelPath;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::SystemTime;

pub(crate) struct Landing {
    /// Where it lies in the workspace's home, as a layer.
    pub(crate) name: String,
    /// What is new; where copies are layers also marks for what goes.
    pub(crate) dir: Dir,
    pub(crate) changes: Vec<Change>,
    /// Every directory that will be there, with its permission bits.
    pub(crate) dirs: BTreeMap<RelPath, u32>,
    /// Those of them that come with new files.
    new_dirs: Vec<RelPath>,
}

/// What is to land in one directory.
pub(crate) struct Cargo<'a> {
    pub(crate) changes: Vec<&'a Change>,
    /// What the copy is.
    pub(crate) finished: &'a Manifest,
    /// What the owner's directory is.
    pub(crate) base: &'a Manifest,
    pub(crate) moves: &'a Moves,
    /// What the plan wants to stand beside it.
    pub(crate) beside: &'a [RelPath],
}

impl Landing {
    pub(crate) fn make(
        home: &Dir,
        copy: &PrivateCopy,
        root: &Root,
        cargo: &Cargo<'_>,
        lifeline: Lifeline<'_>,
    ) -> Result<Self, Error> {
        let doing = || "Laying out what would be put in place".to_owned();
        let name = copy.name.replace("copy", "landing");
        removal::tree(home, name.as_bytes()).doing(doing)?;
        let mode = root.granted.dir.own_stat().doing(doing)?.mode;
        let dir = overlay::make(home, &name, mode).doing(doing)?;
        let is_file = |change: &&&Change| !commits::is_in_repository(&change.path);
        let changes: Vec<Change> = cargo.changes.iter().filter(is_file).map(|change| (*change).clone()).collect();
        let (mut dirs, mut new_dirs) = (cargo.base.dirs.clone(), Vec::new());
        for path in changes.iter().filter(|change| change.after.is_some()).flat_map(|change| above(&change.path)) {
            if !dirs.contains_key(&path) {
                dirs.insert(path.clone(), cargo.finished.dirs.get(&path).copied().unwrap_or(0o755));
                new_dirs.push(path);
            }
        }
        new_dirs.sort();
        let landing = Landing { name, dir, changes, dirs, new_dirs };
        if copy.way == Way::Layered {
            for staged in root.granted.dir.names(usize::MAX).doing(doing)?.iter().filter(|name| is_stage(name)) {
                overlay::hide(&landing.dir, staged).doing(doing)?;
            }
        }
        let (root, written) = (&root.granted.dir, copy.changed());
        let origins = Origins { root, base: cargo.base, moves: cargo.moves, written };
        for change in &landing.changes {
            lifeline.holds()?;
            let source = source_of(change, &landing.changes, cargo.finished);
            landing.put(change, source, copy, &origins, lifeline)?;
        }
        landing.set_times(copy.time, lifeline)?;
        Ok(landing)
    }

    /// `source` is where the copy has what is to be put there.
    fn put(
        &self,
        change: &Change,
        source: &RelPath,
        copy: &PrivateCopy,
        origins: &Origins<'_>,
        lifeline: Lifeline<'_>,
    ) -> Result<(), Error> {
        let doing = || format!("Laying out {}", change.path);
        let (parent, name) = split(&change.path);
        let Some(after) = &change.after else {
            return match copy.way {
                Way::Layered => {
                    let parent = overlay::make_parents(&self.dir, parent, &self.dirs).doing(doing)?;
                    syscall::make_whiteout(parent.as_fd(), name).doing(doing)
                }
                Way::Whole => Ok(()),
            };
        };
        let (from, written) = copy.changed().parent_of(source).doing(doing)?;
        let to = overlay::make_parents(&self.dir, parent, &self.dirs).doing(doing)?;
        let dress = |shown: &File| attributes::show(change, origins, shown);
        let put = observe::copy_name_with((&from, written), (&to, name), copy.time, lifeline, dress).doing(doing)?;
        if put == *after { Ok(()) } else { Err(Error::Conflict { paths: vec![change.path.to_string()] }) }
    }

    /// Of directories and symlinks; files have theirs.
    fn set_times(&self, time: SystemTime, lifeline: Lifeline<'_>) -> Result<(), Error> {
        let doing = || "Laying out what would be put in place".to_owned();
        tree::walk(&self.dir, Git::Visit, lifeline, &mut |dir, path, stat| match stat.kind {
            Kind::Directory | Kind::Link => dir.set_time(split(&path).1, time).doing(doing),
            Kind::File | Kind::Special(_) => Ok(()),
        })?;
        self.dir.set_time(b".", time).doing(doing)
    }

    /// Whether it still is what was laid out.
    pub(crate) fn must_be_whole(&self, lifeline: Lifeline<'_>) -> Result<(), Error> {
        let mut paths = Vec::new();
        for change in self.changes.iter().filter(|change| change.after.is_some()) {
            let found = observe::path_while(&self.dir, &change.path, lifeline);
            let found = found.doing(|| format!("Reading {}", change.path))?;
            if !found.is(&change.after) {
                paths.push(change.path.to_string());
            }
        }
        if paths.is_empty() { Ok(()) } else { Err(Error::Conflict { paths: tree::shortened(paths) }) }
    }

    /// Hides in a layer above the directories whose only files are taken back.
    pub(crate) fn hide_emptied(&self, upper: &Dir, without: &[&Change]) -> io::Result<()> {
        let without: BTreeSet<&RelPath> = without.iter().map(|change| &change.path).collect();
        let stays = |change: &&Change| change.after.is_some() && !without.contains(&change.path);
        let needed: BTreeSet<RelPath> =
            self.changes.iter().filter(stays).flat_map(|change| above(&change.path)).collect();
        let mut hidden: Option<&RelPath> = None;
        for path in self.new_dirs.iter().filter(|path| !needed.contains(path)) {
            if hidden.is_some_and(|outer| tree::lies_below(path, outer)) {
                continue;
            }
            let (parent, name) = split(path);
            syscall::make_whiteout(overlay::make_parents(upper, parent, &self.dirs)?.as_fd(), name)?;
            hidden = Some(path);
        }
        Ok(())
    }

    /// Puts everything into a copy that holds every file; what is changed or goes is not there yet.
    pub(crate) fn put_into(&self, to: &Dir, time: SystemTime, lifeline: Lifeline<'_>) -> Result<(), Error> {
        for change in self.changes.iter().filter(|change| change.after.is_some()) {
            let doing = || format!("Showing {} to a check", change.path);
            let (parent, name) = split(&change.path);
            let to = overlay::make_parents(to, parent, &self.dirs).doing(doing)?;
            let (from, _) = self.dir.parent_of(&change.path).doing(doing)?;
            let dress = |shown: &File| attributes::show_like(&from.read(name)?, shown);
            let put = observe::copy_name_with((&from, name), (&to, name), time, lifeline, dress).doing(doing)?;
            if Some(&put) != change.after.as_ref() {
                return Err(Error::Conflict { paths: vec![change.path.to_string()] });
            }
        }
        Ok(())
    }
}

/// Where the work wrote it: at its own name, or at another name of the same file.
fn source_of<'a>(change: &'a Change, all: &'a [Change], finished: &Manifest) -> &'a RelPath {
    let has_it = |path: &&RelPath| finished.files.get(*path) == change.after.as_ref();
    let mut places = [&change.path].into_iter().chain(all.iter().map(|other| &other.path));
    places.find(has_it).unwrap_or(&change.path)
}

/// The directories that a path lies in, the outermost first.
fn above(path: &RelPath) -> impl Iterator<Item = RelPath> {
    let bytes = path.as_bytes();
    let slashes = bytes.iter().enumerate().filter(|(_, b)| **b == b'/');
    slashes.filter_map(|(slash, _)| RelPath::from_bytes(&bytes[..slash]).ok())
}
