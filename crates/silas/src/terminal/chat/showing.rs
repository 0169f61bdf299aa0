//! What a chat has on the screen: one card at a time, and the prompt.

use super::super::face::{Extent, print_face};
use super::super::names;
use super::super::print::needs_review;
use super::super::quoted;
use super::Chat;
use super::choices::{self, Confirm};
use super::secret::Typing;
use silas_core::card::Card;
use std::io::Write;

impl Chat<'_> {
    fn choosable(&self) -> impl Iterator<Item = &Card> {
        let is_choosable = |card: &&Card| !self.answered.contains_key(&card.id) && !choices::of(card).is_empty();
        self.line.cards.iter().filter(is_choosable)
    }

    pub(super) fn n_choosable(&self) -> usize {
        self.choosable().count()
    }

    /// One card at a time: what came of the last wish before what waited already.
    pub(super) fn next_card(&mut self) {
        // A question about a card that is still there is answered first.
        let is_asked = |confirm: &Confirm| self.choosable().any(|card| card.id == confirm.card.id);
        if self.confirm.as_ref().is_some_and(is_asked) {
            return;
        }
        let next = self.deck.next(&self.choosable().collect::<Vec<_>>()).cloned();
        if next.as_ref().map(|card| &card.id) == self.deck.shown() {
            return;
        }
        if self.confirm.take().is_some() {
            self.print("That card was answered meanwhile. Nothing was signed here.");
        }
        let Some(card) = next else { return self.deck.clear() };
        self.deck.show(card.id.clone());
        self.print("");
        print_face(&card, Extent::Glance);
        for (n, (label, _)) in choices::of(&card).iter().enumerate() {
            let number = (n + 1).to_string();
            // A label may be a model's words.
            let columns = number.len() + 4;
            quoted::print(&format!("  {}  ", self.paint.strong(&number)), columns, label);
            if let Some(meaning) = choices::consequence(&card, label) {
                println!("     {}", self.paint.quiet(meaning));
            }
        }
        self.numbers();
    }

    /// What a number means now.
    pub(super) fn numbers(&self) {
        let Some(card) = self.line.cards.iter().find(|card| Some(&card.id) == self.deck.shown()) else { return };
        let is_left = |other: &&Card| other.id != card.id && !self.answered.contains_key(&other.id);
        let more = match self.line.cards.iter().filter(is_left).filter(|other| needs_review(other)).count() {
            0 => String::new(),
            n => format!(" {n} more in review."),
        };
        let name = names::name(&card.id);
        self.print(&self.paint.quiet(&format!("A number answers this card, {name}: “{}”.{more}", card.face.intent)));
    }

    /// Over the prompt, if there is one.
    pub(super) fn print(&self, text: &str) {
        if self.is_watched && !self.needs_prompt.replace(true) {
            print!("\r\x1b[K");
        }
        println!("{text}");
    }

    pub(super) fn prompt(&self) {
        if self.is_watched && self.needs_prompt.replace(false) {
            let ordinary = if self.wording.is_some() { "Your answer: " } else { "› " };
            print!("{}", self.typing.as_ref().map_or(ordinary.to_owned(), Typing::prompt));
            let _ = std::io::stdout().flush();
        }
    }
}
