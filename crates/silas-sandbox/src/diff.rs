//! How the changed files read, line by line, for the person who decides. Every file is named and counted; its lines are
//! bounded in every direction, and changed lines that are left out are never counted as unchanged. Characters that could make a line look like another are written out. A file that only moved, or nearly so, is
//! shown as that and not as one gone and one new.

use crate::dir::Dir;
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::observe::Seen;
use crate::{Error, commits, observe, renames};
use silas_core::changeset::{Change, Changeset, DiffLine, FileDiff, FileMode, FileState, MORE_CHARACTERS, NO_LINE_END};
use silas_core::flags::{self, FLAGS_MAX, Flag};
use silas_core::hidden;
use silas_core::relpath::RelPath;
use silas_core::risk;
use similar::{ChangeTag, TextDiff};
use std::collections::{BTreeMap, HashSet};
use std::io::Read;

/// Larger files are not text that a person reads here.
const TEXT_BYTES_MAX: u64 = 256 << 10;
/// Of one file; nobody reads more of it on a card.
const LINES_MAX: usize = 2000;
/// Of one file, however many there are: what is hidden among many is small.
const LINES_MIN: usize = 20;
const BYTES_MIN: usize = 4 << 10;
const COMPARED_BYTES_MIN: usize = 64 << 10;
/// Of all files together, and their bytes: a card goes to every page that is open.
const ALL_LINES_MAX: usize = 20_000;
const ALL_BYTES_MAX: usize = 1 << 20;
/// Texts of all files together that are compared: it takes its time, and somebody waits for the card.
const COMPARED_BYTES_MAX: usize = 16 << 20;
const LINE_CHARS_MAX: usize = 500;
/// Files that are looked through for what to look at twice.
const FLAGGED_FILES_MAX: usize = 2000;
const CONTEXT_LINES: usize = 3;

/// `sides` finds the directory that a change is in, and what the work made of it.
pub(crate) fn of<'d>(
    changeset: &Changeset,
    sides: impl Fn(&Change) -> Option<Sides<'d>>,
) -> Result<Vec<FileDiff>, Error> {
    let changes = &changeset.changes;
    let moved = moved(changeset, &sides);
    let is_shown_elsewhere: HashSet<usize> = moved.values().copied().collect();
    let shown = changes.iter().enumerate().filter(|(n, _)| !is_shown_elsewhere.contains(n));
    let n_shown = changes.len().saturating_sub(is_shown_elsewhere.len());
    let mut room = Room::for_files(n_shown);
    let diffs = shown.filter_map(|(n, change)| {
        let from = moved.get(&n).map(|from| &changes[*from]);
        Some(one(change, from, &sides(change)?, &mut room))
    });
    diffs.collect()
}

/// For the place of each new file in the list, the place of the one that it was.
pub(crate) fn moved<'d>(changeset: &Changeset, sides: impl Fn(&Change) -> Option<Sides<'d>>) -> BTreeMap<usize, usize> {
    let read = |change: &Change| {
        let sides = sides(change)?;
        let (root, state) = match (&change.before, &change.after) {
            (Some(before), None) => (sides.real, before),
            (_, Some(after)) => (&sides.changed, after),
            (None, None) => return None,
        };
        text(root, &change.path, Some(state)).ok().flatten()
    };
    renames::find(&changeset.changes, read)
}

/// What may still be shown and compared, of one file and of all.
pub(crate) struct Room {
    share: Amount,
    left: Amount,
}

#[derive(Clone, Copy)]
struct Amount {
    lines: usize,
    bytes: usize,
    compared: usize,
}

impl Room {
    fn for_files(n: usize) -> Self {
        let n = n.max(1);
        let share = Amount {
            lines: (ALL_LINES_MAX / n).clamp(LINES_MIN, LINES_MAX),
            bytes: (ALL_BYTES_MAX / n).max(BYTES_MIN),
            compared: (COMPARED_BYTES_MAX / n).max(COMPARED_BYTES_MIN),
        };
        Room { share, left: Amount { lines: ALL_LINES_MAX, bytes: ALL_BYTES_MAX, compared: COMPARED_BYTES_MAX } }
    }

    /// For one that is shown by itself.
    pub(crate) fn for_one() -> Self {
        Room::for_files(1)
    }

    /// Whether these may be compared; then they have been.
    fn compares(&mut self, texts: [&str; 2]) -> bool {
        let bytes = texts.iter().map(|text| text.len()).sum::<usize>();
        let fits = bytes <= self.share.compared.min(self.left.compared);
        self.left.compared -= if fits { bytes } else { 0 };
        fits
    }

    /// Whether a line fits after so many lines and bytes of the same file; then it has its place.
    fn takes(&mut self, (n_lines, n_bytes): (usize, usize), line: &str) -> bool {
        let has_share = n_lines < self.share.lines && n_bytes + line.len() <= self.share.bytes;
        let fits = has_share && self.left.lines > 0 && line.len() <= self.left.bytes;
        if fits {
            (self.left.lines, self.left.bytes) = (self.left.lines - 1, self.left.bytes - line.len());
        }
        fits
    }
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
    let n_files = files.clone().count();
    let mut n_looked_at = 0;
    for change in files.take(FLAGGED_FILES_MAX) {
        n_looked_at += 1;
        lifeline.holds()?;
        let Some(sides) = sides(change) else { continue };
        let before = text(sides.real, &change.path, change.before.as_ref())?.unwrap_or_default();
        let after = text(&sides.changed, &change.path, change.after.as_ref())?;
        // Some languages end a line where only a carriage return stands.
        let known: HashSet<&str> = before.split(['\n', '\r']).collect();
        let added = after.iter().flat_map(|text| text.split(['\n', '\r'])).filter(|line| !known.contains(line));
        let mut here = flags::of(&change.path, added);
        here.extend(opened(change));
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
    if let Some(last) =
        found.get(FLAGS_MAX - 1).or(found.last()).filter(|_| n_looked_at < n_files || found.len() > FLAGS_MAX)
    {
        let what = format!("is the last one listed here; there may be more in {n_files} changed files");
        let said = Flag { path: last.path.clone(), what };
        found.truncate(FLAGS_MAX);
        found.push(said);
    }
    Ok(found)
}

/// What a change does to who may write to a file.
fn opened(change: &Change) -> Option<Flag> {
    let mode = |state: &Option<FileState>| state.as_ref().map(FileState::mode);
    let (before, after) = (mode(&change.before), mode(&change.after));
    let Some(FileMode::File(bits)) = after.filter(|_| risk::opens(before, after)) else { return None };
    let what = format!("becomes writable for anybody on this machine (mode {bits:o})");
    Some(Flag { path: change.path.clone(), what })
}

pub(crate) struct Sides<'d> {
    pub(crate) real: &'d Dir,
    pub(crate) changed: Dir,
    /// The directory's path where there are several, otherwise nothing.
    pub(crate) directory: String,
    /// What the file was, where that is kept; it may be another by now.
    pub(crate) original: Option<String>,
}

/// `from` is the file that this one was before it moved.
fn one(change: &Change, from: Option<&Change>, sides: &Sides<'_>, room: &mut Room) -> Result<FileDiff, Error> {
    let origin = from.unwrap_or(change);
    let kept = sides.original.as_deref().filter(|_| from.is_none());
    let before = Side { root: sides.real, path: &origin.path, state: origin.before.as_ref(), kept };
    let after = Side { root: &sides.changed, path: &change.path, state: change.after.as_ref(), kept: None };
    let diff = between(sides.directory.clone(), &change.path, &before, &after, room)?;
    Ok(FileDiff { renamed_from: from.map(|from| from.path.clone()), ..diff })
}

/// A file as it lies somewhere.
pub(crate) struct Side<'d> {
    pub(crate) root: &'d Dir,
    pub(crate) path: &'d RelPath,
    pub(crate) state: Option<&'d FileState>,
    /// What it was, where that is kept apart and it may be another by now.
    pub(crate) kept: Option<&'d str>,
}

/// Two versions of one file, wherever each of them lies.
pub(crate) fn between(
    directory: String,
    path: &RelPath,
    before: &Side<'_>,
    after: &Side<'_>,
    room: &mut Room,
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
    // Whatever it holds: this is all there is to show.
    if content(before.state).is_some_and(|hash| Some(hash) == content(after.state)) {
        return Ok(FileDiff { lines: Some(Vec::new()), is_verbatim: true, ..shown });
    }
    let is_link = |state: Option<&FileState>| matches!(state, Some(FileState::Link { .. }));
    let is_linked = is_link(before.state) || is_link(after.state);
    let before = text(before.root, before.path, before.state)?.or_else(|| before.kept.map(str::to_owned));
    let after = text(after.root, after.path, after.state)?.or_else(|| after.kept.map(str::to_owned));
    let (Some(before), Some(after)) = (before, after) else { return Ok(shown) };
    if !room.compares([&before, &after]) {
        return Ok(shown);
    }
    let compared = compare(&before, &after, room);
    Ok(FileDiff {
        added: compared.added,
        removed: compared.removed,
        lines: Some(compared.lines),
        is_verbatim: compared.is_verbatim && !is_linked,
        ..shown
    })
}

fn content(state: Option<&FileState>) -> Option<&silas_core::Digest> {
    match state {
        Some(FileState::File { hash, .. }) => Some(hash),
        Some(FileState::Link { .. }) | None => None,
    }
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

fn compare(before: &str, after: &str, room: &mut Room) -> Compared {
    let diff = TextDiff::from_lines(before, after);
    let (mut added, mut removed) = (0u32, 0u32);
    let mut lines = Vec::new();
    let mut old_shown = 0;
    // Changed lines, and unchanged ones among them.
    let (mut n_not_shown, mut n_passed_over) = (0u32, 0usize);
    let mut n_bytes = 0;
    // With the mark of our own remarks in a text, a remark could not be told from it.
    let mut is_verbatim = !before.contains('⟨') && !after.contains('⟨');
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let starts = group.first().map_or(old_shown, |op| op.old_range().start);
        let between = starts.saturating_sub(old_shown);
        if n_not_shown == 0 && n_passed_over == 0 {
            push_gap(&mut lines, between)
        } else {
            n_passed_over += between
        }
        for op in &group {
            for change in diff.iter_changes(op) {
                match change.tag() {
                    ChangeTag::Equal => {}
                    ChangeTag::Insert => added += 1,
                    ChangeTag::Delete => removed += 1,
                }
                let line = visible(change.value(), change.missing_newline());
                // What is left out is left out from there on, so that nothing that follows seems to follow at once.
                if n_not_shown > 0 || n_passed_over > 0 || !room.takes((lines.len(), n_bytes), &line) {
                    match change.tag() {
                        ChangeTag::Equal => n_passed_over += 1,
                        ChangeTag::Insert | ChangeTag::Delete => n_not_shown += 1,
                    }
                    continue;
                }
                n_bytes += line.len();
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
    if n_not_shown > 0 {
        lines.push(DiffLine::NotShown(n_not_shown));
    }
    push_gap(&mut lines, rest + n_passed_over);
    Compared { added, removed, lines, is_verbatim: is_verbatim && n_not_shown == 0 && n_passed_over == 0 }
}

/// Two versions of a text, line by line, as a person reads them.
pub(crate) fn compared_lines(one: &str, other: &str) -> Vec<DiffLine> {
    compare(one, other, &mut Room::for_one()).lines
}

/// One line of a text, with everything in it that can be seen.
pub(crate) fn visible_line(line: &str) -> String {
    visible(line, false)
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
        if hidden::is_hidden(c) { out.push_str(&hidden::by_number(c)) } else { out.push(c) }
    }
    let n_more = line.chars().count().saturating_sub(LINE_CHARS_MAX);
    if n_more > 0 {
        out.push_str(&format!("⟨{n_more}{MORE_CHARACTERS}"));
    }
    if is_unfinished {
        out.push_str(NO_LINE_END);
    }
    out
}

#[cfg(test)]
mod tests;
