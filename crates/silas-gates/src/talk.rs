//! Gates of a conversation: how long a message may be, and what of a reply a person can see.

use crate::runner::{Blocked, Gate, Gates, Ruling};
use crate::scrub;
use silas_core::message::MESSAGE_BYTES_MAX;

/// Every turn has these.
pub fn of_a_turn() -> Gates<'static> {
    Gates::new([&MessageSize as &dyn Gate, &Visible])
}

/// A message says something, and not more than one may.
struct MessageSize;

impl Gate for MessageSize {
    fn message_in(&self, text: &str) -> Result<(), Blocked> {
        let blocked = |code, why: &str, todo| Err(Blocked { code, why: why.to_owned(), todo });
        if text.trim().is_empty() {
            return blocked("E_CHANNEL_EMPTY", "The message is empty.", "Write what you want done.");
        }
        if text.len() > MESSAGE_BYTES_MAX {
            let todo = "Put long texts into a file and name the file.";
            return blocked("E_CHANNEL_SIZE", "The message is longer than 32 KiB.", todo);
        }
        Ok(())
    }
}

/// Characters that would make a reply look like something else are shown by their numbers.
struct Visible;

impl Gate for Visible {
    fn reply_out(&self, text: &str) -> Ruling<String> {
        Ruling::Rewritten(scrub::visible(text))
    }
}

#[cfg(test)]
mod tests;
