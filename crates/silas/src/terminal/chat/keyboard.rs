//! A line as it is typed or piped in: bounded, with the moment it came, and with a word for what cannot be taken.

use silas_core::message::MESSAGE_BYTES_MAX;
use silas_core::secret::SECRET_BYTES_MAX;
use std::io::BufRead;
use std::time::Instant;
use zeroize::{Zeroize, Zeroizing};

/// The longest thing that is typed is a secret. Words that are shorter and still too long are the server's to refuse.
const LINE_BYTES_MAX: usize = SECRET_BYTES_MAX;

/// May be the value of a secret.
pub(super) struct Keyed {
    pub(super) text: Zeroizing<String>,
    pub(super) at: Instant,
}

/// Why a line was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Odd {
    TooLong,
    NotText,
    /// What is typed cannot be read any more.
    Broken,
}

impl Odd {
    pub(super) fn words(self) -> String {
        match self {
            Odd::TooLong => format!(
                "That line is longer than {} KiB, the most that can be said at once. Nothing was said.",
                MESSAGE_BYTES_MAX / 1024
            ),
            Odd::NotText => "That line is not UTF-8 text. Nothing was said.".to_owned(),
            Odd::Broken => "What is typed cannot be read any more.".to_owned(),
        }
    }
}

/// The next line without its end; `None` when nothing more comes. A line that is too long is read to its end and dropped.
pub(super) fn line(input: &mut impl BufRead) -> Option<Result<Keyed, Odd>> {
    let mut bytes = Zeroizing::new(Vec::new());
    let mut is_too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => continue,
            // The next look finds the same; saying it once and ending is all that is left.
            Err(_) if bytes.is_empty() && !is_too_long => return None,
            Err(_) => return Some(Err(Odd::Broken)),
        };
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = &chunk[..end.unwrap_or(chunk.len())];
        if chunk.is_empty() && bytes.is_empty() && !is_too_long {
            return None;
        }
        if bytes.len() + taken.len() > LINE_BYTES_MAX {
            is_too_long = true;
            bytes.zeroize();
        } else if !is_too_long {
            bytes.extend_from_slice(taken);
        }
        let (is_over, n_used) = (end.is_some() || chunk.is_empty(), taken.len() + usize::from(end.is_some()));
        input.consume(n_used);
        if is_over {
            break;
        }
    }
    if is_too_long {
        return Some(Err(Odd::TooLong));
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    let text = std::str::from_utf8(&bytes).map(|text| Zeroizing::new(text.to_owned()));
    Some(text.map(|text| Keyed { text, at: Instant::now() }).map_err(|_| Odd::NotText))
}

#[cfg(test)]
mod tests;
