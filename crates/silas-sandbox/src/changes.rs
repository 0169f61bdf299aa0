//! What the work changed: the finished copy compared with the originals that it was made of.
//!
//! Some changes are refused by name instead of being left out: what the owner sees and what is applied must be all there
//! is.

use crate::Error;
use crate::error::Doing;
use crate::extent::Bounds;
use crate::permit::Root;
use crate::tree::{GIT, Manifest};
use crate::{commits, observe};
use silas_core::changeset::{Change, Changeset, FileState};
use silas_core::number::grouped;
use silas_core::relpath::RelPath;
use std::collections::{BTreeMap, BTreeSet};

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
pub(crate) fn together(each: Vec<Vec<Change>>, bounds: Bounds) -> Result<Changeset, Error> {
    let changes: Vec<Change> = each.into_iter().flatten().collect();
    if changes.len() > bounds.changes_max {
        return Err(Error::TooLarge(format!(
            "The work changed {} files, more than the {} that `sandbox.changes_max` allows to be applied together.",
            grouped(changes.len()),
            grouped(bounds.changes_max)
        )));
    }
    Ok(Changeset { changes })
}

/// A file with several names in the directory is one file: what was written under one of them stands under all. In a copy
/// each name is a file of its own, so the names that the work left alone are changed here. What it wrote differently under
/// two of them is nobody's to choose from, and stays as it is.
pub(crate) fn under_all_names(changes: &mut Vec<Change>, original: &Manifest) {
    let known: BTreeMap<&RelPath, &Change> = changes.iter().map(|change| (&change.path, change)).collect();
    let is_written = |change: &&Change| change.before.is_some() && matches!(change.after, Some(FileState::File { .. }));
    let mut others = Vec::new();
    for names in original.names_of(&known.keys().copied().collect()) {
        let written: Vec<&Change> =
            names.iter().filter_map(|name| known.get(name).copied()).filter(is_written).collect();
        let [first, rest @ ..] = written.as_slice() else { continue };
        if rest.iter().all(|change| change.after == first.after) {
            let left_alone = names.into_iter().filter(|name| !known.contains_key(name));
            others.extend(left_alone.map(|path| Change { path: path.clone(), ..(*first).clone() }));
        }
    }
    changes.extend(others);
    changes.sort_by(|a, b| a.path.cmp(&b.path));
}

/// A new file cannot be put where something lies that does not count: what git ignores is not in the way of the copy, but of
/// an apply.
pub(crate) fn have_room(changeset: &Changeset, roots: &[Root], now: &[Manifest]) -> Result<(), Error> {
    for change in changeset.changes.iter().filter(|change| change.before.is_none()) {
        let Some(n) = roots.iter().position(|root| root.nth == change.directory) else { continue };
        let is_known = now[n].files.contains_key(&change.path) || now[n].dirs.contains_key(&change.path);
        let is_taken = match roots[n].granted.dir.parent_of(&change.path) {
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => false,
            Err(e) if observe::leads_nowhere(&e) => true,
            found => {
                let found = found.and_then(|(dir, name)| dir.stat(name));
                found.doing(|| format!("Looking at {}", change.path))?.is_some()
            }
        };
        if is_taken && !is_known && !commits::is_in_repository(&change.path) {
            let kind = "where the work puts a new file, and something of yours that git ignores lies there";
            let todo = "Have the work use another name, or move yours away.";
            return Err(Error::unsupported_with(kind, &change.path, todo));
        }
    }
    Ok(())
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
        let kind = "one of a git repository's own files, which work may not change";
        return Err(Error::unsupported_with(kind, path, "Have the work leave them as they are."));
    }
    if before.is_none() && changes_places(original, path) {
        let kind = "new where a file would become a directory, or a directory a file";
        return Err(Error::unsupported_with(kind, path, "Have the work use another name."));
    }
    match after {
        Some(FileState::Link { .. }) if leaves(path, &(links.target_of)(path)?, links.root) => {
            let todo = "Have the work point it to something inside, or leave it as it was.";
            Err(Error::unsupported_with("a symlink that leads out of the directory", path, todo))
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
