//! What the work changed: the finished copy compared with the originals that it was made of.
//!
//! Some changes are refused by name instead of being left out: what the owner sees and what is applied must be all there
//! is.

use crate::Error;
use crate::tree::{GIT, Manifest};
use silas_core::changeset::{Change, Changeset, FileState};
use silas_core::number::grouped;
use silas_core::relpath::RelPath;
use std::collections::BTreeSet;

/// More than anyone would look through, and few enough to be shown, journaled and undone in one go.
const CHANGES_MAX: usize = 10_000;

/// What changed in one directory; `directory` is its place in the plan.
pub(crate) fn between(
    directory: u32,
    original: &Manifest,
    finished: &Manifest,
    links: &Links<'_>,
) -> Result<Vec<Change>, Error> {
    let paths: BTreeSet<&RelPath> = original.files.keys().chain(finished.files.keys()).collect();
    let mut changes = Vec::new();
    for path in paths {
        let (before, after) = (original.files.get(path), finished.files.get(path));
        if before == after {
            continue;
        }
        may_change(original, path, before, after, links)?;
        changes.push(Change { directory, path: path.clone(), before: before.cloned(), after: after.cloned() });
    }
    Ok(changes)
}

/// What changed in all directories together, in the plan's order.
pub(crate) fn together(each: Vec<Vec<Change>>) -> Result<Changeset, Error> {
    let changes: Vec<Change> = each.into_iter().flatten().collect();
    if changes.len() > CHANGES_MAX {
        return Err(Error::TooLarge(format!(
            "The work changed {} files, more than the {} that can be applied together.",
            grouped(changes.len()),
            grouped(CHANGES_MAX)
        )));
    }
    Ok(Changeset { changes })
}

/// Reads where a symlink of the finished copy points, and knows where the directory is.
pub(crate) struct Links<'a> {
    pub(crate) root: &'a str,
    pub(crate) target_of: &'a dyn Fn(&RelPath) -> Result<Vec<u8>, Error>,
}

fn may_change(
    original: &Manifest,
    path: &RelPath,
    before: Option<&FileState>,
    after: Option<&FileState>,
    links: &Links<'_>,
) -> Result<(), Error> {
    // Hooks and settings of a repository are commands that run later, outside any sandbox.
    if path.as_bytes().split(|b| *b == b'/').any(|part| part.eq_ignore_ascii_case(GIT)) {
        return Err(Error::unsupported("a change inside a git repository's own files", path));
    }
    if before.is_none() && changes_places(original, path) {
        return Err(Error::unsupported("a file where a directory was, or the other way round", path));
    }
    match after {
        Some(FileState::Link { .. }) if leaves(path, &(links.target_of)(path)?, links.root) => {
            Err(Error::unsupported("a symlink that leads out of the directory", path))
        }
        Some(FileState::Link { .. } | FileState::File { .. }) | None => Ok(()),
    }
}

/// Directories are not exchanged, so a file cannot take the place of one, nor one the place of a file.
fn changes_places(original: &Manifest, path: &RelPath) -> bool {
    let bytes = path.as_bytes();
    let parents = bytes.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| &bytes[..at]);
    let was_file = parents.filter_map(|p| RelPath::from_bytes(p).ok()).any(|p| original.files.contains_key(&p));
    was_file || original.dirs.contains_key(path)
}

/// Judged by the text alone and strictly: first any number of `..` that stays inside, then plain names.
fn leaves(path: &RelPath, target: &[u8], root: &str) -> bool {
    let depth = path.as_bytes().iter().filter(|b| **b == b'/').count();
    let (inner, ups_max) = match target.strip_prefix(b"/") {
        None => (target, depth),
        Some(_) => match target.strip_prefix(root.as_bytes()) {
            Some(rest) if rest.is_empty() || rest.starts_with(b"/") => (rest, 0),
            Some(_) | None => return true,
        },
    };
    let parts: Vec<&[u8]> = inner.split(|b| *b == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    let n_ups = parts.iter().take_while(|part| **part == b"..").count();
    n_ups > ups_max || parts[n_ups..].contains(&b"..".as_slice())
}

#[cfg(test)]
mod tests;
