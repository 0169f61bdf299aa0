//! What the commands of running work print, as far as somebody looks on: bounded, in memory, and gone with the work.
//!
//! It comes from outside. Nothing is decided by it and no model is given it; what a model hears of a command comes by the
//! path of its call.

use crate::view::{OutputView, PrintedView};
use silas_core::ExecutionId;
use silas_core::outside::Piece;
use silas_gates::scrub;

/// Of one command or check, the last so many characters.
const CHARS_MAX: usize = 6_000;
/// Checks whose output is kept side by side.
const PARTS_MAX: usize = 4;

#[derive(Default)]
pub(crate) struct Output {
    parts: Vec<Part>,
    n_begun: u64,
}

struct Part {
    nth: u64,
    check: Option<String>,
    n_left_out: u64,
    text: String,
}

impl Output {
    pub(crate) fn add(&mut self, piece: Piece) {
        if piece.is_first {
            // A command takes the place of all that was before it, a check that of a command and of its own earlier run.
            let stays = |part: &Part| piece.check.is_some() && part.check.is_some() && part.check != piece.check;
            self.parts.retain(stays);
            if self.parts.len() >= PARTS_MAX {
                self.parts.remove(0);
            }
            self.n_begun += 1;
            self.parts.push(Part { nth: self.n_begun, check: piece.check.clone(), n_left_out: 0, text: String::new() });
        }
        let Some(part) = self.parts.iter_mut().find(|part| part.check == piece.check) else { return };
        part.add(&piece);
    }

    pub(crate) fn view(&self, execution: &ExecutionId) -> OutputView {
        let shown = |part: &Part| PrintedView {
            nth: part.nth,
            check: part.check.as_deref().map(|name| scrub::visible_line(name, 100)),
            n_left_out: part.n_left_out,
            text: scrub::visible(part.text.strip_suffix('\r').unwrap_or(&part.text)),
        };
        OutputView { execution: execution.clone(), printed: self.parts.iter().map(shown).collect() }
    }
}

impl Part {
    fn add(&mut self, piece: &Piece) {
        if piece.n_left_out > 0 {
            self.n_left_out += piece.n_left_out + self.text.chars().count() as u64;
            self.text.clear();
        }
        self.text.push_str(&piece.text);
        if self.text.contains('\r') {
            self.text = as_on_a_terminal(&self.text);
        }
        let n = self.text.chars().count().saturating_sub(CHARS_MAX);
        if n > 0 {
            let at = self.text.char_indices().nth(n).map_or(self.text.len(), |(at, _)| at);
            // To the end of a line, where it has one.
            let at = self.text[at..].find('\n').map_or(at, |line| at + line + 1);
            self.n_left_out += self.text[..at].chars().count() as u64;
            self.text.drain(..at);
        }
    }
}

/// Where a program goes back to the beginning of its line, as a bar of progress does, what it writes next takes its place.
/// The last line may be gone back to yet.
fn as_on_a_terminal(text: &str) -> String {
    let n_lines = text.split('\n').count();
    let lines = text.split('\n').enumerate().map(|(n, line)| {
        let (body, end) = match line.strip_suffix('\r') {
            Some(body) => (body, if n + 1 == n_lines { "\r" } else { "" }),
            None => (line, ""),
        };
        format!("{}{end}", body.rsplit('\r').next().unwrap_or_default())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use silas_core::{Digest, TokenId};

    fn piece(check: Option<&str>, is_first: bool, text: &str) -> Piece {
        Piece { check: check.map(str::to_owned), is_first, n_left_out: 0, text: text.to_owned() }
    }

    fn shown(output: &Output) -> Vec<(Option<String>, u64, String)> {
        let view = output.view(&ExecutionId::derive(&TokenId::of(&Digest::of(b"t")), 0));
        view.printed.into_iter().map(|part| (part.check, part.n_left_out, part.text)).collect()
    }

    #[test]
    fn a_command_is_shown_as_it_goes_on_and_gives_place_to_the_next() {
        let mut output = Output::default();
        output.add(piece(None, true, "10%\r20%"));
        output.add(piece(None, false, "\r"));
        assert_eq!(shown(&output), [(None, 0, "20%".to_owned())]);
        output.add(piece(None, false, "100%\r\n\u{1b}[31mred\u{202e}\n"));
        assert_eq!(shown(&output), [(None, 0, "100%\n⟨U+001B⟩[31mred⟨U+202E⟩\n".to_owned())]);
        output.add(piece(Some("a"), true, "one\n"));
        output.add(piece(Some("b"), true, "two\n"));
        output.add(piece(Some("a"), false, "three\n"));
        let both =
            [(Some("a".to_owned()), 0, "one\nthree\n".to_owned()), (Some("b".to_owned()), 0, "two\n".to_owned())];
        assert_eq!(shown(&output), both);
        output.add(piece(None, true, "next"));
        assert_eq!(shown(&output), [(None, 0, "next".to_owned())]);
        output.add(piece(Some("gone"), false, "late"));
        assert_eq!(shown(&output).len(), 1);
    }

    #[test]
    fn of_very_much_the_end_is_shown_and_the_rest_counted() {
        let mut output = Output::default();
        let all: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
        output.add(piece(None, true, &all));
        let [(_, n, text)] = shown(&output).try_into().unwrap();
        assert!(text.starts_with("line ") && text.ends_with("line 4999\n") && text.len() <= CHARS_MAX);
        assert_eq!(n as usize + text.len(), all.len());
        output.add(Piece { n_left_out: 7, ..piece(None, false, "end") });
        assert_eq!(shown(&output), [(None, all.len() as u64 + 7, "end".to_owned())]);
    }
}
