//! Exact replacement in a text: the one place that was meant, or every one, and the facts that help where it was neither.
//!
//! Everything beside the replaced places stays byte for byte, whatever the text is made of. Deliberately absent: guessing.
//! What nearly fits is shown and not changed.

/// Lines that are shown around the place that resembles most what was looked for.
const AROUND: usize = 2;
/// Comparisons of lines that a search for the nearest place may take.
const COMPARED_MAX: usize = 4_000_000;

/// A text in which something was replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replaced {
    pub text: Vec<u8>,
    /// The line in the new text at which each replacement begins, counted from 1.
    pub lines: Vec<u64>,
    /// The text ends its lines with CR LF, and what was put in does so too.
    pub is_crlf: bool,
}

/// Why nothing was replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotReplaced {
    /// It is nowhere. The place that resembles it most, as a range of lines counted from 1.
    Absent { nearest: Option<(u64, u64)> },
    /// The lines at which it stands, where one place was meant.
    Several { lines: Vec<u64> },
    /// What was to be put in is what stands there.
    Same,
}

/// Which places are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    TheOne,
    All,
}

/// Puts `new` where `old` stands. Where every line of the text ends with CR LF, line feeds are read and written as that.
pub fn replace(text: &[u8], old: &str, new: &str, places: Places) -> Result<Replaced, NotReplaced> {
    if old == new || old.is_empty() {
        return Err(NotReplaced::Same);
    }
    let is_crlf = has_crlf_only(text) && !old.contains('\r') && !new.contains('\r');
    let spelled = |words: &str| if is_crlf { words.replace('\n', "\r\n") } else { words.to_owned() };
    let (spelled_old, spelled_new) = (spelled(old), spelled(new));
    let found = positions(text, spelled_old.as_bytes());
    match (found.as_slice(), places) {
        ([], _) => Err(NotReplaced::Absent { nearest: nearest(text, old) }),
        ([_], _) | (_, Places::All) => {
            let mut made = Replaced { text: Vec::with_capacity(text.len()), lines: Vec::new(), is_crlf };
            let (mut from, mut line) = (0, 1);
            for at in found {
                let kept = &text[from..at];
                line += line_feeds(kept);
                made.text.extend_from_slice(kept);
                made.lines.push(line);
                made.text.extend_from_slice(spelled_new.as_bytes());
                line += line_feeds(spelled_new.as_bytes());
                from = at + spelled_old.len();
            }
            made.text.extend_from_slice(&text[from..]);
            Ok(made)
        }
        (several, Places::TheOne) => {
            Err(NotReplaced::Several { lines: several.iter().map(|at| 1 + line_feeds(&text[..*at])).collect() })
        }
    }
}

/// Whether there are lines, and each of them ends with CR LF.
pub fn has_crlf_only(text: &[u8]) -> bool {
    let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').peekable();
    ends.peek().is_some() && ends.all(|(at, _)| at > 0 && text[at - 1] == b'\r')
}

/// Where a text stands in another, without overlaps.
fn positions(text: &[u8], sought: &[u8]) -> Vec<usize> {
    let Some(first) = sought.first() else { return Vec::new() };
    let (mut found, mut at) = (Vec::new(), 0);
    while at + sought.len() <= text.len() {
        if text[at] == *first && text[at..].starts_with(sought) {
            found.push(at);
            at += sought.len();
        } else {
            at += 1;
        }
    }
    found
}

fn line_feeds(text: &[u8]) -> u64 {
    text.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

/// The lines of a text without their ends. A text that ends with a line feed has no line after it.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The place whose lines resemble most those that were looked for: as many as possible alike but for blanks at their edges,
/// then as many as possible that begin alike.
pub fn nearest(text: &[u8], sought: &str) -> Option<(u64, u64)> {
    let lines: Vec<&[u8]> = lines(text).into_iter().map(<[u8]>::trim_ascii).collect();
    let mut sought: Vec<&[u8]> = sought.lines().map(|line| line.trim().as_bytes()).collect();
    let n_lines = sought.len();
    if n_lines == 0 || lines.is_empty() {
        return None;
    }
    // Of a long passage its beginning says where it is.
    sought.truncate((COMPARED_MAX / lines.len()).max(1));
    let score = |at: usize| -> usize {
        let pairs = sought.iter().zip(&lines[at..]);
        pairs.filter(|(sought, _)| !sought.is_empty()).map(|(sought, line)| resemblance(sought, line)).sum()
    };
    let best = (0..lines.len()).map(|at| (score(at), std::cmp::Reverse(at))).max()?;
    let (score, std::cmp::Reverse(at)) = best;
    if score == 0 {
        return None;
    }
    let (from, to) = (at.saturating_sub(AROUND), (at + n_lines + AROUND).min(lines.len()));
    Some((from as u64 + 1, to as u64))
}

/// Alike counts more than any beginning.
fn resemblance(sought: &[u8], line: &[u8]) -> usize {
    if sought == line {
        return 1_000;
    }
    let common = sought.iter().zip(line).take_while(|(a, b)| a == b).count();
    let n = sought.len().max(line.len());
    // A bracket or a keyword in common is no resemblance.
    if common >= 4 && common * 3 >= n { common * 900 / n } else { 0 }
}

#[cfg(test)]
mod tests;
