//! Extended attributes and access lists of files: what replaces a file gets what that file has, and so does a file that only
//! moved, so that an apply changes contents, names and modes and nothing else. The file that was replaced keeps its own, and
//! an undo brings it back whole. A copy that the work made keeps those that it has and its original has too; others that the
//! work set are not carried over.
//!
//! Capabilities of programs are never carried over to other contents, as the kernel drops them when a file is written to: a
//! program that has some is not changed. Whatever else cannot be kept is found by [`crate::fixed`], before the work where that
//! can be tried, and here at the latest.

use crate::Error;
use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::journal::Op;
use crate::moves::Moves;
use crate::stage::Site;
use crate::tree::Manifest;
use crate::{commits, observe, syscall};
use silas_core::changeset::{Change, FileState};
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

const ACCESS: &CStr = c"system.posix_acl_access";
const DEFAULT: &CStr = c"system.posix_acl_default";
const CAPABILITIES: &CStr = c"security.capability";
/// Marks of layers say nothing about a file.
const LAYERS: [&[u8]; 2] = [b"user.overlay.", b"trusted.overlay."];
/// What owners and administrators set on a file, and access lists, whatever a file system calls them. Labels of the system are
/// the system's to set.
const NEEDED: [&[u8]; 3] = [b"user.", b"trusted.", b"system."];

type Attributes = BTreeMap<CString, Vec<u8>>;

/// What is known of one directory about where its changed files take their attributes from.
pub(crate) struct Origins<'a> {
    /// The owner's directory, and what it is.
    pub(crate) root: &'a Dir,
    pub(crate) base: &'a Manifest,
    pub(crate) moves: &'a Moves,
    /// What the work wrote.
    pub(crate) written: &'a Dir,
}

/// Gives a staged file what the file has that it is to replace, or that it was; a new one gets the access list that its
/// directory has for new files. Called before its mode is set.
pub(crate) fn carry_over(change: &Change, origins: &Origins<'_>, staged: &File) -> Result<(), Error> {
    let doing = || format!("Staging {}", change.path);
    match dress(&origins.of(change).doing(doing)?, staged).doing(doing)? {
        None => Ok(()),
        Some(name) => Err(Error::unsupported(&lost(&name.to_string_lossy()), &change.path)),
    }
}

/// What a file is that cannot be replaced, for a refusal.
pub(crate) fn lost(attribute: &str) -> String {
    format!("a file whose attribute {attribute} cannot be kept")
}

/// Gives a new directory what the one has that it was. Called before its mode is set.
pub(crate) fn carry_over_directory(was: &Dir, new: &Dir) -> io::Result<Option<CString>> {
    dress(&all(was)?, new)
}

/// Says which attribute cannot be kept.
fn dress(wanted: &Attributes, staged: &impl AsFd) -> io::Result<Option<CString>> {
    let has = all(staged)?;
    for name in has.keys().filter(|name| !wanted.contains_key(*name) && is_needed(name)) {
        syscall::remove_mark(staged.as_fd(), name)?;
    }
    for (name, value) in wanted.iter().filter(|(name, value)| has.get(*name) != Some(value)) {
        let is_kept = can_be_carried(name) && syscall::set_mark(staged.as_fd(), name, value).is_ok();
        if !is_kept && is_needed(name) {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// Shows a check the owner's own attributes on what replaces a file; where there can be none there are none. Called before
/// its mode is set.
pub(crate) fn show(change: &Change, origins: &Origins<'_>, shown: &File) -> io::Result<()> {
    show_all(origins.of(change)?, shown)
}

/// The same where a check has a copy of what would land.
pub(crate) fn show_like(landed: &File, shown: &File) -> io::Result<()> {
    show_all(all(landed)?, shown)
}

fn show_all(attributes: Attributes, shown: &File) -> io::Result<()> {
    for (name, value) in attributes.into_iter().filter(|(name, _)| name.as_bytes().starts_with(b"user.")) {
        match syscall::set_mark(shown.as_fd(), &name, &value) {
            Err(e) if e.raw_os_error() == Some(libc::ENOTSUP) => break,
            done => done?,
        }
    }
    Ok(())
}

/// What became of the attributes and names of a file that an apply put in place.
pub(crate) enum Since {
    Same {
        inode: u64,
        links: u64,
    },
    Changed,
    /// A symlink, or nothing.
    NoFile,
}

/// Compares a file that is in place with the one that it replaced, whose attributes it was given.
pub(crate) fn changed_since(op: &Op, site: &Site<'_>) -> io::Result<Since> {
    let (parent, name) = match site.root.parent_of(&op.path) {
        Err(e) if observe::leads_nowhere(&e) => return Ok(Since::NoFile),
        found => found?,
    };
    let stats = (parent.stat(name)?, site.stage.dir.stat(op.stage.as_bytes())?);
    let (Some(now), Some(then)) = stats else { return Ok(Since::NoFile) };
    if now.kind != Kind::File {
        return Ok(Since::NoFile);
    }
    let same = Since::Same { inode: now.inode, links: now.links };
    if then.kind != Kind::File {
        return Ok(same);
    }
    let (now_has, then_had) = (all(&parent.read(name)?)?, all(&site.stage.dir.read(op.stage.as_bytes())?)?);
    // A mode is a part of an access list; where that changed, so did the list.
    let counts = |name: &CString| is_needed(name) && (name.as_c_str() != ACCESS || now.mode == then.mode);
    let kept = |all: &Attributes| {
        all.iter().filter(|(name, _)| counts(name)).map(|(n, v)| (n.clone(), v.clone())).collect::<Attributes>()
    };
    Ok(if kept(&now_has) == kept(&then_had) { same } else { Since::Changed })
}

/// Whether it may not be lost in silence.
pub(crate) fn is_needed(name: &CStr) -> bool {
    name == CAPABILITIES || NEEDED.iter().any(|kind| name.to_bytes().starts_with(kind)) && !is_of_layer(name)
}

/// Whether other contents may have it too.
pub(crate) fn can_be_carried(name: &CStr) -> bool {
    name != CAPABILITIES
}

fn is_of_layer(name: &CStr) -> bool {
    LAYERS.iter().any(|mark| name.to_bytes().starts_with(mark))
}

impl Origins<'_> {
    /// Who owned a new file where it was before it moved.
    pub(crate) fn moved_from(&self, change: &Change) -> io::Result<Option<Stat>> {
        let Some(path) = self.moves.file(change) else { return Ok(None) };
        match self.root.parent_of(path) {
            Err(e) if observe::leads_nowhere(&e) => Ok(None),
            found => found.and_then(|(parent, name)| parent.stat(name)),
        }
    }

    fn of(&self, change: &Change) -> io::Result<Attributes> {
        let was = change.before.as_ref().map(|_| &change.path).or_else(|| self.moves.file(change));
        if let Some((parent, name)) = was.and_then(|path| self.root.parent_of(path).ok()) {
            return match parent.read(name) {
                Ok(file) => all(&file),
                // A symlink was there, or nothing is there any more.
                Err(e) if observe::leads_nowhere(&e) || e.raw_os_error() == Some(libc::EINVAL) => Ok(Attributes::new()),
                Err(e) => Err(e),
            };
        }
        let mut wanted = self.of_copied(change)?;
        if let Some(list) = syscall::attribute(self.around(change)?.as_fd(), DEFAULT)? {
            wanted.entry(ACCESS.to_owned()).or_insert(list);
        }
        Ok(wanted)
    }

    /// The directory that a new file lies in, or was in; one that is yet to be made gets the list of the one around it.
    fn around(&self, change: &Change) -> io::Result<Dir> {
        let mut path = split(&change.path).0;
        loop {
            let was = RelPath::from_bytes(path).ok().and_then(|dir| self.moves.dir(change.directory, &dir));
            match self.root.below(was.map_or(path, RelPath::as_bytes)) {
                Err(_) if !path.is_empty() => {
                    path = path.iter().rposition(|b| *b == b'/').map_or(b"".as_slice(), |slash| &path[..slash]);
                }
                found => return found,
            }
        }
    }

    /// What a new file has in the work's copy, as far as a file with the same content has it too.
    fn of_copied(&self, change: &Change) -> io::Result<Attributes> {
        let Some(FileState::File { hash, .. }) = &change.after else { return Ok(Attributes::new()) };
        if commits::is_in_repository(&change.path) {
            return Ok(Attributes::new());
        }
        let has = match self.written.parent_of(&change.path).and_then(|(parent, name)| parent.read(name)) {
            Err(e) if observe::leads_nowhere(&e) || e.raw_os_error() == Some(libc::EINVAL) => Attributes::new(),
            found => all(&found?)?,
        };
        let mut kept = Attributes::new();
        if !has.keys().any(|name| is_needed(name)) {
            return Ok(kept);
        }
        let is_same = |state: &FileState| matches!(state, FileState::File { hash: other, .. } if other == hash);
        for (path, _) in self.base.files.iter().filter(|(_, state)| is_same(state)) {
            let Ok(file) = self.root.parent_of(path).and_then(|(parent, name)| parent.read(name)) else { continue };
            let is_kept = |name: &CString| is_needed(name) && can_be_carried(name);
            kept.extend(all(&file)?.into_iter().filter(|(name, value)| is_kept(name) && has.get(name) == Some(value)));
        }
        Ok(kept)
    }
}

fn all(file: &impl AsFd) -> io::Result<Attributes> {
    let mut found = Attributes::new();
    for name in syscall::attribute_names(file.as_fd())? {
        if is_of_layer(&name) {
            continue;
        }
        if let Some(value) = syscall::attribute(file.as_fd(), &name)? {
            found.insert(name, value);
        }
    }
    Ok(found)
}
