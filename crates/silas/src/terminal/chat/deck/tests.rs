//! A number is for the card that the owner has in mind, or for none.

use super::Deck;
use serde_json::json;
use silas_core::CardId;
use silas_core::card::Card;
use std::time::{Duration, Instant};

fn card(n: u32) -> Card {
    let face = json!({
        "kind": "report", "risk": null, "state": "Ended", "intent": format!("Report {n}"), "facts": [], "evidence": null,
        "rationale": "", "details_title": "", "details": [], "diffs": [], "ctas": [],
    });
    let at = format!("2026-11-16T10:00:{n:02}.000000Z");
    let card = json!({
        "id": format!("card-{n}"), "state": "open", "created_at": at, "face": face, "offer": null, "payload": null,
    });
    serde_json::from_value(card).unwrap()
}

fn id(n: u32) -> CardId {
    card(n).id
}

fn next(deck: &Deck, cards: &[Card]) -> Option<CardId> {
    deck.next(&cards.iter().collect::<Vec<_>>()).map(|card| card.id.clone())
}

#[test]
fn what_comes_of_a_wish_goes_first() {
    let old = [card(1), card(2)];
    let mut deck = Deck::new(&old);
    assert_eq!(next(&deck, &old), Some(id(1)));
    deck.show(id(1));
    deck.wish(&old);
    assert_eq!((deck.shown(), next(&deck, &old)), (None, None), "what stood there is taken down");
    let with_new = [card(1), card(2), card(3)];
    assert_eq!(next(&deck, &with_new), Some(id(3)));
    deck.show(id(3));
    let with_two = [card(1), card(2), card(3), card(4)];
    assert_eq!(next(&deck, &with_two), Some(id(3)), "it stays until it is answered");
    deck.clear();
    assert_eq!(next(&deck, &[card(1), card(2), card(4)]), Some(id(4)));
    deck.ask_for(id(2));
    assert_eq!(next(&deck, &with_two), Some(id(2)));
}

#[test]
fn a_number_written_before_anything_was_seen() {
    let old = [card(1), card(2)];
    let mut deck = Deck::new(&old);
    deck.show(id(1));
    assert!(!deck.is_plain(2), "one of two");
    assert!(deck.is_plain(1), "the only one");
    deck.wish(&old);
    assert!(!deck.is_plain(2));
    deck.show(id(3));
    assert!(deck.is_plain(3), "it came of the wish");
    deck.ask_for(id(2));
    deck.show(id(2));
    assert!(deck.is_plain(3), "it was named");
}

#[test]
fn a_number_typed_before_the_card_was_there() {
    let before = Instant::now();
    let mut deck = Deck::new(&[]);
    deck.show(id(1));
    let now = Instant::now() + Duration::from_millis(1);
    assert!(deck.is_from_before(before) && !deck.is_from_before(now));
    deck.show(id(2));
    assert!(deck.is_from_before(now), "another card stood there a moment ago");
    deck.seen_now();
    assert!(!deck.is_from_before(Instant::now()));
}
