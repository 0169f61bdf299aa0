//! In which order cards are shown, and which of them nobody has asked for.

use crate::review::kinds::rules;
use crate::view::CardsPage;
use silas_core::card::Card;
use silas_core::{CardId, Scope};
use silas_store::{ReadTx, Tx, cards, settings};

/// The card of the directory in which Silas was started, as long as no wish needs that directory.
const UNASKED: &str = "unasked_root";

/// Silas asks this of its own accord.
pub(crate) fn note_unasked(tx: &mut Tx<'_>, card: &CardId) -> Result<(), silas_store::Error> {
    settings::set(tx, UNASKED, &Some(card))
}

/// A wish needs the answer to this card, too.
pub(crate) fn note_asked(tx: &mut Tx<'_>, card: &CardId) -> Result<(), silas_store::Error> {
    match settings::get::<Option<CardId>>(tx, UNASKED)?.flatten() {
        Some(unasked) if unasked == *card => settings::set(tx, UNASKED, &None::<CardId>),
        _ => Ok(()),
    }
}

/// Cards that a door is given at once; the rest is counted and can be asked for.
const CARDS_SHOWN: usize = 200;

/// A page of the cards from number `from` on. What waits for an answer comes first, the oldest before the others. Results,
/// which ask nothing, never stand in its way; of those the newest comes first. What Silas asks of its own accord stands
/// behind both, since nobody waits for it, and only what nobody answered in time comes later. Of what is parked only as
/// much is read as is shown.
pub(crate) fn cards_from(tx: &ReadTx<'_>, scope: &Scope, from: usize) -> Result<CardsPage, silas_store::Error> {
    let (mut asking, mut results): (Vec<Card>, Vec<Card>) =
        cards::list_asking(tx, scope)?.into_iter().partition(|card| !rules(card.face.kind).only_tells());
    let unasked: Option<CardId> = settings::get(tx, UNASKED)?.flatten();
    let of_its_own_accord = asking.extract_if(.., |card| Some(&card.id) == unasked.as_ref()).collect::<Vec<_>>();
    results.reverse();
    asking.append(&mut results);
    asking.extend(of_its_own_accord);
    let (n_open, n_parked) = (asking.len(), cards::n_parked(tx, scope)?);
    let mut shown: Vec<Card> = asking.into_iter().skip(from).take(CARDS_SHOWN).collect();
    if shown.len() < CARDS_SHOWN && n_parked > 0 {
        shown.extend(cards::page_parked(tx, scope, from.saturating_sub(n_open), CARDS_SHOWN - shown.len())?);
    }
    let n_more_cards = (n_open + n_parked).saturating_sub(from.saturating_add(CARDS_SHOWN));
    Ok(CardsPage { cards: shown, n_more_cards })
}
