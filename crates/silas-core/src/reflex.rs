//! The brain that needs no model: a pure decision from the owner's words.
//!
//! It understands few sentences and is sure of them. Whatever else is said is [`Decision::NotUnderstood`]; guessing is
//! left to a model, which then only proposes.

/// What a sentence asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// "run `C` [in `DIR`] and check with `K`"
    RunAndCheck {
        run: String,
        directory: Option<String>,
        check: String,
    },
    /// "what did you do?"
    WhatHappened,
    NotUnderstood,
}

/// The sentences that are understood, in the words that are shown to people.
pub const UNDERSTOOD: [&str; 2] = ["run `COMMAND` in `DIRECTORY` and check with `COMMAND`", "what did you do?"];

pub fn decide(text: &str) -> Decision {
    let text = text.trim();
    if let Some(decision) = run_and_check(text) {
        return decision;
    }
    let plain: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    match words.as_slice() {
        ["what", "did" | "have", "you", "do" | "done", ..] | ["what", "happened", ..] | ["activity"] => {
            Decision::WhatHappened
        }
        _ => Decision::NotUnderstood,
    }
}

fn run_and_check(text: &str) -> Option<Decision> {
    let (run, rest) = quoted(word(text, &["run", "please run"])?)?;
    let (directory, rest) = match word(rest, &["in", "inside"]) {
        Some(rest) => {
            let (directory, rest) = quoted(rest).or_else(|| bare(rest))?;
            (Some(directory), rest)
        }
        None => (None, rest),
    };
    let rest = word(rest, &["and check with", "then check with", "and check it with", "check with"])?;
    let (check, rest) = quoted(rest)?;
    let ends = rest.trim().trim_end_matches(['.', '!']).is_empty();
    ends.then_some(Decision::RunAndCheck { run, directory, check })
}

/// Strips one of `words` from the start, ignoring case, a leading comma and the width of white space.
fn word<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    let text = text.trim_start().trim_start_matches(',').trim_start();
    words.iter().find_map(|phrase| {
        let mut rest = text;
        for part in phrase.split(' ') {
            rest = rest.trim_start();
            let head = rest.get(..part.len())?;
            if !head.eq_ignore_ascii_case(part) {
                return None;
            }
            rest = &rest[part.len()..];
            if rest.chars().next().is_some_and(char::is_alphanumeric) {
                return None;
            }
        }
        Some(rest)
    })
}

/// A text in backticks, which may hold anything but backticks; two or more open a text that holds single ones.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let ticks = text.bytes().take_while(|b| *b == b'`').count();
    if ticks == 0 {
        return None;
    }
    let fence = &text[..ticks];
    let inner = &text[ticks..];
    let end = inner.find(fence)?;
    let quoted = inner[..end].trim();
    (!quoted.is_empty()).then(|| (quoted.to_owned(), &inner[end + ticks..]))
}

/// A directory written without backticks: one word that looks like a path.
fn bare(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let path = text[..end].trim_end_matches(',');
    (path.starts_with(['/', '~', '.'])).then(|| (path.to_owned(), &text[end..]))
}

#[cfg(test)]
mod tests;
