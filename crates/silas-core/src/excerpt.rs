//! A long text by its beginning and its end: what a program was asked to do stands at the one, how it went at the other.

use crate::number::grouped;

/// The text, if it has at most so many characters; otherwise a quarter of them from its beginning and the rest from its
/// end, and between them a line that says how many are left out.
pub fn of(text: &str, chars_max: usize) -> String {
    of_longer(text, 0, chars_max).0
}

/// The same of a text from whose middle so many characters were left out before; and whether any were left out here.
pub fn of_longer(text: &str, n_missing: usize, chars_max: usize) -> (String, bool) {
    match parts(text, chars_max) {
        None => (text.to_owned(), false),
        Some((head, n_left_out, tail)) => (joined(head, n_left_out + n_missing, tail), true),
    }
}

/// Both ends with the mark between them, on a line of its own.
fn joined(head: &str, n_left_out: usize, tail: &str) -> String {
    let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{before}[… {} characters are left out here …]\n{tail}", grouped(n_left_out))
}

/// The two ends and how many characters lie between them; `None` if the text is short enough. The end begins with a whole
/// line where one begins soon.
fn parts(text: &str, chars_max: usize) -> Option<(&str, usize, &str)> {
    let n_chars = text.chars().count();
    if n_chars <= chars_max {
        return None;
    }
    let n_head = chars_max / 4;
    let n_tail = chars_max - n_head;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (&text[..at(n_head)], &text[at(n_chars - n_tail)..]);
    let line = tail.char_indices().take(200).find(|(_, c)| *c == '\n').map(|(at, _)| at + 1);
    let tail = &tail[line.filter(|at| *at < tail.len()).unwrap_or(0)..];
    Some((head, n_chars - n_head - tail.chars().count(), tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay_and_what_is_between_is_counted() {
        assert_eq!(of("€€", 2), "€€");
        assert_eq!(of("abcdefgh€jklm", 8), "ab\n[… 5 characters are left out here …]\nh€jklm");
        assert_eq!(of("a\n345678\nend\n", 8), "a\n[… 7 characters are left out here …]\nend\n");
        assert_eq!(
            of_longer("abcdefghijkl", 10, 8),
            ("ab\n[… 14 characters are left out here …]\nghijkl".to_owned(), true)
        );
        assert_eq!(parts("", 0), None);
        for n in 0..40 {
            let text: String = ('a'..='z').collect();
            if let Some((head, between, tail)) = parts(&text, n) {
                assert_eq!(head.len() + between + tail.len(), 26);
            }
        }
    }
}
