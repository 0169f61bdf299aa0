//! Characters that nobody sees, or that make others look like what they are not: one list for everything that is shown to a
//! person. The page has the same one (`web/lib/hidden.js`), and a test compares the two.
//!
//! Deliberately absent: spaces of unusual width, which take their room and belong to honest writing, and letters that look
//! like others. Line feeds and tabs are for whoever shows a text to lay out.

mod stream;

pub use stream::Visible;

/// Control characters that are no line feed and no tab, marks of direction, and whatever takes no room or shows as a blank:
/// what Unicode lets a reader ignore, separators of lines, annotations, fillers, the empty pattern of Braille.
pub const HIDDEN: [(char, char); 24] = [
    ('\u{0}', '\u{8}'),
    ('\u{b}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{16fe4}', '\u{16fe4}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// After these a joiner is part of honest writing: of an emoji, or of a script that shapes its letters (Arabic, Syriac, the
/// scripts of India and its neighbours). Between Latin letters it can only hide.
pub const JOINED: [(char, char); 4] =
    [('\u{600}', '\u{dff}'), ('\u{2600}', '\u{27bf}'), ('\u{fe0f}', '\u{fe0f}'), ('\u{1f000}', '\u{1faff}')];

/// After these one selector says that the emoji is meant and not the plain sign.
pub const EMOJI: [(char, char); 6] = [
    ('\u{2194}', '\u{21aa}'),
    ('\u{231a}', '\u{23ff}'),
    ('\u{25aa}', '\u{25fe}'),
    ('\u{2600}', '\u{27bf}'),
    ('\u{2b05}', '\u{2b55}'),
    ('\u{1f000}', '\u{1faff}'),
];

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';
const AS_EMOJI: char = '\u{fe0f}';

pub fn is_hidden(c: char) -> bool {
    is_among(c, &HIDDEN)
}

/// Whether prose needs this hidden character after that one. What a decision is about needs none.
pub fn is_needed(c: char, before: char) -> bool {
    match c {
        NON_JOINER | JOINER => is_among(before, &JOINED),
        AS_EMOJI => is_among(before, &EMOJI),
        _ => false,
    }
}

/// How it is shown.
pub fn by_number(c: char) -> String {
    format!("⟨U+{:04X}⟩", u32::from(c))
}

/// The text with everything in it that can be seen, for what a decision is about: no hidden character is needed there.
pub fn strict(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { out.push_str(&by_number(c)) } else { out.push(c) }
    }
    out
}

/// The same for a name, which has one line: its line feeds and tabs could only make it look like something else.
pub fn name(text: &str) -> String {
    strict(text).replace('\n', &by_number('\n')).replace('\t', &by_number('\t'))
}

/// Somebody else's words within a sentence of Silas's: on one line, between quotation marks that they cannot close.
pub fn quotation(text: &str) -> String {
    let is_mark = |c: char| matches!(c, '“' | '”' | '„' | '‟' | '«' | '»' | '"');
    format!("“{}”", name(text).replace(is_mark, "'"))
}

/// A name within a sentence of Silas's: as it is where it cannot be taken for more of the sentence, else as a quotation.
pub fn named(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=/.-".contains(c);
    if name.chars().all(is_plain) { name.to_owned() } else { quotation(name) }
}

fn is_among(c: char, ranges: &[(char, char)]) -> bool {
    ranges.iter().any(|(from, to)| (*from..=*to).contains(&c))
}

#[cfg(test)]
mod tests;
