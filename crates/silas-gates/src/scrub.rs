//! Makes deceptive characters visible: terminal escapes, control characters, and those that reorder or hide text.
//!
//! Nothing is removed. What was there is shown as its code point, so that a person can see that something was there.

/// Longest text that is shown anywhere, in characters; the rest is announced, not shown.
pub const SHOWN_CHARS_MAX: usize = 20_000;

/// The text as it may be shown. Line breaks and tabs stay.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (n, c) in text.chars().enumerate() {
        if n == SHOWN_CHARS_MAX {
            out.push_str("\n… the rest is not shown");
            break;
        }
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            JOINER | NON_JOINER if joins(before) => out.push(c),
            c if is_deceptive(c) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c => out.push(c),
        }
        before = c;
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

const NON_JOINER: char = '\u{200C}';
const JOINER: char = '\u{200D}';

/// Whether a joiner after this character is part of honest writing: of an emoji, or of a script that shapes its letters
/// (Arabic, Syriac, the scripts of India and its neighbours). Between Latin letters it can only hide.
pub(crate) fn joins(before: char) -> bool {
    matches!(before, '\u{FE0F}' | '\u{2600}'..='\u{27BF}' | '\u{1F000}'..='\u{1FAFF}' | '\u{0600}'..='\u{0DFF}')
}

/// Control characters, bidirectional overrides and isolates, and characters without width.
pub(crate) fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests;
