//! What was shown is part of what was signed: a card that differs in one bit from it is not answered by the signature.

use crate::world::{World, answer, plan};
use silas_approval::Refusal;
use silas_core::canonical;
use silas_core::card::{Card, Face};
use silas_core::token::{Offer, Verdict};

fn flipped(text: &str) -> impl Iterator<Item = String> {
    let bytes = text.as_bytes().to_vec();
    (0..bytes.len() * 8).filter_map(move |bit| {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        String::from_utf8(changed).ok()
    })
}

#[test]
fn every_bit_of_the_shown_text() {
    let world = World::new();
    let card = world.ask(&plan("true"));
    let token = answer(2, card.offer.as_ref().unwrap(), Verdict::Approved);
    let mut n = 0;
    for text in flipped(&canonical::text(&card.face).unwrap()) {
        let Ok(face) = canonical::read::<Face>(&text) else { continue };
        n += 1;
        assert_eq!(world.record(&Card { face, ..card.clone() }, &token), Err(Refusal::OtherOffer), "{text}");
    }
    assert!(n > 200, "{n}");
    assert!(world.record(&card, &token).is_ok(), "as it was shown, it is answered");
}

#[test]
fn every_bit_of_the_offer_that_a_card_carries() {
    let world = World::new();
    let card = world.ask(&plan("true"));
    let honest = card.offer.clone().unwrap();
    let mut n = 0;
    for text in flipped(&canonical::text(&honest).unwrap()) {
        let Ok(offer) = canonical::read::<Offer>(&text) else { continue };
        n += 1;
        // A device that signs whatever it is given does not help.
        let token = answer(2, &offer, Verdict::Approved);
        assert_eq!(world.record(&card, &token), Err(Refusal::OtherOffer), "{text}");
    }
    assert!(n > 500, "{n}");
}
