//! Somebody's words in the terminal, on lines that can only be read as theirs: whatever follows the first line is indented
//! and marked, so that no text passes for a line of Silas's own. What is wider than the screen is broken here, for the same
//! reason: a terminal would go on at its left edge. It is broken between words, and within one only if that is wider still.
//!
//! In a pipe nothing is broken, because nobody knows how wide its reader is; the lines of a text are marked there as well.

use crate::out::wrap::{self, ON, TAB_COLUMNS};
use silas_core::check::CheckResult;
use silas_core::hidden;

/// Begins the next line of the same text.
const NEXT: &str = "│ ";
const MARK_COLUMNS: usize = 2;
/// A screen that is narrower than this shows nothing well; then lines are as long as they are there at least.
const ROOM_MIN: usize = 16;

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

/// A check by its command, after what became of it: what Silas says comes first, and what follows is a command to its end.
/// Where that was not kept, it is the name that somebody gave it, as a quotation.
pub(crate) fn print_check(marks: &str, result: &CheckResult) {
    let lead = if result.run.is_empty() { format!("  {marks}  ") } else { format!("  {marks}  $ ") };
    print(&lead, wrap::width(&lead), &result.shown());
}

/// What a check printed, line by line, not more than so many.
pub(crate) fn print_output(output: &str, lines_max: usize, paint: impl Fn(&str) -> String) {
    // Not by its lines as a text has them: a carriage return would go with the line end.
    for line in output.split('\n').filter(|line| !line.is_empty()).take(lines_max) {
        print_painted("      | ", 8, line, &paint);
    }
}

/// A file at the beginning of a line: as it is where it can only be read as one, else as a quotation.
pub(crate) fn file(name: &str) -> String {
    if name.contains(['/', '.']) { hidden::named(name) } else { hidden::quotation(name) }
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
    /// Whether what was written last is part of a word, which may go on.
    is_in_word: bool,
    screen: Option<usize>,
}

impl Default for Spoken {
    fn default() -> Self {
        Spoken { column: 0, is_in_word: false, screen: screen_columns() }
    }
}

impl Spoken {
    /// What to write for more of it.
    pub(crate) fn more(&mut self, text: &str) -> String {
        let mut out = String::new();
        let chars: Vec<char> = hidden::strict(text).chars().collect();
        for (n, c) in chars.iter().copied().enumerate() {
            if self.column == 0 {
                out.push_str(NEXT);
                self.column = MARK_COLUMNS;
            }
            if c == '\n' {
                out.push(c);
                (self.column, self.is_in_word) = (0, false);
                continue;
            }
            let screen = self.screen.map(|screen| screen.max(ROOM_MIN));
            let is_end = |c: &char| matches!(c, ' ' | '\n');
            let word = chars[n..].iter().take_while(|c| !is_end(c)).map(|c| width(*c)).sum::<usize>();
            // A word that fits no line is not waited with.
            let begins = c != ' ' && !self.is_in_word && screen.is_some_and(|screen| word + MARK_COLUMNS <= screen);
            let wanted = if begins { word } else { width(c) };
            let is_full = screen.is_some_and(|screen| self.column + wanted > screen) && self.column > MARK_COLUMNS;
            self.is_in_word = c != ' ';
            if is_full {
                out.push('\n');
                out.push_str(ON);
                self.column = MARK_COLUMNS;
                if c == ' ' {
                    continue;
                }
            }
            out.push(c);
            self.column += width(c);
        }
        out
    }

    /// What to write where it ends.
    pub(crate) fn end(&mut self) -> &'static str {
        self.is_in_word = false;
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
    wrap::columns(&std::io::stdout())
}

/// Whether a text after a lead of so many columns has room beside it.
pub(crate) fn has_room_after(columns: usize) -> bool {
    screen_columns().is_none_or(|screen| screen >= columns + MARK_COLUMNS + ROOM_MIN)
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
    let columns = |text: &str| text.chars().map(width).sum::<usize>();
    let (mut parts, mut start, mut taken) = (Vec::new(), 0, 0);
    // Where the word begins that is being read.
    let mut word = 0;
    for (at, c) in line.char_indices() {
        if taken + width(c) > room && at > start {
            // One space is what the break stands for; further ones are somebody's.
            let (end, next) = match c {
                ' ' => (at, at + 1),
                _ if word > start => (word - 1, word),
                _ => (at, at),
            };
            parts.push(&line[start..end]);
            (start, taken) = (next, columns(&line[next..at.max(next)]));
            word = word.max(start);
            if c == ' ' {
                continue;
            }
        }
        taken += width(c);
        if c == ' ' {
            word = at + 1;
        }
    }
    if start < line.len() || parts.is_empty() {
        parts.push(&line[start..]);
    }
    parts
}

#[cfg(test)]
mod tests;
