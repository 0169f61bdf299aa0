//! Somebody's words in the terminal, on lines that can only be read as theirs: whatever follows the first line is indented
//! and marked, so that no text passes for a line of Silas's own. What is wider than the screen is broken here, for the same
//! reason: a terminal would go on at its left edge.
//!
//! In a pipe nothing is broken, because nobody knows how wide its reader is; the lines of a text are marked there as well.

use silas_core::hidden;
use std::io::IsTerminal;

/// Begins the next line of the same text.
const NEXT: &str = "│ ";
/// Begins what would still be the same line on a wider screen.
const ON: &str = "┊ ";
const MARK_COLUMNS: usize = 2;
/// A screen that is narrower than this shows nothing well; then lines are as long as they are there at least.
const ROOM_MIN: usize = 16;
const TAB_COLUMNS: usize = 8;

/// Prints a text after `lead`, which takes `columns`; its other lines stand under the first.
pub(crate) fn print(lead: &str, columns: usize, text: &str) {
    print_painted(lead, columns, text, str::to_owned);
}

pub(crate) fn print_painted(lead: &str, columns: usize, text: &str, paint: impl Fn(&str) -> String) {
    for (n, line) in lines(text, columns).iter().enumerate() {
        match n {
            0 => println!("{lead}{}", paint(line)),
            _ => println!("{:columns$}{}", "", paint(line)),
        }
    }
}

/// The text as lines for standard output, each but the first with a mark. Nothing in them is hidden.
pub(crate) fn lines(text: &str, columns: usize) -> Vec<String> {
    laid_out(text, columns, screen_columns())
}

/// The same with the first line marked too, for what begins at the left edge.
pub(crate) fn marked(text: &str) -> Vec<String> {
    let mut lines = laid_out(text, MARK_COLUMNS, screen_columns());
    if let Some(first) = lines.first_mut() {
        first.insert_str(0, NEXT);
    }
    lines
}

/// A text that comes bit by bit, every line of it marked.
pub(crate) struct Spoken {
    /// Where the next character would stand; at the left edge nothing has begun.
    column: usize,
    screen: Option<usize>,
}

impl Default for Spoken {
    fn default() -> Self {
        Spoken { column: 0, screen: screen_columns() }
    }
}

impl Spoken {
    /// What to write for more of it.
    pub(crate) fn more(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in hidden::strict(text).chars() {
            if self.column == 0 {
                out.push_str(NEXT);
                self.column = MARK_COLUMNS;
            }
            if c == '\n' {
                out.push(c);
                self.column = 0;
                continue;
            }
            let is_full = self.screen.is_some_and(|screen| self.column + width(c) > screen.max(ROOM_MIN));
            if is_full {
                out.push('\n');
                out.push_str(ON);
                self.column = MARK_COLUMNS;
            }
            out.push(c);
            self.column += width(c);
        }
        out
    }

    /// What to write where it ends.
    pub(crate) fn end(&mut self) -> &'static str {
        let is_within_line = std::mem::take(&mut self.column) > 0;
        if is_within_line { "\n" } else { "" }
    }
}

/// What is not ASCII is taken to be wide: too narrow is safe, too wide is not.
fn width(c: char) -> usize {
    match c {
        '\t' => TAB_COLUMNS,
        c if c.is_ascii() => 1,
        _ => 2,
    }
}

fn screen_columns() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn laid_out(text: &str, columns: usize, screen: Option<usize>) -> Vec<String> {
    let text = hidden::strict(text);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let room = screen.map(|screen| screen.saturating_sub(columns + MARK_COLUMNS).max(ROOM_MIN));
    let mut out = Vec::new();
    for (n, line) in text.split('\n').enumerate() {
        for (part, words) in broken(line, room).into_iter().enumerate() {
            out.push(match (n, part) {
                (0, 0) => words.to_owned(),
                (_, 0) => format!("{NEXT}{words}"),
                _ => format!("{ON}{words}"),
            });
        }
    }
    out
}

/// One line in parts that fit.
fn broken(line: &str, room: Option<usize>) -> Vec<&str> {
    let Some(room) = room else { return vec![line] };
    let (mut parts, mut start, mut taken) = (Vec::new(), 0, 0);
    for (at, c) in line.char_indices() {
        let width = width(c);
        if taken + width > room && at > start {
            parts.push(&line[start..at]);
            (start, taken) = (at, 0);
        }
        taken += width;
    }
    parts.push(&line[start..]);
    parts
}

#[cfg(test)]
mod tests;
