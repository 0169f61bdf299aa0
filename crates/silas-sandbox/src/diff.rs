//! How the changed files read, line by line, for the person who decides. Bounded in every direction; what is left out is
//! counted. Characters that could make a line look like another are written out. A file that only moved, or nearly so, is
//! shown as that and not as one gone and one new.

use crate::dir::Dir;
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::observe::Seen;
use crate::{Error, commits, observe, renames};
use silas_core::changeset::{Change, Changeset, DiffLine, FileDiff, FileState, NO_LINE_END};
use silas_core::flags::{self, FLAGS_MAX, Flag};
use silas_core::relpath::RelPath;
use similar::{ChangeTag, TextDiff};
use std::collections::HashSet;
use std::io::Read;
use std::time::Duration;

/// Files that are shown; the changeset names all of them.
const FILES_MAX: usize = 50;
/// Larger files are not text that a person reads here.
const TEXT_BYTES_MAX: u64 = 256 << 10;
const LINES_MAX: usize = 400;
const LINE_CHARS_MAX: usize = 500;
/// Files that are looked through for what to look at twice.
const FLAGGED_FILES_MAX: usize = 2000;
const CONTEXT_LINES: usize = 3;
/// After this the comparison takes the simple way and shows more lines as changed than it might.
const TIME_MAX: Duration = Duration::from_millis(500);

/// `sides` finds the directory that a change is in, and what the work made of it.
pub(crate) fn of<'d>(
    changeset: &Changeset,
    sides: impl Fn(&Change) -> Option<Sides<'d>>,
) -> Result<Vec<FileDiff>, Error> {
    let changes = &changeset.changes;
    let read = |change: &Change| {
        let sides = sides(change)?;
        let (root, state) = match (&change.before, &change.after) {
            (Some(before), None) => (sides.real, before),
            (_, Some(after)) => (&sides.changed, after),
            (None, None) => return None,
        };
        text(root, &change.path, Some(state)).ok().flatten()
    };
    let moved = renames::find(changes, read);
    let is_shown_elsewhere: HashSet<usize> = moved.values().copied().collect();
    let shown = changes.iter().enumerate().filter(|(n, _)| !is_shown_elsewhere.contains(n));
    let diffs = shown.take(FILES_MAX).filter_map(|(n, change)| {
        let from = moved.get(&n).map(|from| &changes[*from]);
        Some(one(change, from, &sides(change)?))
    });
    diffs.collect()
}

/// What to look at twice. Looks at more files than are shown: what is hidden among many is what one looks for.
pub(crate) fn flags<'d>(
    changeset: &Changeset,
    sides: impl Fn(&Change) -> Option<Sides<'d>>,
    lifeline: Lifeline<'_>,
) -> Result<Vec<Flag>, Error> {
    let mut found = Vec::new();
    // What a repository is made of is not for reading; what was committed stands in the directory too, or is gone.
    let files = changeset.changes.iter().filter(|change| !commits::is_in_repository(&change.path));
    for change in files.take(FLAGGED_FILES_MAX) {
        lifeline.holds()?;
        let Some(sides) = sides(change) else { continue };
        let before = text(sides.real, &change.path, change.before.as_ref())?.unwrap_or_default();
        let after = text(&sides.changed, &change.path, change.after.as_ref())?;
        let known: HashSet<&str> = before.lines().collect();
        let added = after.iter().flat_map(|text| text.lines()).filter(|line| !known.contains(line));
        let mut here = flags::of(&change.path, added);
        if after.is_none() {
            let what = "is not text, or too long to look through".to_owned();
            here.push(Flag { path: change.path.clone(), what });
        }
        if !sides.directory.is_empty() {
            here.iter_mut().for_each(|flag| flag.what = format!("{} (in {})", flag.what, sides.directory));
        }
        found.extend(here);
        if found.len() >= FLAGS_MAX {
            break;
        }
    }
    found.truncate(FLAGS_MAX);
    Ok(found)
}

pub(crate) struct Sides<'d> {
    pub(crate) real: &'d Dir,
    pub(crate) changed: Dir,
    /// The directory's path where there are several, otherwise nothing.
    pub(crate) directory: String,
}

/// `from` is the file that this one was before it moved.
fn one(change: &Change, from: Option<&Change>, sides: &Sides<'_>) -> Result<FileDiff, Error> {
    let origin = from.unwrap_or(change);
    let before = Side { root: sides.real, path: &origin.path, state: origin.before.as_ref() };
    let after = Side { root: &sides.changed, path: &change.path, state: change.after.as_ref() };
    let diff = between(sides.directory.clone(), &change.path, &before, &after)?;
    Ok(FileDiff { renamed_from: from.map(|from| from.path.clone()), ..diff })
}

/// A file as it lies somewhere.
pub(crate) struct Side<'d> {
    pub(crate) root: &'d Dir,
    pub(crate) path: &'d RelPath,
    pub(crate) state: Option<&'d FileState>,
}

/// Two versions of one file, wherever each of them lies.
pub(crate) fn between(
    directory: String,
    path: &RelPath,
    before: &Side<'_>,
    after: &Side<'_>,
) -> Result<FileDiff, Error> {
    let shown = FileDiff {
        directory,
        path: path.clone(),
        renamed_from: None,
        mode_before: before.state.map(FileState::mode),
        mode_after: after.state.map(FileState::mode),
        added: 0,
        removed: 0,
        lines: None,
        is_verbatim: false,
    };
    let is_link = |state: Option<&FileState>| matches!(state, Some(FileState::Link { .. }));
    let is_linked = is_link(before.state) || is_link(after.state);
    let before = text(before.root, before.path, before.state)?;
    let after = text(after.root, after.path, after.state)?;
    let (Some(before), Some(after)) = (before, after) else { return Ok(shown) };
    let compared = compare(&before, &after);
    Ok(FileDiff {
        added: compared.added,
        removed: compared.removed,
        lines: Some(compared.lines),
        is_verbatim: compared.is_verbatim && !is_linked,
        ..shown
    })
}

/// `None` if this is not text, too large, or no longer what the changeset says.
fn text(root: &Dir, path: &RelPath, state: Option<&FileState>) -> Result<Option<String>, Error> {
    let doing = || format!("Reading {path}");
    match state {
        None => Ok(Some(String::new())),
        Some(FileState::Link { target }) => Ok(Some(format!("symlink to {target}\n"))),
        Some(FileState::File { hash, .. }) => {
            let (parent, name) = match root.parent_of(path) {
                Err(e) if observe::leads_nowhere(&e) => return Ok(None),
                found => found.doing(doing)?,
            };
            if observe::name_in(&parent, name).doing(doing)? == Seen::Nothing {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            parent.read(name).and_then(|f| f.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)).doing(doing)?;
            let is_it = silas_core::Digest::of(&bytes) == *hash;
            Ok(String::from_utf8(bytes).ok().filter(|text| is_it && !text.contains('\0')))
        }
    }
}

/// Two texts side by side.
struct Compared {
    added: u32,
    removed: u32,
    lines: Vec<DiffLine>,
    /// Whether the lines are the whole change, letter by letter.
    is_verbatim: bool,
}

fn compare(before: &str, after: &str) -> Compared {
    let diff = TextDiff::configure().timeout(TIME_MAX).diff_lines(before, after);
    let (mut added, mut removed) = (0u32, 0u32);
    let mut lines = Vec::new();
    let mut old_shown = 0;
    let mut n_left_out = 0u32;
    // With the mark of our own remarks in a text, a remark could not be told from it.
    let mut is_verbatim = !before.contains('⟨') && !after.contains('⟨');
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let starts = group.first().map_or(old_shown, |op| op.old_range().start);
        push_gap(&mut lines, starts.saturating_sub(old_shown));
        for op in &group {
            for change in diff.iter_changes(op) {
                match change.tag() {
                    ChangeTag::Equal => {}
                    ChangeTag::Insert => added += 1,
                    ChangeTag::Delete => removed += 1,
                }
                if lines.len() >= LINES_MAX {
                    n_left_out += 1;
                    continue;
                }
                let line = visible(change.value(), change.missing_newline());
                is_verbatim &= line.strip_suffix(NO_LINE_END).unwrap_or(&line)
                    == change.value().strip_suffix('\n').unwrap_or(change.value());
                lines.push(match change.tag() {
                    ChangeTag::Equal => DiffLine::Same(line),
                    ChangeTag::Insert => DiffLine::Added(line),
                    ChangeTag::Delete => DiffLine::Removed(line),
                });
            }
            old_shown = op.old_range().end;
        }
    }
    let rest = if added + removed == 0 { 0 } else { diff.old_len().saturating_sub(old_shown) };
    push_gap(&mut lines, rest + usize::try_from(n_left_out).unwrap_or(usize::MAX));
    Compared { added, removed, lines, is_verbatim: is_verbatim && n_left_out == 0 }
}

fn push_gap(lines: &mut Vec<DiffLine>, n: usize) {
    if n > 0 {
        lines.push(DiffLine::Gap(u32::try_from(n).unwrap_or(u32::MAX)));
    }
}

/// One line without its end, with everything in it that can be seen.
fn visible(line: &str, is_unfinished: bool) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let mut out = String::new();
    for c in line.chars().take(LINE_CHARS_MAX) {
        if c != '\t' && (c.is_control() || is_deceptive(c)) {
            out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    let n_more = line.chars().count().saturating_sub(LINE_CHARS_MAX);
    if n_more > 0 {
        out.push_str(&format!("⟨{n_more} more characters⟩"));
    }
    if is_unfinished {
        out.push_str(NO_LINE_END);
    }
    out
}

/// Characters that turn the direction of text or take no room: a line with them is not what it looks like.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
