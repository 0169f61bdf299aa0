//! A patch of several files, found by the lines around a change and not by their numbers, in the form that models know:
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/clock.py
//! @@ def stamp(seconds):
//!      zone = None
//! -    return seconds
//! +    return seconds + 1
//! *** Add File: notes.md
//! +A line.
//! *** Delete File: old.py
//! *** End Patch
//! ```
//!
//! Reading and applying are pure. A hunk goes where its lines stand, and nowhere if they stand in no place or in several;
//! whoever applies a patch writes all of its files or none.

use crate::replacing::{has_crlf_only, lines, nearest};
use serde::{Deserialize, Serialize};

/// Files that one patch may touch.
pub const FILES_MAX: usize = 100;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FilePatch {
    Add { path: String, text: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, hunks: Vec<Hunk> },
}

impl FilePatch {
    /// Every path that it names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, to) = match self {
            FilePatch::Add { path, .. } | FilePatch::Delete { path } => (path, None),
            FilePatch::Update { path, to, .. } => (path, to.as_deref()),
        };
        std::iter::once(path.as_str()).chain(to)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Hunk {
    /// A line above the change, after `@@`.
    pub below: Option<String>,
    pub lines: Vec<Line>,
    /// Its lines are the last of the file.
    pub is_at_end: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Line {
    Same(String),
    Removed(String),
    Added(String),
}

/// Why a hunk goes nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misplaced {
    /// The line after `@@` is not there.
    NotBelow(String),
    /// Its lines stand nowhere. Where they nearly do, as a range of lines counted from 1.
    Absent { nearest: Option<(u64, u64)> },
    /// They stand in several places, which begin at these lines.
    Several { lines: Vec<u64> },
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// Reads a patch; otherwise what is wrong with it, with the number of the line.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, String> {
    let mut rest = text.trim().lines().enumerate().map(|(n, line)| (n + 1, line)).peekable();
    match rest.next() {
        Some((_, line)) if line.trim_end() == BEGIN => {}
        _ => return Err(format!("it must begin with the line `{BEGIN}`")),
    }
    let mut files = Vec::new();
    loop {
        let Some((n, line)) = rest.next() else { return Err(format!("it must end with the line `{END}`")) };
        if line.trim_end() == END {
            break;
        }
        if let Some(path) = line.strip_prefix(ADD) {
            let mut text = String::new();
            while let Some((_, line)) = rest.next_if(|(_, line)| line.starts_with('+')) {
                text.push_str(&line[1..]);
                text.push('\n');
            }
            files.push(FilePatch::Add { path: named(path, n)?, text });
        } else if let Some(path) = line.strip_prefix(DELETE) {
            files.push(FilePatch::Delete { path: named(path, n)? });
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            let path = named(path, n)?;
            let moved = rest.next_if(|(_, line)| line.starts_with(MOVE));
            let to = moved.map(|(n, line)| named(&line[MOVE.len()..], n)).transpose()?;
            let mut hunks: Vec<Hunk> = Vec::new();
            while let Some((n, line)) = rest.next_if(|(_, line)| !line.starts_with("*** ") || *line == END_OF_FILE) {
                read_line(line, &mut hunks).map_err(|why| format!("line {n} of the patch {why}"))?;
            }
            hunks.retain(|hunk| !hunk.lines.is_empty());
            if hunks.is_empty() && to.is_none() {
                return Err(format!("line {n} of the patch names a file and nothing to change in it"));
            }
            files.push(FilePatch::Update { path, to, hunks });
        } else if !line.trim().is_empty() {
            return Err(format!(
                "line {n} of the patch is none of `{}`, `{}`, `{}`, `{END}`",
                UPDATE.trim_end(),
                ADD.trim_end(),
                DELETE.trim_end()
            ));
        }
    }
    match files.len() {
        0 => Err("it names no file".to_owned()),
        n if n > FILES_MAX => Err(format!("it names more than {FILES_MAX} files")),
        _ => Ok(files),
    }
}

fn named(path: &str, n: usize) -> Result<String, String> {
    match path.trim() {
        "" => Err(format!("line {n} of the patch names no file")),
        path => Ok(path.to_owned()),
    }
}

fn read_line(line: &str, hunks: &mut Vec<Hunk>) -> Result<(), String> {
    if let Some(below) = line.strip_prefix("@@") {
        // Numbers of lines, as in a unified diff, say nothing that the lines do not say.
        let is_numbers = below.trim_start().starts_with('-') && below.contains("@@");
        let below = if is_numbers { below.rsplit("@@").next().unwrap_or_default() } else { below }.trim();
        hunks.push(Hunk { below: (!below.is_empty()).then(|| below.to_owned()), ..Hunk::default() });
        return Ok(());
    }
    if hunks.is_empty() {
        hunks.push(Hunk::default());
    }
    let Some(hunk) = hunks.last_mut() else { return Ok(()) };
    if line == END_OF_FILE {
        hunk.is_at_end = true;
        return Ok(());
    }
    // A line that is empty altogether is an empty line of the file.
    let (kind, text) = line.split_at_checked(1).unwrap_or((" ", ""));
    hunk.lines.push(match kind {
        " " => Line::Same(text.to_owned()),
        "-" => Line::Removed(text.to_owned()),
        "+" => Line::Added(text.to_owned()),
        _ => return Err("begins with none of ` `, `-`, `+`, `@@`".to_owned()),
    });
    Ok(())
}

/// A text with all hunks in it; otherwise the first hunk that goes nowhere, counted from 1. Lines that stay are left as they
/// are in the file, also where the patch spells their ends or the blanks before those otherwise.
pub fn apply(hunks: &[Hunk], text: &[u8]) -> Result<Vec<u8>, (usize, Misplaced)> {
    let is_crlf = has_crlf_only(text);
    let file = lines(text);
    // Which lines go, and what is put before each.
    let mut made: Vec<u8> = Vec::with_capacity(text.len());
    let mut at = 0;
    let ends_open = !text.is_empty() && !text.ends_with(b"\n");
    let keep = |made: &mut Vec<u8>, n: usize| {
        made.extend_from_slice(file[n]);
        if n + 1 < file.len() || !ends_open {
            made.push(b'\n');
        }
    };
    for (n, hunk) in hunks.iter().enumerate() {
        let place = place_of(hunk, &file, at).map_err(|why| (n + 1, why))?;
        (at..place).for_each(|n| keep(&mut made, n));
        at = place;
        for line in &hunk.lines {
            match line {
                Line::Same(_) => {
                    keep(&mut made, at);
                    at += 1;
                }
                Line::Removed(_) => at += 1,
                Line::Added(new) => {
                    if !made.is_empty() && !made.ends_with(b"\n") {
                        made.push(b'\n');
                    }
                    made.extend_from_slice(new.as_bytes());
                    if is_crlf && !new.ends_with('\r') {
                        made.push(b'\r');
                    }
                    made.push(b'\n');
                }
            }
        }
    }
    (at..file.len()).for_each(|n| keep(&mut made, n));
    Ok(made)
}

/// The line, counted from 0, at which a hunk begins: its only place, or the first one below the line that it names.
fn place_of(hunk: &Hunk, file: &[&[u8]], from: usize) -> Result<usize, Misplaced> {
    let from = match &hunk.below {
        None => from,
        Some(below) => {
            let is_it = |line: &&[u8]| line.trim_ascii() == below.trim().as_bytes();
            let begins = |line: &&[u8]| line.trim_ascii_start().starts_with(below.trim().as_bytes());
            let rest = &file[from..];
            let found = rest.iter().position(is_it).or_else(|| rest.iter().position(begins));
            // The line itself may be the first of those that are shown.
            from + found.ok_or_else(|| Misplaced::NotBelow(below.clone()))?
        }
    };
    let old: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Same(text) | Line::Removed(text) => Some(text.as_str()),
            Line::Added(_) => None,
        })
        .collect();
    if old.is_empty() {
        // Something new, right below the line that is named, or at the end of the file.
        return Ok(if hunk.below.is_some() { from + 1 } else { file.len() });
    }
    let last = file.len().checked_sub(old.len()).filter(|last| *last >= from);
    let starts: Vec<usize> = match (last, hunk.is_at_end) {
        (None, _) => Vec::new(),
        (Some(last), true) => vec![last],
        (Some(last), false) => (from..=last).collect(),
    };
    for is_alike in [same, same_but_for_the_end] {
        let fits = |at: &usize| old.iter().zip(&file[*at..]).all(|(old, line)| is_alike(old.as_bytes(), line));
        let found: Vec<usize> = starts.iter().copied().filter(fits).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok(*only),
            [first, ..] if hunk.below.is_some() => return Ok(*first),
            several => return Err(Misplaced::Several { lines: several.iter().map(|at| *at as u64 + 1).collect() }),
        }
    }
    let text = file.join(&b'\n');
    Err(Misplaced::Absent { nearest: nearest(&text, &old.join("\n")) })
}

/// Alike as a model can see it: the CR before a line feed is part of the line's end.
fn same(old: &[u8], line: &[u8]) -> bool {
    let bare = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).len();
    old[..bare(old)] == line[..bare(line)]
}

fn same_but_for_the_end(old: &[u8], line: &[u8]) -> bool {
    old.trim_ascii_end() == line.trim_ascii_end()
}

#[cfg(test)]
mod tests;
