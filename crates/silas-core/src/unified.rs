//! Changed files as one unified diff, in the spelling that `patch -p1` and `git apply` read.
//!
//! What is shown to people is not always all of a change: long files are cut, hidden characters made visible. A file whose
//! lines are not the whole change, letter by letter, is named in a comment and left out, so that what can be applied is
//! never half of something.

use crate::changeset::{DiffLine, FileDiff, FileMode, NO_LINE_END};
use std::fmt::Write as _;

/// A patch, and what is not in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unified {
    pub text: String,
    /// Files that cannot be given as a patch.
    pub left_out: Vec<String>,
}

/// Several directories are told apart by their paths from the root: such a patch is applied there.
pub fn unified(diffs: &[FileDiff]) -> Unified {
    let mut whole = Unified::default();
    for diff in diffs {
        let name = name(diff, &diff.path.to_string());
        match one(diff, &name) {
            Some(text) => whole.text.push_str(&text),
            None => {
                // A line that is no part of any file's diff; both programs pass over it.
                whole.text.push_str(&format!("# not in this patch, because it is not shown whole: {name}\n"));
                whole.left_out.push(name);
            }
        }
    }
    whole
}

fn name(diff: &FileDiff, path: &str) -> String {
    match diff.directory.trim_start_matches('/') {
        "" => path.to_owned(),
        directory => format!("{directory}/{path}"),
    }
}

fn one(diff: &FileDiff, new: &str) -> Option<String> {
    let lines = diff.lines.as_ref().filter(|_| diff.is_verbatim)?;
    let old = diff.renamed_from.as_ref().map_or_else(|| new.to_owned(), |from| name(diff, &from.to_string()));
    // Names that would have to be quoted differ from program to program.
    if [new, old.as_str()].iter().any(|name| name.contains(['\\', '"', '\t', '\n'])) {
        return None;
    }
    let mut text = format!("diff --git a/{old} b/{new}\n");
    match (diff.mode_before, diff.mode_after) {
        (None, None) => return None,
        (None, Some(after)) => writeln!(text, "new file mode {}", mode(after)?).ok()?,
        (Some(before), None) => writeln!(text, "deleted file mode {}", mode(before)?).ok()?,
        (Some(before), Some(after)) => {
            let (before, after) = (mode(before)?, mode(after)?);
            if before != after {
                write!(text, "old mode {before}\nnew mode {after}\n").ok()?;
            }
        }
    }
    if old != new {
        write!(text, "rename from {old}\nrename to {new}\n").ok()?;
    }
    if diff.added + diff.removed == 0 {
        return Some(text);
    }
    let side = |mode: Option<FileMode>, side: &str, name: &str| match mode {
        Some(_) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    writeln!(text, "--- {}", side(diff.mode_before, "a", &old)).ok()?;
    writeln!(text, "+++ {}", side(diff.mode_after, "b", new)).ok()?;
    text.push_str(&hunks(lines));
    Some(text)
}

/// Only whether it may be executed; nothing else of the permissions travels in a patch.
fn mode(mode: FileMode) -> Option<&'static str> {
    match mode {
        FileMode::File(bits) if bits & 0o111 != 0 => Some("100755"),
        FileMode::File(_) => Some("100644"),
        FileMode::Link => None,
    }
}

/// Runs of lines between the gaps, each with where it begins and how long it is on both sides.
fn hunks(lines: &[DiffLine]) -> String {
    let mut text = String::new();
    let (mut old, mut new) = (0u32, 0u32);
    for run in lines.split_inclusive(|line| matches!(line, DiffLine::Gap(_))) {
        let (run, gap) = match run {
            [run @ .., DiffLine::Gap(n)] => (run, *n),
            run => (run, 0),
        };
        let n_old = run.iter().filter(|line| !matches!(line, DiffLine::Added(_))).count() as u32;
        let n_new = run.iter().filter(|line| !matches!(line, DiffLine::Removed(_))).count() as u32;
        if !run.is_empty() {
            // A side without lines is named by the line before it.
            let start = |at: u32, n: u32| if n == 0 { at } else { at + 1 };
            text.push_str(&format!("@@ -{},{n_old} +{},{n_new} @@\n", start(old, n_old), start(new, n_new)));
            run.iter().for_each(|line| push_line(&mut text, line));
        }
        (old, new) = (old + n_old + gap, new + n_new + gap);
    }
    text
}

fn push_line(text: &mut String, line: &DiffLine) {
    let (sign, line) = match line {
        DiffLine::Same(line) => (' ', line),
        DiffLine::Added(line) => ('+', line),
        DiffLine::Removed(line) => ('-', line),
        // A file of which something is not shown has no hunks at all.
        DiffLine::Gap(_) | DiffLine::NotShown(_) => return,
    };
    text.push(sign);
    match line.strip_suffix(NO_LINE_END) {
        Some(line) => text.push_str(&format!("{line}\n\\ No newline at end of file\n")),
        None => text.push_str(&format!("{line}\n")),
    }
}

#[cfg(test)]
mod tests;
