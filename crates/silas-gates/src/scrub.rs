//! Makes deceptive characters visible: terminal escapes, control characters, and those that reorder or hide text.
//!
//! Nothing is removed. What was there is shown as its code point, so that a person can see that something was there.
//! Which characters these are is one list for all (`silas-core/src/hidden.rs`).

use silas_core::hidden;

/// Longest text that is shown anywhere, in characters; the rest is announced, not shown.
pub const SHOWN_CHARS_MAX: usize = 20_000;

/// The text as it may be shown. Line feeds and tabs stay; a carriage return is shown like every other character that could
/// end a line unseen, because what is run is run with it.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (n, c) in text.chars().enumerate() {
        if n == SHOWN_CHARS_MAX {
            out.push_str("\n… the rest is not shown");
            break;
        }
        if hidden::is_hidden(c) && !hidden::is_needed(c, before) {
            out.push_str(&hidden::by_number(c));
            before = ' ';
        } else {
            out.push(c);
            before = c;
        }
    }
    out
}

/// One line of it, for places that have one line.
pub fn visible_line(text: &str, chars_max: usize) -> String {
    let line = visible(text).replace(['\n', '\t'], " ");
    let line = line.trim();
    if line.chars().count() <= chars_max {
        return line.to_owned();
    }
    let kept: String = line.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests;
