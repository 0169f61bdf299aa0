//! A patch of several files: everything is worked out first, then all of it is written, and taken back if any of it fails.

use super::{Answered, FileAnswer, Found, binary, done, excerpt, find, is_binary, key, named, put, refused, why};
use silas_core::file_order::{Sight, Sights};
use silas_core::patch::{self, FilePatch, Line, Misplaced};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::path::{Path, PathBuf};

/// What a file was, and what it shall be.
struct Staged {
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    /// Of the file that it was moved from.
    mode: Option<Permissions>,
    is_known_whole: bool,
}

type Stage = BTreeMap<PathBuf, Staged>;

pub(super) fn patch(files: &[FilePatch], known: &Sights) -> Answered {
    let mut stage = Stage::new();
    let mut lines = Vec::new();
    for file in files {
        lines.push(stage_one(file, &mut stage, known)?);
    }
    write_all(&stage)?;
    let mut sights = Sights::new();
    for (path, staged) in &stage {
        if let (Some(new), Ok(real)) = (&staged.new, fs::canonicalize(path)) {
            sights.insert(key(&real), if staged.is_known_whole { Sight::whole(new) } else { Sight::of(new) });
        }
    }
    Ok(FileAnswer { sights, ..done(format!("Patched. {}", lines.join(" "))) })
}

fn nothing(why: String) -> FileAnswer {
    refused(format!("Nothing was changed. {why}"))
}

/// What one part of the patch comes to, given the parts before it; in a sentence.
fn stage_one(file: &FilePatch, stage: &mut Stage, known: &Sights) -> Result<String, FileAnswer> {
    match file {
        FilePatch::Add { path, text } => {
            is_free(path, stage)?;
            let staged =
                stage.entry(place(path)).or_insert(Staged { old: None, new: None, mode: None, is_known_whole: true });
            staged.new = Some(text.clone().into_bytes());
            Ok(format!("{} added.", named(path)))
        }
        FilePatch::Delete { path } => {
            take(path, stage, known)?.new = None;
            Ok(format!("{} deleted.", named(path)))
        }
        FilePatch::Update { path, to, hunks } => {
            let staged = take(path, stage, known)?;
            let old = staged.new.take().unwrap_or_default();
            if !hunks.is_empty() && is_binary(&old) {
                return Err(nothing(binary(path, &old).said));
            }
            let new = patch::apply(hunks, &old).map_err(|(n, why)| misplaced(path, n, &why, &old))?;
            let count = |is_one: fn(&Line) -> bool| {
                hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| is_one(line)).count()
            };
            let changes = format!(
                "+{} −{}",
                count(|line| matches!(line, Line::Added(_))),
                count(|line| matches!(line, Line::Removed(_)))
            );
            let Some(to) = to else {
                staged.new = Some(new);
                return Ok(format!("{} {changes}.", named(path)));
            };
            let (mode, is_known_whole) = (staged.mode.clone(), staged.is_known_whole);
            is_free(to, stage)?;
            stage.insert(place(to), Staged { old: None, new: Some(new), mode, is_known_whole });
            Ok(format!("{} moved to {}, {changes}.", named(path), named(to)))
        }
    }
}

/// Where a new file goes. Two spellings of one place are one place, as far as its directories are there.
fn place(path: &str) -> PathBuf {
    let path = Path::new(path);
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else { return path.to_owned() };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    match fs::canonicalize(parent) {
        Ok(parent) => parent.join(name),
        Err(_) => path.components().collect(),
    }
}

fn is_free(path: &str, stage: &Stage) -> Result<(), FileAnswer> {
    let is_taken = match stage.get(&place(path)) {
        Some(staged) => staged.new.is_some(),
        None => fs::symlink_metadata(path).is_ok(),
    };
    if is_taken { Err(nothing(format!("{} is there already.", named(path)))) } else { Ok(()) }
}

/// The file as the parts before leave it.
fn take<'s>(path: &str, stage: &'s mut Stage, known: &Sights) -> Result<&'s mut Staged, FileAnswer> {
    let place = place(path);
    if stage.get(&place).is_some_and(|staged| staged.new.is_none()) {
        return Err(nothing(format!("{} is no longer there after an earlier part of the patch.", named(path))));
    }
    if !stage.contains_key(&place) {
        let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        if is_link {
            return Err(nothing(format!("{} is a link; name the file itself, or use shell_exec.", named(path))));
        }
        let Found { real, bytes } = find(path).map_err(|refusal| nothing(refusal.said))?;
        let mode = fs::metadata(&real).ok().map(|meta| meta.permissions());
        let is_known_whole = known.get(&key(&real)).is_some_and(Sight::is_whole);
        stage.insert(real, Staged { old: Some(bytes.clone()), new: Some(bytes), mode, is_known_whole });
    }
    stage.get_mut(&place).ok_or_else(|| nothing(format!("{} cannot be found again.", named(path))))
}

fn misplaced(path: &str, n: usize, why: &Misplaced, old: &[u8]) -> FileAnswer {
    let of = format!("Change {n} in {}", named(path));
    match why {
        Misplaced::NotBelow(_) => nothing(format!("{of}: the line after its `@@` is not there.")),
        Misplaced::Several { lines } => FileAnswer {
            shown: lines.iter().take(8).map(|line| excerpt(old, Some((*line, *line)))).collect(),
            ..nothing(format!(
                "{of} fits in {} places, at {}. Give more lines around it, or a line above it after `@@`.",
                lines.len(),
                super::at_lines(lines)
            ))
        },
        Misplaced::Absent { nearest: None } => {
            nothing(format!("{of}: its lines are nowhere, and nothing there is like them."))
        }
        Misplaced::Absent { nearest: Some(place) } => FileAnswer {
            shown: excerpt(old, Some(*place)),
            ..nothing(format!(
                "{of}: its lines are nowhere. Those without `+` must be what stands there, with all blanks before them. Lines \
                 {} to {} are most like them:",
                place.0, place.1
            ))
        },
    }
}

/// Writes before it deletes; what was done is taken back when something fails.
fn write_all(stage: &Stage) -> Result<(), FileAnswer> {
    let changed = || stage.iter().filter(|(_, staged)| staged.old != staged.new);
    let (written, deleted): (Vec<_>, Vec<_>) = changed().partition(|(_, staged)| staged.new.is_some());
    let mut did: Vec<(&PathBuf, &Staged)> = Vec::new();
    for (path, staged) in written.into_iter().chain(deleted) {
        let result = match &staged.new {
            None => fs::remove_file(path),
            Some(new) => put(path, staged.old.as_deref(), new).and_then(|()| match (&staged.old, &staged.mode) {
                (None, Some(mode)) => fs::set_permissions(path, mode.clone()),
                (None, None) | (Some(_), _) => Ok(()),
            }),
        };
        if let Err(e) = result {
            for (path, staged) in did.into_iter().rev().chain([(path, staged)]) {
                take_back(path, staged);
            }
            return Err(nothing(format!("{}: {}.", named(path), why(&e))));
        }
        did.push((path, staged));
    }
    Ok(())
}

/// As well as can be: the copy may be thrown away, the owner's files are elsewhere.
fn take_back(path: &Path, staged: &Staged) {
    let _ = match &staged.old {
        None => fs::remove_file(path),
        Some(old) => fs::write(path, old).and_then(|()| match &staged.mode {
            Some(mode) => fs::set_permissions(path, mode.clone()),
            None => Ok(()),
        }),
    };
}
