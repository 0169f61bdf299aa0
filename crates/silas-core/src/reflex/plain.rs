//! Words without backticks, where the meaning is clear: what the second version of the grammar understands and the first did
//! not. "run make test in ~/x", "reaching localhost:8080", "done with buy milk".
//!
//! Clear means: a command begins with a word that names a program, and holds no word that begins another part; a directory
//! looks like a path; a host has its port; nothing is left over. What is less clear is left to a model, or to its owner.

use super::near::{Cut, Part, parts};
use super::{Decision, bare, one_line, quoted, word};

/// What is longer was not typed as it is meant.
const CHARS_MAX: usize = 1_000;
const TITLE_CHARS_MAX: usize = 200;

/// With these begins what somebody tells a person, not a program.
const NO_PROGRAMS: [&str; 30] = [
    "a",
    "all",
    "an",
    "another",
    "any",
    "both",
    "each",
    "every",
    "everything",
    "for",
    "his",
    "how",
    "if",
    "it",
    "its",
    "me",
    "my",
    "no",
    "our",
    "some",
    "something",
    "that",
    "the",
    "their",
    "them",
    "these",
    "this",
    "those",
    "what",
    "your",
];

pub(super) fn read(text: &str) -> Option<Decision> {
    if text.chars().count() > CHARS_MAX || text.ends_with('?') {
        return None;
    }
    run(text).or_else(|| tasks(text))
}

fn run(text: &str) -> Option<Decision> {
    let rest = word(text, &["run", "please run"])?;
    if !rest.starts_with(|c: char| c.is_whitespace() || c == '`') {
        return None;
    }
    let cuts = parts(rest);
    let (command, more) = cuts.split_first()?;
    let is_quoted = command.words.starts_with('`');
    let run = program(command.words, false)?;
    let (mut directories, mut reads, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut commits, mut check) = (false, None);
    let mut last = Part::Command;
    for (n, Cut { part, opener, words }) in more.iter().enumerate() {
        // Each of them once and in order, and a list may go on with "and in".
        let goes_on = *part == Part::Places && last == Part::Places && opener.to_lowercase().starts_with("and");
        if !goes_on && rank(*part) <= rank(last) {
            return None;
        }
        let is_end = n + 1 == more.len();
        match part {
            Part::Command => return None,
            Part::Places => directories.extend(list(words, is_end, &|token| place(token, is_quoted))?),
            Part::Reads => reads = list(words, is_end, &|token| place(token, is_quoted))?,
            Part::Commits if words.is_empty() => commits = true,
            Part::Commits => return None,
            Part::Hosts => hosts = list(words, is_end, &host)?,
            Part::Check { openly } if opener.to_lowercase().ends_with("with") => {
                check = Some((program(words, true)?, !openly));
            }
            Part::Check { .. } => return None,
        }
        last = *part;
    }
    match check {
        Some((check, protected)) => {
            Some(Decision::RunAndCheck { run, directories, reads, commits, hosts, check, protected })
        }
        None if commits || directories.is_empty() => None,
        None => Some(Decision::Run { run, directories, reads, hosts }),
    }
}

fn rank(part: Part) -> u8 {
    match part {
        Part::Command => 0,
        Part::Places => 1,
        Part::Reads => 2,
        Part::Commits => 3,
        Part::Hosts => 4,
        Part::Check { .. } => 5,
    }
}

/// A command: in backticks, or as it stands if it begins with the name of a program.
fn program(words: &str, is_end: bool) -> Option<String> {
    if words.starts_with('`') {
        let (text, rest) = quoted(words)?;
        return is_nothing(rest, is_end).then_some(text);
    }
    let text = if is_end { without_stop(words) } else { words };
    let first = text.split_whitespace().next()?;
    let is_name = first.chars().all(|c| c.is_ascii_alphanumeric() || "_./+-=~".contains(c));
    let is_told = NO_PROGRAMS.contains(&first.to_lowercase().as_str());
    let is_plain = !text.contains(['`', '“', '”', '‘', '’', '«', '»']) && !text.chars().any(char::is_control);
    (is_name && !is_told && is_plain && !first.starts_with('-')).then(|| text.to_owned())
}

/// What follows a text in backticks: nothing, or the end of the sentence.
fn is_nothing(rest: &str, is_end: bool) -> bool {
    let rest = rest.trim();
    rest.is_empty() || is_end && rest.trim_end_matches(['.', '!']).is_empty()
}

/// Names with commas or "and" between them, each in backticks or one word that `is_one`.
fn list(words: &str, is_end: bool, is_one: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = if is_end && !words.ends_with('`') { without_stop(words) } else { words };
    loop {
        let name = match quoted(rest) {
            Some((name, after)) => {
                rest = after;
                name
            }
            None => {
                let start = rest.trim_start();
                let end = start.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(start.len());
                let (token, after) = start.split_at(end);
                if token.contains('`') || !is_one(token) {
                    return None;
                }
                rest = after;
                token.to_owned()
            }
        };
        names.push(name);
        if is_nothing(rest, is_end) {
            return Some(names);
        }
        rest = word(rest, &["and in", "and"]).or_else(|| rest.trim_start().strip_prefix(','))?;
    }
}

/// Beside a command in backticks any word is the name of a directory; elsewhere it looks like a path.
fn place(token: &str, is_quoted: bool) -> bool {
    let is_name = || !token.is_empty() && token.chars().all(|c| c.is_alphanumeric() || "_./+-".contains(c));
    bare(token).is_some_and(|(path, rest)| path == token && rest.is_empty()) || is_quoted && is_name()
}

/// "localhost:8080".
fn host(token: &str) -> bool {
    let Some((name, port)) = token.rsplit_once(':') else { return false };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-[]:*".contains(c));
    is_name && !port.is_empty() && port.chars().all(|c| c.is_ascii_digit())
}

/// Without what ends a sentence; a dot that stands alone, or after another or a slash, is a path.
fn without_stop(text: &str) -> &str {
    let text = text.trim_end_matches('!');
    match text.strip_suffix('.') {
        Some(before) if before.ends_with(|c: char| c.is_alphanumeric() || "_)\"'".contains(c)) => before,
        _ => text,
    }
}

fn tasks(text: &str) -> Option<Decision> {
    let text = text.trim_end_matches(['.', '!']);
    let is_title = |title: &str| title.chars().count() <= TITLE_CHARS_MAX && !title.contains('`');
    let task = |words: &[&str]| {
        let rest = word(text, words)?;
        let is_apart = rest.starts_with(|c: char| c.is_whitespace() || c == ':');
        one_line(rest.trim_start_matches(':').trim()).filter(|title| is_apart && is_title(title))
    };
    task(&["done with", "i am done with", "i'm done with"])
        .map(|task| Decision::CompleteTask { task })
        .or_else(|| task(&["reopen"]).map(|task| Decision::ReopenTask { task }))
}

#[cfg(test)]
mod tests;
