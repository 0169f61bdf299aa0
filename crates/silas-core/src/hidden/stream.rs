//! A stream of bytes as a terminal may be shown it: what a program printed, with everything in it that a terminal would obey
//! instead of showing written out.
//!
//! Line feeds, tabs and carriage returns stay: they lay out lines, and none of them leaves the line that it is in.

use super::{by_number, is_hidden, is_needed};

/// Keeps what a chunk left unfinished.
#[derive(Default, Debug)]
pub struct Visible {
    /// The beginning of a character, at most three bytes.
    rest: Vec<u8>,
    last: char,
}

impl Visible {
    /// The next part of the stream, as it may be shown.
    pub fn show(&mut self, bytes: &[u8]) -> String {
        let mut pending = std::mem::take(&mut self.rest);
        pending.extend_from_slice(bytes);
        let mut out = String::with_capacity(pending.len());
        let mut left = pending.as_slice();
        while !left.is_empty() {
            match std::str::from_utf8(left) {
                Ok(text) => {
                    self.push(text, &mut out);
                    break;
                }
                Err(bad) => {
                    let (text, after) = left.split_at(bad.valid_up_to());
                    self.push(&String::from_utf8_lossy(text), &mut out);
                    let Some(n) = bad.error_len() else {
                        self.rest = after.to_vec();
                        break;
                    };
                    out.extend(after[..n].iter().map(|byte| format!("⟨{byte:02X}⟩")));
                    left = &after[n..];
                }
            }
        }
        out
    }

    /// What was never finished.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.rest).iter().map(|byte| format!("⟨{byte:02X}⟩")).collect()
    }

    /// Whether what was shown so far ends in the middle of a line.
    pub fn is_within_a_line(&self) -> bool {
        !matches!(self.last, '\n' | '\0')
    }

    fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            if is_hidden(c) && c != '\r' && !is_needed(c, self.last) {
                out.push_str(&by_number(c));
            } else {
                out.push(c);
            }
            self.last = if c == '\0' { ' ' } else { c };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Visible;

    fn check(parts: &[&[u8]], expect: &str) {
        let mut visible = Visible::default();
        let shown: String = parts.iter().map(|part| visible.show(part)).collect();
        assert_eq!(shown + &visible.finish(), expect);
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        check(&[b"plain\ttext\r\n"], "plain\ttext\r\n");
        check(&[b"\x1b[8mhidden\x1b]0;title\x07"], "⟨U+001B⟩[8mhidden⟨U+001B⟩]0;title⟨U+0007⟩");
        check(&["\u{9b}2J".as_bytes(), b"\x9b2J", b"\x00\x7f\x08"], "⟨U+009B⟩2J⟨9B⟩2J⟨U+0000⟩⟨U+007F⟩⟨U+0008⟩");
        check(&["abc\u{202e}def".as_bytes()], "abc⟨U+202E⟩def");
    }

    #[test]
    fn characters_come_whole_however_they_are_cut() {
        let text = "größe 👩‍💻 → ok";
        for n in 0..text.len() {
            check(&[&text.as_bytes()[..n], &text.as_bytes()[n..]], text);
        }
        check(&[b"\xe2\x86"], "⟨E2⟩⟨86⟩");
        check(&[b"\xe2", b"x"], "⟨E2⟩x");
    }

    #[test]
    fn a_line_is_open_until_it_is_ended() {
        let mut visible = Visible::default();
        assert!(!visible.is_within_a_line());
        visible.show(b"half");
        assert!(visible.is_within_a_line());
        visible.show(b"\n");
        assert!(!visible.is_within_a_line());
    }
}
