//! What the owner and the work made of the same files: the two versions to look at, and, where they go together in every
//! file, what both come to, kept for a plan that names it.
//!
//! Nothing is put in place here, and nothing of the owner's is touched. Deliberately absent: merging repositories, symlinks
//! and anything that is not text; there the owner's version stands, and the work can be done again on it.

use super::Bench;
use crate::dir::Dir;
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::merges::{self, Content, Contents, Laid};
use crate::originals::{read_text, read_text_in};
use crate::permit;
use crate::tree::Manifest;
use crate::{Case, Collided, Collision, Error, commits, diff};
use silas_core::changeset::{Change, Changeset, DiffLine, FileState};
use silas_core::merge::{self, By, Stretch};
use silas_core::{Digest, Timestamp};
use std::time::UNIX_EPOCH;

/// Files of which both versions are told; more are only counted.
const FILES_TOLD_MAX: usize = 10;
/// Lines of one version at the first place.
const LINES_TOLD_MAX: usize = 6;

/// One side of a file.
enum Side {
    Nothing,
    Text(String, u32),
    /// Too large, not text, a symlink, or not known any more.
    Other,
}

/// What one change comes to together with the owner's.
struct Together {
    /// `None` where they do not go together.
    change: Option<Change>,
    contents: Option<Contents>,
    told: Option<Collided>,
}

impl Bench {
    pub(super) fn collide(&mut self) -> Result<Collision, Error> {
        let (workspace, roots, lifeline) = (self.workspace()?, &self.permit.roots, Lifeline::of(&self.socket));
        let changeset = match (&self.finished, &self.permit.laid) {
            (Some(finished), _) => &finished.changeset,
            (None, Some(laid)) => &laid.changeset,
            (None, None) => return Ok(Collision::default()),
        };
        let now = workspace.look_at(roots, lifeline)?;
        let mut each = Vec::with_capacity(changeset.changes.len());
        for (at, change) in changeset.changes.iter().enumerate() {
            lifeline.holds()?;
            let Some(n) = roots.iter().position(|root| root.nth == change.directory) else { continue };
            each.push(self.together(at, n, change, &now[n])?);
        }
        let files = each.iter().filter_map(|one| one.told.clone());
        let n_files = u32::try_from(files.clone().count()).unwrap_or(u32::MAX);
        let told = files.take(FILES_TOLD_MAX).collect();
        let merged = self.keep_merge(each)?;
        Ok(Collision { files: told, n_files, merged })
    }

    /// Keeps what all of it comes to, if that is clean, something, and met a change of the owner's at all.
    fn keep_merge(&self, each: Vec<Together>) -> Result<Option<crate::Merged>, Error> {
        let is_met = each.iter().any(|one| one.told.is_some());
        let in_repository = |one: &Together| one.change.as_ref().is_some_and(|c| commits::is_in_repository(&c.path));
        if !is_met || self.permit.plan.definition().commits || each.iter().any(in_repository) {
            return Ok(None);
        }
        let (mut changes, mut contents) = (Vec::new(), Vec::new());
        for one in each {
            let (Some(change), Some(content)) = (one.change, one.contents) else { return Ok(None) };
            // What the owner has already needs no change.
            if change.before != change.after {
                changes.push(change);
                contents.push(content);
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        merges::keep(&self.ground, &self.permit.execution, &self.permit.roots, &Changeset { changes }, &contents)
    }

    fn together(&self, at: usize, n: usize, change: &Change, now: &Manifest) -> Result<Together, Error> {
        let real = &self.permit.roots[n].granted.dir;
        let there = now.files.get(&change.path);
        let is_taken = now.dirs.contains_key(&change.path);
        let source = self.theirs(at, n, change)?;
        if !is_taken && there == change.before.as_ref() {
            let before = there.map(|_| at_path(real, change)).transpose()?;
            let contents = Contents { before, after: source };
            return Ok(Together { change: Some(change.clone()), contents: Some(contents), told: None });
        }
        let base = self.base(at, change);
        let yours = match there {
            None => Side::Nothing,
            Some(state) => side(read_text(real, &change.path), state),
        };
        let theirs = match (&change.after, &source) {
            (None, _) => Side::Nothing,
            (Some(state), Some(Content::At(dir, name))) => side(read_text_in(dir, name), state),
            (Some(_), _) => Side::Other,
        };
        let mode_before = change.before.as_ref().and_then(mode);
        let (case, clean) = if is_taken {
            (Case::NotText, None)
        } else if there == change.after.as_ref() {
            (Case::Alike, None)
        } else {
            bring_together(&base, mode_before, &yours, &theirs)
        };
        let mut told = tell(case, &base, &yours, &theirs);
        told.path = permit::shown(&self.permit.roots, n, &change.path);
        told.at = now.files.get(&change.path).and_then(|_| edited_at(real, change));
        let merged = match clean {
            // The owner has it already.
            None if case == Case::Alike => Some((there.cloned(), None)),
            None => None,
            Some((text, mode)) => {
                let state = FileState::File { hash: Digest::of(text.as_bytes()), mode };
                Some((Some(state), Some(Content::Text(text))))
            }
        };
        let Some((after, content)) = merged else {
            return Ok(Together { change: None, contents: None, told: Some(told) });
        };
        let change_of_yours = Change { before: there.cloned(), after, ..change.clone() };
        let before = there.map(|_| at_path(real, change)).transpose()?;
        let contents = Contents { before, after: content };
        Ok(Together { change: Some(change_of_yours), contents: Some(contents), told: Some(told) })
    }

    /// What both began with.
    fn base(&self, at: usize, change: &Change) -> Side {
        let Some(state) = &change.before else { return Side::Nothing };
        let kept = match (&self.finished, &self.permit.laid) {
            (Some(_), _) | (None, None) => self.originals.get(change.directory, &change.path),
            (None, Some(laid)) => laid.open().ok().and_then(|dir| read_text_in(&dir, Laid::names(at).0.as_bytes())),
        };
        side(kept, state)
    }

    /// Where the version of the work lies.
    fn theirs(&self, at: usize, n: usize, change: &Change) -> Result<Option<Content>, Error> {
        if change.after.is_none() {
            return Ok(None);
        }
        match (&self.finished, &self.permit.laid) {
            (None, Some(laid)) => Ok(Some(Content::At(laid.open()?, Laid::names(at).1.into_bytes()))),
            (Some(_), _) | (None, None) => at_path(&self.workspace()?.source_of(n, &change.path)?, change).map(Some),
        }
    }
}

fn at_path(dir: &Dir, change: &Change) -> Result<Content, Error> {
    let (parent, name) = dir.parent_of(&change.path).doing(|| format!("Reading {}", change.path))?;
    Ok(Content::At(parent, name.to_vec()))
}

/// A text that is what it should be.
fn side(bytes: Option<Vec<u8>>, state: &FileState) -> Side {
    let FileState::File { hash, mode } = state else { return Side::Other };
    let text = bytes.filter(|bytes| Digest::of(bytes) == *hash).and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or(Side::Other, |text| Side::Text(text, *mode))
}

fn mode(state: &FileState) -> Option<u32> {
    match state {
        FileState::File { mode, .. } => Some(*mode),
        FileState::Link { .. } => None,
    }
}

/// How two versions stand to each other; and if they go together, the text and its permissions.
fn bring_together(base: &Side, mode_before: Option<u32>, yours: &Side, theirs: &Side) -> (Case, Option<(String, u32)>) {
    let (yours, theirs) = match (yours, theirs) {
        (Side::Nothing, _) => return (Case::YouDeleted, None),
        (_, Side::Nothing) => return (Case::SilasDeleted, None),
        (Side::Text(yours, y), Side::Text(theirs, t)) => ((yours, *y), (theirs, *t)),
        (Side::Text(..) | Side::Other, _) => return (Case::NotText, None),
    };
    let base = match base {
        Side::Nothing => "",
        Side::Text(text, _) => text,
        // Without what both began with nobody can tell whose lines are new.
        Side::Other => return (Case::Overlap, None),
    };
    let mode = match (mode_before, yours.1, theirs.1) {
        (_, y, t) if y == t => y,
        (Some(before), y, t) if y == before => t,
        (Some(before), y, t) if t == before => y,
        _ => return (Case::Overlap, None),
    };
    match merge::merge(base, yours.0, theirs.0) {
        Ok(text) => (Case::Apart, Some((text, mode))),
        Err(_) => (Case::Overlap, None),
    }
}

/// The first place at which to look, and the whole of both.
fn tell(case: Case, base: &Side, yours: &Side, theirs: &Side) -> Collided {
    let mut told = Collided { case, ..Collided::default() };
    let (Side::Text(yours, _), Side::Text(theirs, _)) = (yours, theirs) else { return told };
    told.compare = diff::compared_lines(yours, theirs);
    let (base, is_known) = match base {
        Side::Nothing => ("", true),
        Side::Text(text, _) => (text.as_str(), true),
        Side::Other => (yours.as_str(), false),
    };
    let (kept_yours, kept_silas) = (merge::kept(base, yours), merge::kept(base, theirs));
    if is_known {
        told.kept.compare = kept_of(&told.compare, &kept_yours, &kept_silas);
    }
    let found = merge::stretches(base, yours, theirs);
    let first = |is: &dyn Fn(By) -> bool| found.iter().find(|stretch| is(stretch.by));
    let both = first(&|by| by == By::Both);
    let mine: Option<&Stretch> = both.or_else(|| first(&|by| by == By::You)).or(found.first());
    let silas: Option<&Stretch> = both.or_else(|| first(&|by| by == By::Them)).or(found.first());
    if let (Some(mine), Some(silas)) = (mine, silas) {
        told.line = u32::try_from(mine.yours.start + 1).unwrap_or(u32::MAX);
        told.n_lines = u32::try_from(mine.yours.len()).unwrap_or(u32::MAX);
        let lines = |text: &str, range: std::ops::Range<usize>| {
            merge::lines(text)[range].iter().take(LINES_TOLD_MAX).map(|line| diff::visible_line(line)).collect()
        };
        told.yours = lines(yours, mine.yours.clone());
        told.silas = lines(theirs, silas.theirs.clone());
        told.n_silas = u32::try_from(silas.theirs.len()).unwrap_or(u32::MAX);
        if is_known {
            let of =
                |kept: &[bool], range: std::ops::Range<usize>| places(kept[range].iter().take(LINES_TOLD_MAX).copied());
            told.kept.yours = of(&kept_yours, mine.yours.clone());
            told.kept.silas = of(&kept_silas, silas.theirs.clone());
        }
    }
    told
}

/// Which lines of the comparison one side has as both began with them. From lines that are not told on, nobody counts.
fn kept_of(compare: &[DiffLine], yours: &[bool], theirs: &[bool]) -> Vec<u32> {
    let (mut y, mut t) = (0, 0);
    let mut is_counted = true;
    places(compare.iter().map(|line| {
        let (kept, in_yours, in_theirs) = match line {
            DiffLine::Same(_) => (false, 1, 1),
            DiffLine::Removed(_) => (yours.get(y).copied().unwrap_or(false), 1, 0),
            DiffLine::Added(_) => (theirs.get(t).copied().unwrap_or(false), 0, 1),
            DiffLine::Gap(n) => (false, *n as usize, *n as usize),
            DiffLine::NotShown(_) => {
                is_counted = false;
                (false, 0, 0)
            }
        };
        (y, t) = (y + in_yours, t + in_theirs);
        is_counted && kept
    }))
}

fn places(kept: impl Iterator<Item = bool>) -> Vec<u32> {
    kept.zip(0..).filter_map(|(kept, at)| kept.then_some(at)).collect()
}

fn edited_at(real: &Dir, change: &Change) -> Option<Timestamp> {
    let (parent, name) = real.parent_of(&change.path).ok()?;
    let modified = parent.stat(name).ok()??.modified;
    let micros = modified.duration_since(UNIX_EPOCH).ok()?.as_micros();
    i64::try_from(micros).ok().map(Timestamp::from_micros)
}

#[cfg(test)]
mod tests;
