//! The injection scrubber: text from outside, before it enters what is kept or rendered.
//!
//! It reads the text as a model would, folded: compatibility forms, lookalike letters, accents and characters without
//! width do not hide a word. What then reads like an order is replaced by a mark; hidden characters go; the rest stays
//! byte for byte. A fence says where such text begins and ends, and nothing inside can look like the fence.
//!
//! What a tool read in the owner's own directories is not scrubbed, because a model writes back what it read: it stands
//! [`verbatim`] inside a fence whose mark follows from the text, so that the text cannot contain it.
//!
//! Strangers' messages are scrubbed where they are taken in; what comes from the web is scrubbed and fenced where a model
//! hears it; what a reply quotes is fenced there.
//!
//! Deliberately absent: any decision. A text in which nothing was found is still from outside; the exits decide.

mod fold;
mod patterns;

use silas_core::canonical::Digest;
use silas_core::taint::Suspicion;
use std::collections::BTreeMap;

/// Longest text from outside that is kept or rendered, in characters; the rest is announced, not kept.
pub const OUTSIDE_CHARS_MAX: usize = 20_000;
/// What stands where an order stood.
const REMOVED: &str = "[removed: reads like an order]";
const OPENS: char = '⟦';
const CLOSES: char = '⟧';
/// Of a fence's mark, in hexadecimal digits: a text that holds its own mark takes 2^64 tries, and is then given another.
const MARK_DIGITS: usize = 16;

/// How often each thing was found.
pub type Found = BTreeMap<Suspicion, u32>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scrubbed {
    pub text: String,
    pub found: Found,
}

/// What is suspicious about a text, without changing it. For what is shown to a person as it is.
pub fn scan(text: &str) -> Found {
    scrub(text).found
}

/// The text without orders and hidden characters. Doing it again changes nothing.
pub fn scrub(text: &str) -> Scrubbed {
    let (text, is_cut) = match text.char_indices().nth(OUTSIDE_CHARS_MAX) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    };
    let folded = fold::fold(text);
    let mut found = Found::new();
    if folded.n_hidden > 0 {
        found.insert(Suspicion::Hidden, folded.n_hidden);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for order in patterns::orders(&folded.text) {
        *found.entry(order.suspicion).or_default() += 1;
        let (from, to) = folded.origin(order.span);
        out.push_str(&fold::without_hidden(&text[at..from]));
        out.push_str(REMOVED);
        at = to;
    }
    out.push_str(&fold::without_hidden(&text[at..]));
    if is_cut {
        out.push_str("\n… the rest was not kept");
    }
    Scrubbed { text: out, found }
}

/// Scrubbed text between marks that say where it came from.
pub fn fenced(text: &str) -> String {
    let inside = scrub(text).text.replace(OPENS, "[").replace(CLOSES, "]");
    match inside.lines().count() {
        0 | 1 => format!("{OPENS}from outside: {}{CLOSES}", inside.trim()),
        n => format!("{OPENS}from outside, {n} lines\n{inside}\n{CLOSES}"),
    }
}

/// The text exactly as it is, between marks that it does not contain. A line feed at its end stands before the last mark.
pub fn verbatim(text: &str) -> String {
    let mut digest = Digest::of(text.as_bytes());
    let mark = loop {
        let mark: String = digest.to_string().chars().take(MARK_DIGITS).collect();
        if !text.contains(&mark) {
            break mark;
        }
        digest = Digest::of(digest.as_bytes());
    };
    format!("{OPENS}from outside, mark {mark}\n{text}{CLOSES}{mark}")
}

#[cfg(test)]
mod tests;
