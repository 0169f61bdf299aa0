//! Prose in the width of a screen: broken between words, with further lines under the words that they go on.
//!
//! The one function for whatever a command prints; somebody else's words have marks at their lines besides
//! (`terminal/quoted.rs`). A word that is wider than the screen stays whole, because it is an address or a path that is going
//! to be copied. In a pipe nothing is broken: nobody knows how wide its reader is.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// A screen that is narrower than this shows nothing well; then lines are as long as they are there.
const COLUMNS_MIN: usize = 20;
pub(crate) const TAB_COLUMNS: usize = 8;

/// How wide the screen behind this stream is: the narrower of what the terminal and COLUMNS say. Nothing where there is no
/// screen, or nobody knows.
pub(crate) fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let terminal = rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    [terminal, told].into_iter().flatten().filter(|columns| *columns > 0).min()
}

/// The text with line ends where the screen ends.
pub(crate) fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns.map(|columns| columns.max(COLUMNS_MIN)) else { return text.to_owned() };
    let lines: Vec<String> = text.split('\n').map(|line| wrapped_line(line, columns)).collect();
    lines.join("\n")
}

fn wrapped_line(line: &str, columns: usize) -> String {
    // What moves the cursor is no prose.
    if width(line) <= columns || line.contains('\r') {
        return line.to_owned();
    }
    let hang = hang(line, columns);
    let (mut out, mut column, mut has_words) = (String::new(), 0, false);
    let mut rest = line;
    while !rest.is_empty() {
        let gap = rest.len() - rest.trim_start_matches(' ').len();
        let (spaces, words) = rest.split_at(gap);
        let (word, after) = words.split_at(words.find(' ').unwrap_or(words.len()));
        if has_words && !word.is_empty() && column + gap + width(word) > columns {
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            column = hang;
        } else {
            out.push_str(spaces);
            column += gap;
        }
        out.push_str(word);
        column += width(word);
        has_words |= !word.is_empty();
        rest = after;
    }
    out
}

/// Where the lines after the first begin: under the second column of a row that has one, under the words of a list's item,
/// else where the line began. Never so far right that little room is left.
fn hang(line: &str, columns: usize) -> usize {
    let plain: Vec<char> = without_paint(line).collect();
    let indent = plain.iter().take_while(|c| **c == ' ').count();
    let words = &plain[indent..];
    let has_columns = words.windows(2).position(|pair| pair == [' ', ' ']);
    let under = match (has_columns, words) {
        (Some(gap), _) => {
            let spaces = words[gap..].iter().take_while(|c| **c == ' ').count();
            let under: usize = words[..gap + spaces].iter().map(|c| char_width(*c)).sum();
            if indent + under <= columns / 2 { under } else { 2 }
        }
        (None, ['•' | '-', ' ', ..]) => 2,
        (None, _) => 0,
    };
    (indent + under).min(columns / 2)
}

/// What stands on the screen of it.
pub(crate) fn width(text: &str) -> usize {
    without_paint(text).map(char_width).sum()
}

/// What our own sentences have in them is narrow; anything else that is not ASCII may be wide.
fn char_width(c: char) -> usize {
    match c {
        '\t' => TAB_COLUMNS,
        '·' | '“' | '”' | '‘' | '’' | '…' | '→' | '•' | '−' | '✓' | '✗' | '│' | '┊' => 1,
        c if c.is_ascii() => 1,
        _ => 2,
    }
}

/// Without the sequences that paint.
fn without_paint(text: &str) -> impl Iterator<Item = char> {
    let mut is_painting = false;
    text.chars().filter(move |c| {
        let is_begun = *c == '\x1b';
        let is_hidden = is_painting || is_begun;
        is_painting = is_begun || (is_painting && !c.is_ascii_alphabetic());
        !is_hidden
    })
}

#[cfg(test)]
mod tests;
