//! Whether work could be done in a directory: looked up before the owner is asked, so that nobody approves what cannot begin.
//!
//! No file is read and nothing in the directory is changed. What is found may be another when the work begins; then the copy
//! says so.

use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::extent::{Depth, Extent, MadeBy};
use crate::fixed::{Finder, FixedBy, FixedFile};
use crate::ground::{Copies, Ground};
use crate::ignoring::Ignoring;
use crate::lifeline::Lifeline;
use crate::permit::{Granted, Root};
use crate::workspace::Workspace;
use crate::{Error, private_copy, tree};
use silas_core::relpath::RelPath;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;

/// Why a private copy could not be made; else the files that no work can change there. What is too large to be copied may
/// still be worked on through a layer.
pub(crate) fn fits(ground: &Ground, granted: Granted) -> Result<Vec<FixedFile>, Error> {
    let doing = || "Looking whether work can be done there".to_owned();
    let (here, _there) = UnixStream::pair().doing(doing)?;
    let lifeline = Lifeline::of(&here);
    let root = Root { nth: 0, granted };
    let (ignoring, git) = (Ignoring::of(&root.granted)?, private_copy::git_of(&root)?);
    let (ignoring, bounds) = (ignoring.as_ref(), ground.bounds);
    let whole = Extent { git, ignoring, bounds, depth: Depth::All, made_by: MadeBy::Owner, lifeline };
    match ground.copies {
        Copies::Whole => {
            let found = count(&root.granted.dir, &whole)?;
            found.too_large(&whole).map_or(Ok(found.fixed), Err)
        }
        Copies::Auto => {
            let found = count(&root.granted.dir, &Extent { depth: Depth::Light, ..whole })?;
            let Some(too_large) = found.too_large(&whole) else { return Ok(found.fixed) };
            // Recovery takes what is named like an execution for left over, should we not come to remove it.
            let home = ground.memory.works().join(format!("exec-looking-{}", std::process::id()));
            match Workspace::can_be_layered(&home, &root, found.is_mixed, lifeline)? {
                true => Ok(found.fixed),
                false => Err(too_large),
            }
        }
    }
}

/// What a directory holds, from outside.
#[derive(Default)]
struct Found {
    n_entries: usize,
    /// Of all files, ignored ones included; beyond what a copy may hold it is not counted on.
    bytes: u64,
    is_mixed: bool,
    fixed: Vec<FixedFile>,
}

impl Found {
    /// Why a copy of this extent cannot hold it.
    fn too_large(&self, extent: &Extent<'_>) -> Option<Error> {
        if self.n_entries > extent.entries_max() {
            return Some(extent.too_many());
        }
        (self.bytes > extent.bytes_max()).then(|| extent.too_much())
    }
}

/// Ends where it is too much for this extent.
fn count(dir: &Dir, extent: &Extent<'_>) -> Result<Found, Error> {
    let owner = dir.own_stat().doing(|| "Reading the directory".to_owned())?;
    let found = RefCell::new(Found::default());
    // By the file, how many of its names are still to be found, and those that were.
    let mut linked: BTreeMap<u64, (u64, Vec<String>)> = BTreeMap::new();
    let mut finder = Finder::new(dir);
    let mut visit = |parent: &Dir, path: RelPath, stat: &Stat| {
        if let Kind::Special(kind) = stat.kind {
            return Err(extent.no_file(kind, &path));
        }
        let mut found = found.borrow_mut();
        if let Some(by) = finder.find(parent, split(&path).1, stat).doing(|| format!("Looking at {path}"))? {
            found.fixed.push(FixedFile { path: path.to_string(), by });
        } else if stat.kind == Kind::File && stat.links > 1 {
            let (n_missing, names) = linked.entry(stat.inode).or_insert((stat.links, Vec::new()));
            *n_missing = n_missing.saturating_sub(1);
            names.push(path.to_string());
        }
        found.n_entries += 1;
        found.is_mixed |= !stat.belongs_like(&owner);
        found.bytes = found.bytes.saturating_add(if stat.kind == Kind::File { stat.size } else { 0 });
        found.too_large(extent).map_or(Ok(()), Err)
    };
    let mut leave = |dir: &Dir, path: RelPath, stat: &Stat| {
        let mut found = found.borrow_mut();
        if found.bytes <= extent.bounds.bytes_max {
            let (name, room) = (split(&path).1, extent.bounds.bytes_max - found.bytes);
            let bytes = size_of(dir, name, stat, room).doing(|| format!("Looking at {path}"))?;
            found.bytes = found.bytes.saturating_add(bytes);
        }
        found.too_large(extent).map_or(Ok(()), Err)
    };
    tree::walk_by(dir, extent, &mut visit, &mut leave)?;
    let mut found = found.into_inner();
    let elsewhere = linked.into_values().filter(|(n_missing, _)| *n_missing > 0).flat_map(|(_, names)| names);
    found.fixed.extend(elsewhere.map(|path| FixedFile { path, by: FixedBy::NameElsewhere }));
    found.fixed.sort();
    Ok(found)
}

/// Of everything at and below a name; counting ends where there is no room.
fn size_of(dir: &Dir, name: &[u8], stat: &Stat, room: u64) -> io::Result<u64> {
    if stat.kind != Kind::Directory {
        return Ok(if stat.kind == Kind::File { stat.size } else { 0 });
    }
    let dir = match dir.below(name) {
        Err(e) if e.raw_os_error() == Some(libc::EXDEV) => return Ok(0),
        opened => opened?,
    };
    let mut bytes = 0;
    for name in dir.names(usize::MAX)? {
        if let Some(stat) = dir.stat(&name)? {
            bytes += size_of(&dir, &name, &stat, room.saturating_sub(bytes))?;
        }
        if bytes > room {
            break;
        }
    }
    Ok(bytes)
}
