//! Files of the owner's that work cannot change and leave whole: one with a name elsewhere would be two, a program that runs
//! as somebody else would not any more, and some attributes cannot be given to what takes a file's place. They are looked
//! for before anybody is asked, and one that the work changed or moved all the same is refused by its name as soon as that is
//! known. Left alone, or removed, they are in nobody's way.
//!
//! Which attributes can be given is tried on a file without a name, so that nothing of it is ever seen in the directory.

use crate::dir::{Dir, Kind, Stat};
use crate::error::Doing;
use crate::moves::Moves;
use crate::permit::{self, Root};
use crate::{Error, attributes, observe, syscall};
use serde::{Deserialize, Serialize};
use silas_core::changeset::{Change, Changeset, FileState};
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::AsFd;

/// A file that no work can change, and why.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedFile {
    /// Below the directory that was looked at.
    pub path: String,
    pub by: FixedBy,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum FixedBy {
    /// One of its names lies elsewhere (a hard link).
    NameElsewhere,
    /// It runs as its owner or its group (a set-id bit).
    SetId,
    /// It cannot be changed or moved (`chattr +i`), or its directory cannot.
    Immutable,
    /// It can only grow (`chattr +a`), or its directory can.
    AppendOnly,
    /// It is somebody else's, in a directory in which nobody may move the files of others (the sticky bit).
    Sticky,
    /// What takes its place cannot be given this attribute.
    Attribute(String),
}

/// Finds what fixes single files of one directory, apart from their names.
pub(crate) struct Finder<'a> {
    dir: &'a Dir,
    /// Each attribute that was met, and whether a new file here can be given it.
    can_be_given: BTreeMap<CString, bool>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(dir: &'a Dir) -> Self {
        Finder { dir, can_be_given: BTreeMap::new() }
    }

    pub(crate) fn find(&mut self, parent: &Dir, name: &[u8], stat: &Stat) -> io::Result<Option<FixedBy>> {
        if stat.kind != Kind::File {
            return Ok(None);
        }
        if stat.is_set_id {
            return Ok(Some(FixedBy::SetId));
        }
        if let Some(by) = held_by(parent, name, stat)? {
            return Ok(Some(by));
        }
        for attribute in syscall::attribute_names_at(parent.as_fd(), name)? {
            if attributes::is_needed(&attribute) && !self.can_be_given(&attribute, parent, name) {
                return Ok(Some(FixedBy::Attribute(attribute.to_string_lossy().into_owned())));
            }
        }
        Ok(None)
    }

    fn can_be_given(&mut self, attribute: &CStr, parent: &Dir, name: &[u8]) -> bool {
        if let Some(known) = self.can_be_given.get(attribute) {
            return *known;
        }
        let is_given = || {
            let value = syscall::attribute(parent.read(name)?.as_fd(), attribute)?;
            let trial = self.dir.create_unnamed()?;
            Ok::<_, io::Error>(value.is_none_or(|value| syscall::set_mark(trial.as_fd(), attribute, &value).is_ok()))
        };
        // Where it cannot be tried it is seen when the file is staged, before anything moves.
        let is_given = attributes::can_be_carried(attribute) && is_given().unwrap_or(true);
        self.can_be_given.insert(attribute.to_owned(), is_given);
        is_given
    }
}

/// Files with several names are changed under all of them and alike, or not at all: otherwise what is one file would be two
/// afterwards, and a name that nobody looked at would keep the old text. A name that goes takes no other with it.
#[derive(Default)]
struct Names<'a> {
    /// How many the file has, wherever they lie.
    links: u64,
    written: Vec<&'a Change>,
    moved: Vec<&'a RelPath>,
    n_gone: u64,
}

impl Names<'_> {
    fn refusal(&self) -> Option<(&RelPath, (&'static str, &'static str))> {
        if let Some(first) = self.written.first() {
            let is_alike = self.written.iter().all(|change| change.after == first.after);
            if !is_alike || self.links != self.written.len() as u64 + self.n_gone {
                return Some((&first.path, if is_alike { LINKED_ELSEWHERE } else { LINKED_OTHERWISE }));
            }
        }
        // One that moves alone is the whole file only if all others go.
        let is_whole = self.moved.len() == 1 && self.n_gone == self.links;
        self.moved.first().filter(|_| !is_whole).map(|path| (*path, LINKED_AND_MOVED))
    }
}

/// Refuses by name the first file that the work changed or moved and that cannot bear it. Asked when it is known what the
/// work did, and again before anything is put in place.
pub(crate) fn must_be_left_alone(changeset: &Changeset, moves: &Moves, roots: &[Root]) -> Result<(), Error> {
    for (n, root) in roots.iter().enumerate() {
        let mut finder = Finder::new(&root.granted.dir);
        let mut linked: BTreeMap<u64, Names<'_>> = BTreeMap::new();
        for change in changeset.changes.iter().filter(|change| change.directory == root.nth) {
            let moved_from = moves.file(change);
            let Some(path) = change.before.as_ref().map(|_| &change.path).or(moved_from) else { continue };
            let doing = || format!("Looking at {path}");
            let (parent, name) = match root.granted.dir.parent_of(path) {
                Err(e) if observe::leads_nowhere(&e) => continue,
                found => found.doing(doing)?,
            };
            let Some(stat) = parent.stat(name).doing(doing)?.filter(|stat| stat.kind == Kind::File) else { continue };
            let is_replaced = matches!(change.after, Some(FileState::File { .. }));
            if let Some(by) = held_by(&parent, name, &stat).doing(doing)? {
                return Err(by.refusal(&permit::shown(roots, n, path)));
            }
            if is_replaced && let Some(by) = finder.find(&parent, name, &stat).doing(doing)? {
                return Err(by.refusal(&permit::shown(roots, n, path)));
            }
            if stat.links > 1 {
                let names = linked.entry(stat.inode).or_default();
                names.links = stat.links;
                match (is_replaced, moved_from) {
                    (true, Some(from)) => names.moved.push(from),
                    (true, None) => names.written.push(change),
                    (false, _) => names.n_gone += 1,
                }
            }
        }
        if let Some((path, (kind, todo))) = linked.values().find_map(Names::refusal) {
            return Err(Error::unsupported_with(kind, permit::shown(roots, n, path), todo));
        }
    }
    Ok(())
}

/// What keeps a file in its place, as far as it can be read off. Whether anything else does is tried when it is to be replaced
/// ([`crate::movable`]).
pub(crate) fn held_by(parent: &Dir, name: &[u8], stat: &Stat) -> io::Result<Option<FixedBy>> {
    let around = parent.own_stat()?;
    let user = syscall::effective_uid();
    if around.is_sticky && user != 0 && stat.uid != user && around.uid != user {
        return Ok(Some(FixedBy::Sticky));
    }
    for of in [name, b".".as_slice()] {
        match syscall::protections_at(parent.as_fd(), of) {
            // It is gone; there is nothing to be held.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            found => {
                let found = found?;
                if found & IMMUTABLE != 0 {
                    return Ok(Some(FixedBy::Immutable));
                }
                if found & APPEND_ONLY != 0 {
                    return Ok(Some(FixedBy::AppendOnly));
                }
            }
        }
    }
    Ok(None)
}

/// Whether names can be added to a directory and not taken out again.
pub(crate) fn only_grows(dir: &Dir) -> io::Result<bool> {
    Ok(syscall::protections_at(dir.as_fd(), b".")? & APPEND_ONLY != 0)
}

/// `STATX_ATTR_IMMUTABLE` and `STATX_ATTR_APPEND`.
const IMMUTABLE: u64 = 0x10;
const APPEND_ONLY: u64 = 0x20;

impl FixedBy {
    /// The refusal to change such a file.
    pub(crate) fn refusal(&self, shown: &str) -> Error {
        match self {
            FixedBy::NameElsewhere | FixedBy::SetId | FixedBy::Attribute(_) => Error::unsupported(&self.kind(), shown),
            FixedBy::Immutable => Error::unsupported_with(
                &self.kind(),
                shown,
                "Take that off (`chattr -i`), or have the work leave it as it is.",
            ),
            FixedBy::AppendOnly => Error::unsupported_with(
                &self.kind(),
                shown,
                "Take that off (`chattr -a`), or have the work leave it as it is.",
            ),
            FixedBy::Sticky => {
                Error::unsupported_with(&self.kind(), shown, "Make it yours, or have the work leave it as it is.")
            }
        }
    }

    /// What such a file is, for a refusal.
    fn kind(&self) -> String {
        match self {
            FixedBy::NameElsewhere => LINKED_ELSEWHERE.0.to_owned(),
            FixedBy::SetId => "a program that runs as somebody else (a set-id bit) and would not any more".to_owned(),
            FixedBy::Immutable => {
                "protected against every change (the attribute `i`), or in a directory that is".to_owned()
            }
            FixedBy::AppendOnly => {
                "protected so that it can only grow (the attribute `a`), or in a directory that is".to_owned()
            }
            FixedBy::Sticky => {
                "somebody else's, in a directory in which nobody may move the files of others (its sticky bit)"
                    .to_owned()
            }
            FixedBy::Attribute(name) => attributes::lost(name),
        }
    }
}

/// What a hard link is called that the work would tear apart, and what can be done: the file is the owner's, under all of its
/// names.
const LINKED_ELSEWHERE: (&str, &str) = (
    "one of several names of one file (a hard link), and not all of them lie where the work can change them",
    "Make it a file of its own first (copy it, and put the copy in its place), or choose a directory that holds all of its \
     names.",
);
const LINKED_OTHERWISE: (&str, &str) = (
    "one of several names of one file (a hard link), and the work made something else of it under another",
    "Have the work write the same under all of them, or make it a file of its own first (copy it, and put the copy in its \
     place).",
);
const LINKED_AND_MOVED: (&str, &str) = (
    "one of several names of one file (a hard link), and where the work moved it it would be a file of its own",
    "Have the work leave it where it is, or make it a file of its own first (copy it, and put the copy in its place).",
);
