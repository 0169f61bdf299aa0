//! Prose in the width of a screen: broken between words, with further lines under the words that they go on.
//!
//! The one function for whatever a command prints; somebody else's words have marks at their lines besides
//! (`terminal/quoted.rs`). A word that is wider than the screen stays whole, because it is an address or a path that is going
//! to be copied; a command between its marks stays whole if a line has room for it. What is broken within a quotation or a
//! command goes on with the mark of somebody else's words, so that no piece of it stands where Silas speaks. In a pipe nothing
//! is broken: nobody knows how wide its reader is.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// A screen that is narrower than this shows nothing well; then lines are as long as they are there.
const COLUMNS_MIN: usize = 20;
pub(crate) const TAB_COLUMNS: usize = 8;
/// Begins what would still be the same line on a wider screen, where the words are somebody else's.
pub(crate) const ON: &str = "┊ ";

/// How wide the screen behind this stream is: the narrower of what the terminal and COLUMNS say. Nothing where there is no
/// screen, or nobody knows.
pub(crate) fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    #[cfg(test)]
    if let Some(columns) = super::heard::columns() {
        return columns;
    }
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
    let mut within = Within::default();
    let mut rest = line;
    while !rest.is_empty() {
        let gap = rest.len() - rest.trim_start_matches(' ').len();
        let (spaces, words) = rest.split_at(gap);
        let (word, after) = words.split_at(within.end_of_word(words, columns - hang));
        if has_words && !word.is_empty() && column + gap + width(word) > columns {
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            column = hang;
            if within.is_somebodys() {
                out.push_str(ON);
                column += width(ON);
            }
        } else {
            out.push_str(spaces);
            column += gap;
        }
        out.push_str(word);
        column += width(word);
        within.read(word);
        has_words |= !word.is_empty();
        rest = after;
    }
    out
}

/// What a sentence is in the middle of. Neither a quotation nor a command has its own mark in it (`silas_core::hidden`).
#[derive(Default)]
struct Within {
    is_quotation: bool,
    is_command: bool,
}

impl Within {
    fn read(&mut self, word: &str) {
        for c in word.chars() {
            match c {
                '“' | '‘' if !self.is_command => self.is_quotation = true,
                '”' | '’' => self.is_quotation = false,
                '`' if !self.is_quotation => self.is_command = !self.is_command,
                _ => {}
            }
        }
    }

    fn is_somebodys(&self) -> bool {
        self.is_quotation || self.is_command
    }

    /// Up to the next space, or over a whole command that has room on a line.
    fn end_of_word(&self, words: &str, room: usize) -> usize {
        let space = |from: usize| words[from..].find(' ').map_or(words.len(), |at| from + at);
        let end = space(0);
        let is_begun = !self.is_somebodys() && words[..end].matches('`').count() % 2 == 1;
        let whole = is_begun.then(|| words[end..].find('`').map(|at| space(end + at + 1))).flatten();
        whole.filter(|whole| width(&words[..*whole]) <= room).unwrap_or(end)
    }
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
