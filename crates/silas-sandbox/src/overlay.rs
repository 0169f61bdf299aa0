//! What an overlay's upper directory says, read without mounting it: which files are new, and which are hidden.
//!
//! The kernel writes these directories while a cell runs; here they are only read, or prepared before one does. Nothing
//! here is trusted that the program inside could forge: it sees the merged tree only, and the kernel keeps its own marks
//! out of its reach.

use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::extent::Extent;
use crate::tree::{self, Manifest, Room};
use crate::view::Mark;
use crate::{Error, observe, syscall};
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// A directory with this mark hides what lies below it in deeper layers.
const OPAQUE: &std::ffi::CStr = c"user.overlay.opaque";
/// Any name serves; it shows whether the kernel's own marks can be written there.
const PROBE: &std::ffi::CStr = c"user.silas.probe";

/// Symlinks that are followed on the way to one file, as the kernel does.
const LINKS_MAX: usize = 40;

/// The two directories that a layer consists of; they must lie in one mount.
pub(crate) const UPPER: &str = "upper";
pub(crate) const WORK: &str = "work";

/// Makes an empty layer and returns its upper directory.
pub(crate) fn make(home: &Dir, name: &str, mode: u32) -> io::Result<Dir> {
    home.mkdir(name.as_bytes(), 0o700)?;
    let layer = home.below(name.as_bytes())?;
    layer.mkdir(WORK.as_bytes(), 0o700)?;
    layer.mkdir(UPPER.as_bytes(), mode | 0o700)?;
    layer.below(UPPER.as_bytes())
}

/// Whether marks can be written on this file system at all.
pub(crate) fn can_mark(upper: &Dir) -> bool {
    syscall::set_mark(upper.as_fd(), PROBE, b"y").and_then(|()| syscall::remove_mark(upper.as_fd(), PROBE)).is_ok()
}

/// What is seen when the upper directory lies over what `lower` describes.
pub(crate) fn merged(lower: &Manifest, upper: &Dir, extent: &Extent<'_>) -> Result<Manifest, Error> {
    let mut seen = lower.clone();
    let mut room = extent.bounds.bytes_max;
    let mut visit = |dir: &Dir, path: RelPath, stat: &Stat| {
        extent.lifeline.holds()?;
        seen.has_room(extent)?;
        let (_, name) = split(&path);
        let doing = || format!("Reading {path}");
        match stat.kind {
            _ if stat.is_whiteout => {
                seen.files.remove(&path);
                seen.dirs.remove(&path);
                seen.remove_below(&path);
            }
            Kind::Directory => {
                seen.files.remove(&path);
                if syscall::mark(dir.below(name).doing(doing)?.as_fd(), OPAQUE).doing(doing)? == Some(b'y') {
                    seen.remove_below(&path);
                }
                seen.dirs.insert(path, stat.mode);
            }
            Kind::Link => {
                let target = dir.read_link(name).doing(doing)?;
                seen.replace(path, observe::link(&target));
            }
            Kind::File => {
                let (state, bytes) = tree::read_file(dir, name, stat, None, Room { extent, bytes: room, path: &path })?;
                room -= bytes.min(room);
                seen.bytes += bytes;
                seen.replace(path, state);
            }
            Kind::Special(kind) => return Err(extent.no_file(kind, &path)),
        }
        Ok(())
    };
    tree::walk_by(upper, extent, &mut visit, &mut |_, _, _| Ok(()))?;
    Ok(seen)
}

/// Hides in one layer what a directory hides in another.
pub(crate) fn copy_mark(from: &Dir, to: &Dir) -> io::Result<()> {
    match syscall::mark(from.as_fd(), OPAQUE)? {
        Some(b'y') => syscall::set_mark(to.as_fd(), OPAQUE, b"y"),
        Some(_) | None => Ok(()),
    }
}

/// Hides a name at the top.
pub(crate) fn hide(upper: &Dir, name: &[u8]) -> io::Result<()> {
    syscall::make_whiteout(upper.as_fd(), name)
}

/// The directories on the way, as they are seen now.
pub(crate) fn make_parents(upper: &Dir, path: &[u8], dirs: &BTreeMap<RelPath, u32>) -> io::Result<Dir> {
    if path.is_empty() {
        return upper.below(b"");
    }
    let rel = RelPath::from_bytes(path).map_err(io::Error::other)?;
    let (parent, name) = split(&rel);
    let parent = make_parents(upper, parent, dirs)?;
    if parent.stat(name)?.is_none() {
        parent.mkdir(name, dirs.get(&rel).copied().unwrap_or(0o755) | 0o700)?;
    }
    parent.below(name)
}

/// Prepares a layer for a file as it was: the directory that it is to be put into, or nothing if it is hidden now.
pub(crate) fn make_room(
    upper: &Dir,
    path: &RelPath,
    is_hidden: bool,
    dirs: &BTreeMap<RelPath, u32>,
) -> io::Result<Option<Dir>> {
    let (parent, name) = split(path);
    let parent = match make_parents(upper, parent, dirs) {
        // Its directory is hidden, and so is everything in it.
        Err(e) if is_hidden && e.raw_os_error() == Some(libc::ENOTDIR) => return Ok(None),
        made => made?,
    };
    if is_hidden {
        syscall::make_whiteout(parent.as_fd(), name)?;
        return Ok(None);
    }
    Ok(Some(parent))
}

/// What one layer alone says about a path.
pub(crate) fn mark(path: &RelPath, upper: &Dir) -> io::Result<Mark> {
    let parts: Vec<&[u8]> = path.as_bytes().split(|b| *b == b'/').collect();
    let mut dir = upper.below(b"")?;
    let mut is_opaque = false;
    for (n, name) in parts.iter().enumerate() {
        match dir.stat(name)? {
            None if is_opaque => return Ok(Mark::Gone),
            None => return Ok(Mark::Unsaid),
            Some(Stat { is_whiteout: true, .. }) => return Ok(Mark::Gone),
            Some(stat) if n + 1 == parts.len() => return Ok(Mark::File(stat.inode, stat.changed)),
            Some(stat) if stat.kind != Kind::Directory => return Ok(Mark::Gone),
            Some(_) => {
                dir = dir.below(name)?;
                is_opaque |= syscall::mark(dir.as_fd(), OPAQUE)? == Some(b'y');
            }
        }
    }
    Ok(Mark::Unsaid)
}

/// Several layers as one tree, the topmost first.
pub(crate) struct Stack<'a>(pub(crate) Vec<&'a Dir>);

enum Found {
    Nothing,
    Link(Vec<u8>),
    /// In this directory of one of the layers.
    Else(Dir),
}

impl Stack<'_> {
    /// Whether something is there, following symlinks only as long as they stay inside.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.resolve(path).unwrap_or(false)
    }

    /// Opens the file that is seen at a path.
    pub(crate) fn read(&self, path: &RelPath) -> io::Result<File> {
        let parts: Vec<Vec<u8>> = path.as_bytes().split(|b| *b == b'/').map(<[u8]>::to_vec).collect();
        match self.look(&parts)? {
            Found::Else(dir) => dir.read(split(path).1),
            Found::Nothing | Found::Link(_) => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn resolve(&self, path: &[u8]) -> io::Result<bool> {
        let mut pending: Vec<Vec<u8>> = path.split(|b| *b == b'/').rev().map(<[u8]>::to_vec).collect();
        let mut at: Vec<Vec<u8>> = Vec::new();
        let mut n_links = 0;
        while let Some(part) = pending.pop() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    if at.pop().is_none() {
                        return Ok(false);
                    }
                    continue;
                }
                _ => at.push(part),
            }
            match self.look(&at)? {
                Found::Nothing => return Ok(false),
                Found::Else(_) => {}
                Found::Link(target) => {
                    n_links += 1;
                    if n_links > LINKS_MAX || target.starts_with(b"/") {
                        return Ok(false);
                    }
                    at.pop();
                    pending.extend(target.split(|b| *b == b'/').rev().map(<[u8]>::to_vec));
                }
            }
        }
        Ok(true)
    }

    /// What the topmost layer that says anything about a path says.
    fn look(&self, path: &[Vec<u8>]) -> io::Result<Found> {
        'layers: for layer in &self.0 {
            let mut dir = layer.below(b"")?;
            let mut is_opaque = false;
            for (n, name) in path.iter().enumerate() {
                let is_last = n + 1 == path.len();
                match dir.stat(name)? {
                    None if is_opaque => return Ok(Found::Nothing),
                    None => continue 'layers,
                    Some(Stat { is_whiteout: true, .. }) => return Ok(Found::Nothing),
                    Some(stat) if stat.kind == Kind::Link && is_last => return Ok(Found::Link(dir.read_link(name)?)),
                    Some(_) if is_last => return Ok(Found::Else(dir)),
                    Some(stat) if stat.kind != Kind::Directory => return Ok(Found::Nothing),
                    Some(_) => {
                        dir = dir.below(name)?;
                        is_opaque |= syscall::mark(dir.as_fd(), OPAQUE)? == Some(b'y');
                    }
                }
            }
        }
        Ok(Found::Nothing)
    }
}

#[cfg(test)]
mod tests;
