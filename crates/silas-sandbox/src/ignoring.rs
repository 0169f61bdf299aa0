//! What of a directory is no work product: what git ignores there and does not track, by the rules that the *original* has.
//!
//! Read from the `.gitignore` files of the directory and of the repository around it, from the repository's own list of
//! excludes, and from its index. A directory without a repository has its `.gitignore` files too, and tracks nothing. A
//! repository inside, such as a submodule, has rules, excludes and an index of its own, and those around it say nothing of
//! what is in it. What the work makes of these files changes nothing, and where it cannot be known what is tracked,
//! everything counts.
//! Deliberately absent: rules of the machine or of its user; what lands must not depend on who looks.

use crate::Error;
use crate::dir::{Dir, Kind};
use crate::error::Doing;
use crate::permit::Granted;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

mod index;
mod pattern;
mod repository;

use pattern::Pattern;
use repository::{Found, GIT, RULES_BYTES_MAX, Repository, read_small};

const RULES: &[u8] = b".gitignore";
/// Of all repositories of one directory. In what is not read everything counts.
const INDEX_BYTES_MAX: u64 = 256 << 20;

#[derive(Default)]
pub(crate) struct Ignoring {
    /// Where the granted directory lies in its repository: empty, or ending in `/`.
    prefix: Vec<u8>,
    /// Of the repository itself; every `.gitignore` may say otherwise.
    excludes: Vec<Pattern>,
    /// By the directory that each lies in, seen from the top of the repository.
    files: RefCell<BTreeMap<Vec<u8>, RuleFile>>,
    /// What git tracks below the granted directory. Needed until the original was gone through.
    tracked: RefCell<Vec<Vec<u8>>>,
    /// What is tracked although it is ignored; found on the way.
    exceptions: RefCell<BTreeSet<Vec<u8>>>,
    /// Whether the original is being gone through for the first time.
    is_learning: Cell<bool>,
    exclude_text: Vec<u8>,
    /// By where each lies, seen from the granted directory.
    inside: RefCell<BTreeMap<Vec<u8>, Inside>>,
    /// Where the granted directory is and whose; needed while learning.
    place: PathBuf,
    owner: u32,
    /// How much of indexes may still be read.
    index_bytes_left: Cell<u64>,
}

/// A repository inside the granted directory.
#[derive(Default)]
struct Inside {
    /// Whether it is known what it tracks; if not, everything in it counts.
    is_known: bool,
    excludes: Vec<Pattern>,
    exclude_text: Vec<u8>,
    /// Seen from its top. Needed until the original was gone through.
    tracked: Vec<Vec<u8>>,
}

struct RuleFile {
    text: Vec<u8>,
    patterns: Vec<Pattern>,
}

/// The same, to be written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IgnoringNote {
    prefix: Vec<u8>,
    excludes: Vec<u8>,
    files: Vec<(Vec<u8>, Vec<u8>)>,
    exceptions: Vec<Vec<u8>>,
    /// Repositories inside, with what each excludes; nothing where everything counts. Notes of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inside: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Ignoring {
    /// The rules around a directory. Those inside are learned when it is gone through. `None` if everything counts.
    pub(crate) fn of(root: &Granted) -> Result<Option<Self>, Error> {
        let doing = || "Reading what git ignores".to_owned();
        let (place, owner) = (Path::new(&root.place.path), root.dir.own_stat().doing(doing)?.uid);
        let mut ignoring = Ignoring { place: place.to_owned(), owner, ..Ignoring::learning() };
        let repository = match Repository::around(place, owner) {
            Found::Nothing => return Ok(Some(ignoring)),
            Found::Unknown => return Ok(None),
            Found::One(repository) => repository,
        };
        let below = place.strip_prefix(&repository.top).unwrap_or(Path::new(""));
        ignoring.prefix = below.as_os_str().as_bytes().to_vec();
        if !ignoring.prefix.is_empty() {
            ignoring.prefix.push(b'/');
        }
        let Some(tracked) = ignoring.tracked_by(&repository) else { return Ok(None) };
        let inside = tracked.iter().filter_map(|path| path.strip_prefix(ignoring.prefix.as_slice()));
        ignoring.tracked = RefCell::new(inside.map(<[u8]>::to_vec).collect());
        if let Some(text) = repository.excludes().doing(doing)? {
            ignoring.excludes = patterns(&text);
            ignoring.exclude_text = text;
        }
        let mut at = repository.top.clone();
        for name in below.components() {
            let base = at.strip_prefix(&repository.top).unwrap_or(Path::new("")).as_os_str().as_bytes().to_vec();
            if let Some(text) = read_small(&at.join(OsStr::from_bytes(RULES)), RULES_BYTES_MAX).doing(doing)? {
                ignoring.add(base, text);
            }
            at.push(name);
        }
        Ok(Some(ignoring))
    }

    /// Rules that are yet to be found, in a directory without a repository.
    pub(crate) fn learning() -> Self {
        let index_bytes_left = Cell::new(INDEX_BYTES_MAX);
        Ignoring { is_learning: Cell::new(true), index_bytes_left, ..Ignoring::default() }
    }

    pub(crate) fn note(&self) -> IgnoringNote {
        IgnoringNote {
            prefix: self.prefix.clone(),
            excludes: self.exclude_text.clone(),
            files: self.files.borrow().iter().map(|(base, file)| (base.clone(), file.text.clone())).collect(),
            exceptions: self.exceptions.borrow().iter().cloned().collect(),
            inside: {
                let excludes = |inside: &Inside| inside.is_known.then(|| inside.exclude_text.clone());
                self.inside.borrow().iter().map(|(top, inside)| (top.clone(), excludes(inside))).collect()
            },
        }
    }

    pub(crate) fn noted(note: IgnoringNote) -> Self {
        let inside = |excludes: Option<Vec<u8>>| excludes.map_or_else(Inside::default, Inside::excluding);
        let ignoring = Ignoring {
            prefix: note.prefix,
            excludes: patterns(&note.excludes),
            exclude_text: note.excludes,
            exceptions: RefCell::new(note.exceptions.into_iter().collect()),
            inside: RefCell::new(note.inside.into_iter().map(|(top, excludes)| (top, inside(excludes))).collect()),
            ..Ignoring::default()
        };
        note.files.into_iter().for_each(|(base, text)| ignoring.add(base, text));
        ignoring
    }

    fn add(&self, base: Vec<u8>, text: Vec<u8>) {
        let file = RuleFile { patterns: patterns(&text), text };
        self.files.borrow_mut().insert(base, file);
    }

    /// The original was gone through; nothing that is made later adds a rule.
    pub(crate) fn has_learned(&self) {
        self.is_learning.set(false);
        self.tracked.borrow_mut().clear();
        self.inside.borrow_mut().values_mut().for_each(|inside| inside.tracked.clear());
    }

    fn tracked_by(&self, repository: &Repository) -> Option<Vec<Vec<u8>>> {
        let mut left = self.index_bytes_left.get();
        let tracked = repository.tracked(&mut left);
        self.index_bytes_left.set(left);
        tracked
    }

    /// Reads the rules of a directory before what is in it is looked at.
    pub(crate) fn learn(&self, at: &[u8], dir: &Dir) -> io::Result<()> {
        if !self.is_learning.get() {
            return Ok(());
        }
        if !at.is_empty() && dir.stat(GIT)?.is_some() {
            self.learn_inside(at)?;
        }
        if dir.stat(RULES)?.is_none_or(|stat| stat.kind != Kind::File) {
            return Ok(());
        }
        let mut text = Vec::new();
        dir.read(RULES)?.take(RULES_BYTES_MAX + 1).read_to_end(&mut text)?;
        if text.len() as u64 <= RULES_BYTES_MAX {
            let full = [self.prefix.as_slice(), at].concat();
            let base = full.strip_suffix(b"/").unwrap_or(&full).to_vec();
            self.add(base, text);
        }
        Ok(())
    }

    fn learn_inside(&self, at: &[u8]) -> io::Result<()> {
        let inside = match Repository::at(&self.place.join(OsStr::from_bytes(at)), self.owner) {
            Found::Nothing => return Ok(()),
            Found::Unknown => Inside::default(),
            Found::One(repository) => match self.tracked_by(&repository) {
                None => Inside::default(),
                Some(tracked) => Inside { tracked, ..Inside::excluding(repository.excludes()?.unwrap_or_default()) },
            },
        };
        self.inside.borrow_mut().insert(at.to_vec(), inside);
        Ok(())
    }

    /// Whether a repository of its own begins at a directory that was gone into.
    pub(crate) fn is_top(&self, at: &[u8]) -> bool {
        self.inside.borrow().contains_key(at)
    }

    /// The top of the innermost repository inside that a name lies in.
    fn top_of<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let inside = self.inside.borrow();
        let slashes = path.iter().enumerate().rev().filter(|(_, b)| !inside.is_empty() && **b == b'/');
        slashes.map(|(slash, _)| &path[..slash]).find(|above| inside.contains_key(*above))
    }

    /// Whether a rule is about this name; what lies in an ignored directory is ignored with it.
    pub(crate) fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        let full = [self.prefix.as_slice(), path].concat();
        let (files, inside, top) = (self.files.borrow(), self.inside.borrow(), self.top_of(path));
        let within = top.and_then(|top| Some((self.prefix.len() + top.len(), inside.get(top)?)));
        if within.is_some_and(|(_, inside)| !inside.is_known) {
            return false;
        }
        let mut end = full.len();
        loop {
            let slash = full[..end].iter().rposition(|b| *b == b'/');
            let base = slash.map_or(b"".as_slice(), |slash| &full[..slash]);
            if let Some(file) = files.get(base) {
                let path = slash.map_or(full.as_slice(), |slash| &full[slash + 1..]);
                if let Some(pattern) = last_match(&file.patterns, path, is_dir) {
                    return !pattern.is_exception;
                }
            }
            match (slash, within) {
                (Some(slash), Some((top, inside))) if slash <= top => {
                    let excluded = last_match(&inside.excludes, &full[top + 1..], is_dir);
                    return excluded.is_some_and(|pattern| !pattern.is_exception);
                }
                (Some(slash), _) => end = slash,
                (None, _) => break,
            }
        }
        last_match(&self.excludes, &full, is_dir).is_some_and(|pattern| !pattern.is_exception)
    }

    /// Whether something ignored counts all the same: a file that is tracked, or a directory in which one is, or that is
    /// tracked as the place of a repository.
    pub(crate) fn is_tracked(&self, path: &[u8], is_dir: bool) -> bool {
        let below = [path, b"/"].concat();
        let exceptions = self.exceptions.borrow();
        let is_above = || exceptions.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below));
        if exceptions.contains(path) || is_dir && is_above() {
            return true;
        }
        drop(exceptions);
        let (tracked, inside, top) = (self.tracked.borrow(), self.inside.borrow(), self.top_of(path));
        let (tracked, seen) = match top.and_then(|top| Some((top, inside.get(top)?))) {
            Some((_, inside)) if !inside.is_known => return true,
            Some((top, inside)) => (&inside.tracked, &path[top.len() + 1..]),
            None => (&*tracked, path),
        };
        let is_itself = tracked.binary_search_by(|p| p.as_slice().cmp(seen)).is_ok();
        let below = [seen, b"/"].concat();
        let next = || tracked.get(tracked.partition_point(|p| *p < below));
        if is_itself {
            self.exceptions.borrow_mut().insert(path.to_vec());
        }
        is_itself || is_dir && next().is_some_and(|next| next.starts_with(&below))
    }
}

impl Inside {
    /// One of which it is known what it tracks.
    fn excluding(exclude_text: Vec<u8>) -> Self {
        Inside { is_known: true, excludes: patterns(&exclude_text), exclude_text, tracked: Vec::new() }
    }
}

fn last_match<'p>(patterns: &'p [Pattern], path: &[u8], is_dir: bool) -> Option<&'p Pattern> {
    patterns.iter().rev().find(|pattern| pattern.matches(path, is_dir))
}

fn patterns(text: &[u8]) -> Vec<Pattern> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.split(|b| *b == b'\n').filter_map(Pattern::parse).collect()
}

#[cfg(test)]
mod tests;
