//! The hidden line of a chat: a secret that a card asks for, from the keyboard straight to the vault's own door.
//!
//! It never becomes a message, is not shown, and is wiped from this process. Deliberately absent: the control socket; over
//! that one no value ever goes.

use super::Chat;
use crate::passphrase::{self, Hidden};
use silas_core::card::Card;
use silas_core::input::SecureInput;
use silas_core::number::grouped;
use silas_core::secret::SECRET_BYTES_MAX;
use silas_runtime::Words;
use silas_web::secret_door::{self, SecretAsk, SecretSays};

/// A secret that is being typed.
pub(super) struct Typing {
    card: Card,
    wanted: SecureInput,
    /// Nothing is shown as long as this is held.
    _hidden: Option<Hidden>,
}

impl Typing {
    pub(super) fn prompt(&self) -> String {
        format!("{}, unseen: ", self.wanted.label)
    }
}

impl Chat<'_> {
    /// From here on the next line that is typed is the value.
    pub(super) fn ask_for(&mut self, card: &Card, wanted: SecureInput) {
        if !Words::new(None).shows_what_it_asks(card) {
            return self.print("This card and what it asks for differ. Nothing was asked. Use `silas secret set`.");
        }
        match passphrase::hide() {
            Ok(hidden) => {
                if let Some(hint) = &wanted.input_hint {
                    self.print(&format!("Usually it starts with {hint}"));
                }
                self.typing = Some(Typing { card: card.clone(), wanted, _hidden: hidden });
            }
            Err(cause) => self.print(&format!("{cause:#}")),
        }
    }

    /// The line that was typed.
    pub(super) fn give(&mut self, typing: Typing, text: &str) {
        let Typing { card, wanted, _hidden } = typing;
        if self.is_watched {
            // The end of the line was hidden too.
            println!();
        }
        drop(_hidden);
        let value = text.as_bytes();
        if value.is_empty() {
            return self.print("There was no value. Nothing was stored; the card stays.");
        }
        if value.len() > SECRET_BYTES_MAX {
            return self
                .print(&format!("That is too long: {} bytes at most. Nothing was stored.", grouped(SECRET_BYTES_MAX)));
        }
        let ask = SecretAsk::Give { reference: wanted.ref_id, n_bytes: value.len() };
        match secret_door::ask(&self.line.home().path, &ask, value) {
            Ok(SecretSays::Done { message }) => {
                self.answered.insert(card.id.clone(), card.state);
                self.deck.clear();
                self.print(&message);
                self.next_card();
            }
            Ok(SecretSays::Trouble { message, todo, .. }) => self.print(&format!("{message} {todo}")),
            Ok(other) => self.print(&format!("The server answered something else: {other:?}")),
            Err(cause) => self.print(&format!("The vault cannot be reached: {cause}. Nothing was stored.")),
        }
    }
}
