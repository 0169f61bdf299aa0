//! An error with its causes, as sentences: no chain of colons, nothing twice, no numbers of the system, its code last.

use super::Unreadable;
use std::error::Error;
use std::io;

/// From what it means down to why.
pub(crate) fn sentences(cause: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for part in cause.chain() {
        let text = without_number(&part.to_string());
        let text = text.trim();
        // Some errors name their cause in their own sentence.
        let is_said = said.iter().any(|before| before.contains(text.trim_end_matches('.')));
        if !text.is_empty() && !is_said {
            // A name stays as it is.
            let is_name_first = part.is::<Unreadable>();
            said.push(if is_name_first { text.to_owned() } else { sentence(text) });
        }
    }
    said.join(" ")
}

/// Why something of the system failed, without its number.
pub(crate) fn in_words(cause: &(dyn Error + 'static)) -> String {
    let io = cause.downcast_ref::<io::Error>();
    match io.map(io::Error::kind) {
        Some(io::ErrorKind::StorageFull) => "the disk is full".to_owned(),
        Some(io::ErrorKind::NotFound) => "there is no such file or directory".to_owned(),
        Some(io::ErrorKind::PermissionDenied) => "this account may not".to_owned(),
        Some(io::ErrorKind::IsADirectory) => "it is a directory".to_owned(),
        _ => without_number(&cause.to_string()),
    }
}

/// The words, and the code that stands at their end in parentheses.
pub(super) fn apart(text: &str) -> (&str, Option<&str>) {
    let ends = text.trim_end().strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match ends {
        Some((words, code)) if is_code(code) && !words.contains('\n') => (words, Some(code)),
        _ => (text, None),
    }
}

pub(super) fn is_code(text: &str) -> bool {
    text.starts_with("E_") && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

fn without_number(text: &str) -> String {
    match text.split_once(" (os error ") {
        Some((before, after)) => {
            let rest = after.split_once(')').map_or("", |(_, rest)| rest);
            format!("{before}{rest}")
        }
        None => text.to_owned(),
    }
}

/// Begins large and ends with a mark. Names and quotations stay as they are.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let begin = match chars.next() {
        Some(first) if first.is_ascii_lowercase() && text.split(' ').next().is_some_and(is_word) => {
            first.to_ascii_uppercase().to_string()
        }
        Some(first) => first.to_string(),
        None => String::new(),
    };
    let is_ended = text.ends_with(['.', '!', '?', ')', ':', '\n']);
    format!("{begin}{}{}", chars.as_str(), if is_ended { "" } else { "." })
}

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphabetic() || c == ',')
}

#[cfg(test)]
mod tests;
