//! What a command prints, in pieces that somebody can look at: not too often, and of very much only what came last.

use silas_core::outside::Piece;
use std::time::{Duration, Instant};

/// Between two pieces. Nobody reads faster.
const EVERY: Duration = Duration::from_millis(250);
/// Of one piece, in bytes; what came before it in that time is left out.
const BYTES_MAX: usize = 8 << 10;

pub(super) struct Pieces {
    check: Option<String>,
    held_back: Vec<u8>,
    n_left_out: u64,
    is_first: bool,
    /// When the next one may be shown.
    due: Instant,
}

impl Pieces {
    pub(super) fn of(check: Option<&str>) -> Pieces {
        let check = check.map(str::to_owned);
        Pieces { check, held_back: Vec::new(), n_left_out: 0, is_first: true, due: Instant::now() }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.held_back.extend_from_slice(bytes);
        if self.held_back.len() > 4 * BYTES_MAX {
            self.leave_out();
        }
    }

    pub(super) fn is_held_back(&self) -> bool {
        !self.held_back.is_empty()
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_held_back() && Instant::now() >= self.due
    }

    pub(super) fn forget(&mut self) {
        self.held_back.clear();
    }

    /// Leaves out the oldest, up to the end of a line where one is near.
    fn leave_out(&mut self) {
        let n = self.held_back.len().saturating_sub(BYTES_MAX);
        if n == 0 {
            return;
        }
        let near = &self.held_back[n..(n + 400).min(self.held_back.len())];
        let n = near.iter().position(|byte| *byte == b'\n').map_or(n, |at| n + at + 1);
        self.n_left_out += String::from_utf8_lossy(&self.held_back[..n]).chars().count() as u64;
        self.held_back.drain(..n);
    }

    pub(super) fn take(&mut self) -> Option<Piece> {
        self.leave_out();
        // Half of a character waits for its other half.
        let n_whole = match std::str::from_utf8(&self.held_back) {
            Err(e) if e.error_len().is_none() && e.valid_up_to() > 0 => e.valid_up_to(),
            Ok(_) | Err(_) => self.held_back.len(),
        };
        let whole: Vec<u8> = self.held_back.drain(..n_whole).collect();
        if whole.is_empty() {
            return None;
        }
        self.due = Instant::now() + EVERY;
        Some(Piece {
            check: self.check.clone(),
            is_first: std::mem::replace(&mut self.is_first, false),
            n_left_out: std::mem::take(&mut self.n_left_out),
            text: String::from_utf8_lossy(&whole).into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_much_the_last_is_shown_and_the_rest_counted() {
        let mut pieces = Pieces::of(Some("tests"));
        assert_eq!(pieces.take(), None);
        pieces.add("€".as_bytes()[..2].as_ref());
        pieces.add(&"€".as_bytes()[2..]);
        let first = pieces.take().unwrap();
        assert_eq!((first.text.as_str(), first.is_first, first.check.as_deref()), ("€", true, Some("tests")));
        for n in 0..20_000 {
            pieces.add(format!("line {n}\n").as_bytes());
        }
        let rest = pieces.take().unwrap();
        assert!(rest.text.len() <= BYTES_MAX && rest.text.starts_with("line ") && rest.text.ends_with("line 19999\n"));
        let all: usize = (0..20_000).map(|n| format!("line {n}\n").len()).sum();
        assert_eq!((rest.n_left_out as usize + rest.text.len(), rest.is_first), (all, false));
        pieces.add(b"a\xe2\x82");
        assert_eq!(pieces.take().unwrap().text, "a", "half of a character waits");
        assert_eq!(pieces.take().unwrap().text, "\u{fffd}");
    }
}
