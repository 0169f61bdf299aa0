//! May Silas do these small things by itself? Asked on the pairing screen, and again when the rules have changed.

use super::{Answered, Asked, Rules, unreadable};
use crate::review::{Granted, Review};
use crate::words::Words;
use silas_approval::Recorded;
use silas_approval::house_rules::HouseRules;
use silas_core::canonical;
use silas_core::card::{Card, Face};
use silas_store::Tx;

pub(super) struct HouseRulesCard;

impl Rules for HouseRulesCard {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        let rules = canonical::read::<HouseRules>(card.payload.as_deref()?).ok()?;
        (rules == HouseRules::current()).then(|| rules.card_face())
    }

    fn approve(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, _: &Recorded) -> Answered {
        // Nothing is spent: the decision itself, on record by now, is what counts.
        Ok(Ok(Granted::HouseRules))
    }
}

/// The same on the pairing screen, where the newcomer signs it; it is never kept as a card.
pub(super) struct Pairing;

impl Rules for Pairing {
    fn worded(&self, _: &Words, _: &Card) -> Option<Face> {
        None
    }

    fn shows_what_it_asks(&self, _: &Words, _: &Card) -> bool {
        true
    }

    fn approve(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, _: &Recorded) -> Answered {
        unreadable()
    }
}
