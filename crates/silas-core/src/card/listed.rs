//! What a card is called in a list. Results of one directory have the same intent, so there the files are named, or the one
//! command; within the length that an intent has.
//!
//! Computed from the face, so that every door can do it; the page does the same (`web/lib/listed.js`). Deliberately absent
//! from the face itself: there both stand in facts and details already, and an intent of two lines would drive them out.

use super::{CardKind, Face, INTENT_CHARS_MAX};
use crate::hidden;

/// The title under which a result lists the commands of its plan.
pub const WHAT_WAS_RUN: &str = "What was run";
/// Less of a command than this tells nothing.
const COMMAND_CHARS_MIN: usize = 12;

impl Face {
    /// The intent, and what tells this result from others.
    pub fn listed(&self) -> String {
        let lead = match self.kind {
            CardKind::Done => " by ",
            CardKind::Rehearsed => ", made by ",
            CardKind::Report => ": ",
            _ => return self.intent.clone(),
        };
        let room = INTENT_CHARS_MAX.saturating_sub(self.intent.chars().count());
        if let Some(files) = self.files().and_then(|files| fitting(&files, room.saturating_sub(2))) {
            return format!("{}: {files}", self.intent);
        }
        // Two quotation marks: the command may be a model's.
        let room = room.saturating_sub(lead.chars().count() + 2);
        let commands = self.details.iter().find(|detail| detail.title == WHAT_WAS_RUN);
        match commands.map(|detail| detail.lines.as_slice()) {
            Some([only]) if room >= COMMAND_CHARS_MIN => {
                let one_line = only.split_whitespace().collect::<Vec<_>>().join(" ");
                format!("{}{lead}‘{}’", self.intent, shortened(&hidden::name(&one_line), room))
            }
            _ => self.intent.clone(),
        }
    }

    /// The changed files by their paths; none where nothing changes, or a path does not say which file it is.
    fn files(&self) -> Option<Vec<String>> {
        let is_plain = self.diffs.iter().all(|diff| diff.renamed_from.is_none() && diff.directory.is_empty());
        let changes = self.kind != CardKind::Report && !self.diffs.is_empty() && is_plain;
        changes.then(|| self.diffs.iter().map(|diff| hidden::name(&diff.path.to_string())).collect())
    }
}

fn fitting(files: &[String], chars_max: usize) -> Option<String> {
    match files {
        // What comes before the last part is left out only where the rest can be read as nothing but a name.
        [only] if hidden::named(only) == *only => fitting_path(only, chars_max),
        all => {
            let named: Vec<String> = all.iter().map(|file| hidden::named(file)).collect();
            Some(named.join(", ")).filter(|names| names.chars().count() <= chars_max)
        }
    }
}

/// A path that says what is meant: all of it, or its last part whole behind a sign that more comes before. The last part is
/// never cut, because what is cut could be another's; one that does not fit is nothing.
pub fn fitting_path(path: &str, chars_max: usize) -> Option<String> {
    let fits = |text: &String| text.chars().count() <= chars_max;
    let last = || path.rsplit_once('/').map(|(_, last)| format!("…/{last}")).filter(|last| last.len() > "…/".len());
    Some(path.to_owned()).filter(fits).or_else(|| last().filter(fits))
}

/// The text as it is, or without its middle.
pub fn shortened(text: &str, chars_max: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= chars_max {
        return text.to_owned();
    }
    let (head, tail) = (chars_max / 2, chars_max - chars_max / 2 - 1);
    let (head, tail): (String, String) = (chars[..head].iter().collect(), chars[chars.len() - tail..].iter().collect());
    format!("{}…{}", head.trim_end(), tail.trim_start())
}

#[cfg(test)]
mod tests;
