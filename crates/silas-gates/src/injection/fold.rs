//! Folding: the text as its words are read, with a way back to where each letter stood.

use silas_core::hidden;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub(super) struct Folded {
    pub(super) text: String,
    /// For every byte of the folded text, where the character that it came from lies in the original.
    origins: Vec<(usize, usize)>,
    pub(super) n_hidden: u32,
}

impl Folded {
    /// The part of the original that a part of the folded text came from.
    pub(super) fn origin(&self, span: Range<usize>) -> (usize, usize) {
        let from = self.origins.get(span.start).map_or(0, |origin| origin.0);
        let to = self.origins.get(span.end.saturating_sub(1)).map_or(from, |origin| origin.1);
        (from, to)
    }
}

/// Compatibility forms taken apart, accents and hidden characters dropped, lookalikes and case made one.
pub(super) fn fold(text: &str) -> Folded {
    let mut folded = Folded { text: String::with_capacity(text.len()), origins: Vec::new(), n_hidden: 0 };
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if is_hidden(c, before) {
            folded.n_hidden += 1;
        } else {
            let plain = std::iter::once(c).nfkd().filter(|c| !is_combining_mark(*c));
            for letter in plain.map(lookalike).flat_map(char::to_lowercase) {
                folded.text.push(letter);
                folded.origins.resize(folded.text.len(), (at, at + c.len_utf8()));
            }
        }
        before = c;
    }
    folded
}

pub(super) fn without_hidden(text: &str) -> String {
    let mut before = ' ';
    let mut keep = |c: char| {
        let is_kept = !is_hidden(c, before);
        before = c;
        is_kept
    };
    text.chars().filter(|c| keep(*c)).collect()
}

/// Control characters, characters without width, and those that reorder. A joiner is honest where writing needs it.
fn is_hidden(c: char, before: char) -> bool {
    match c {
        '\r' => false,
        c => hidden::is_hidden(c) && !hidden::is_needed(c, before),
    }
}

/// Letters of other alphabets that look like Latin ones, as far as words of orders can be written with them.
fn lookalike(c: char) -> char {
    match c {
        'а' | 'А' | 'α' | 'Α' => 'a',
        'в' | 'В' | 'Β' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'ε' | 'Ε' => 'e',
        'ɡ' => 'g',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ӏ' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'κ' | 'Κ' => 'k',
        'м' | 'М' | 'Μ' => 'm',
        'п' | 'ո' | 'Ν' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | '0' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'г' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ѡ' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'γ' | 'Υ' => 'y',
        other => other,
    }
}
