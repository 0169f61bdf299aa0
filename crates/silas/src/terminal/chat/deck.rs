//! Which card is on the screen, and therefore what a number means.
//!
//! What comes of a wish goes before what waited already, and a wish takes down what stood there: a number is never for a card
//! that the last thing said was not about. A card that is up stays up until it is answered or another wish is said.

use silas_core::CardId;
use silas_core::card::Card;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Nobody reads a card and answers it faster than this. It counts only where one card took the place of another.
const READING_TIME: Duration = Duration::from_millis(400);

pub(super) struct Deck {
    shown: Option<CardId>,
    shown_at: Instant,
    /// Another card stood there until this one came.
    has_replaced: bool,
    /// What was there before the last wish.
    old: HashSet<CardId>,
    /// Asked for by its name.
    asked_for: Option<CardId>,
    /// A wish was said since the owner last looked at what waits.
    is_talking: bool,
}

impl Deck {
    pub(super) fn new(cards: &[Card]) -> Self {
        let old = cards.iter().map(|card| card.id.clone()).collect();
        Deck { shown: None, shown_at: Instant::now(), has_replaced: false, old, asked_for: None, is_talking: false }
    }

    pub(super) fn shown(&self) -> Option<&CardId> {
        self.shown.as_ref()
    }

    pub(super) fn wish(&mut self, cards: &[Card]) {
        self.old = cards.iter().map(|card| card.id.clone()).collect();
        (self.shown, self.asked_for, self.is_talking) = (None, None, true);
    }

    pub(super) fn ask_for(&mut self, card: CardId) {
        (self.shown, self.asked_for, self.is_talking) = (None, Some(card), false);
    }

    /// The owner wants to see what waits, old or new.
    pub(super) fn look_again(&mut self) {
        (self.shown, self.is_talking) = (None, false);
    }

    pub(super) fn clear(&mut self) {
        self.shown = None;
        // Whoever has answered one goes on with the rest.
        self.is_talking = false;
    }

    pub(super) fn show(&mut self, card: CardId) {
        self.has_replaced = self.shown.is_some();
        (self.shown, self.shown_at) = (Some(card), Instant::now());
    }

    /// It was pointed out, so from now on a number is for it.
    pub(super) fn seen_now(&mut self) {
        (self.has_replaced, self.shown_at) = (false, Instant::now());
    }

    /// Whether what was typed then cannot have been about the card that is up.
    pub(super) fn is_from_before(&self, typed_at: Instant) -> bool {
        let since = if self.has_replaced { self.shown_at + READING_TIME } else { self.shown_at };
        typed_at < since
    }

    /// Whether a number that was written before anything was seen can only mean the card that is up.
    pub(super) fn is_plain(&self, n_choosable: usize) -> bool {
        let is_meant = |card: &CardId| !self.old.contains(card) || self.asked_for.as_ref() == Some(card);
        self.shown.as_ref().is_some_and(|card| is_meant(card) || n_choosable == 1)
    }

    /// The card that should be up, of those that can be answered.
    pub(super) fn next<'c>(&self, cards: &[&'c Card]) -> Option<&'c Card> {
        let find = |id: Option<&CardId>| cards.iter().find(|card| Some(&card.id) == id).copied();
        let is_new = |card: &&&Card| !self.old.contains(&card.id);
        let newest = || cards.iter().filter(is_new).max_by_key(|card| card.created_at).copied();
        let shown = find(self.shown.as_ref());
        find(self.asked_for.as_ref())
            .or_else(|| shown.filter(|card| is_new(&card)))
            .or_else(newest)
            .or(shown)
            .or_else(|| cards.first().copied().filter(|_| !self.is_talking))
    }
}

#[cfg(test)]
mod tests;
