//! Cards that another version has worded: they are asked again in the words of this one, because a card is answered only
//! while it says exactly what it asks for. What was asked stays the same to the byte, but for who answers on this machine, which
//! is looked at anew for a card about a model there. It must be what the ledger says that was asked: a card that somebody
//! altered is left as it is, and refused when it is answered.

use super::kinds::rules;
use crate::Trouble;
use crate::review::Review;
use silas_approval::Rehearsal;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::work::WorkItem;
use silas_core::{CardId, Digest};
use silas_store::{Commit, cards, ledger};
use std::collections::BTreeSet;

impl Review {
    /// Once, before anybody can answer.
    pub(crate) async fn reword_cards(&self) -> Result<(), Trouble> {
        let mut known = self.house.store.read(cards::list_open_everywhere).await?;
        known.retain(|card| !self.house.words.shows_what_it_asks(card));
        if known.is_empty() {
            return Ok(());
        }
        let ids: BTreeSet<CardId> = known.iter().map(|card| card.id.clone()).collect();
        let offered = self.house.store.read(move |tx| ledger::offered(tx, &ids)).await?;
        for card in known {
            if offered.get(&card.id) != Some(&as_it_is(&card)?) {
                continue;
            }
            let Some(card) = self.reworded(card)? else { continue };
            self.house.store.write(move |tx| Ok(Commit(cards::update(tx, &card)?))).await?;
        }
        Ok(())
    }

    /// Whether a card is what the ledger says that was offered last.
    pub(super) async fn is_as_offered(&self, card: &Card) -> Result<bool, Trouble> {
        let ids = BTreeSet::from([card.id.clone()]);
        let offered = self.house.store.read(move |tx| ledger::offered(tx, &ids)).await?;
        Ok(offered.get(&card.id) == Some(&as_it_is(card)?))
    }

    /// Nothing where even the words of today would not say what it asks.
    fn reworded(&self, mut card: Card) -> Result<Option<Card>, Trouble> {
        let now = self.house.clock.now();
        // No more time than it had; what is parked is asked again first.
        let lasts = match (&card.offer, card.state) {
            (Some(before), CardState::Open) => before.expires_at.since(now),
            _ => self.house.options.plan_timeout,
        };
        if let Some(asked) = self.minds.model_asked_anew(&card, lasts)? {
            return Ok(Some(asked));
        }
        let Some(face) = rules(card.face.kind).worded(&self.house.words, &card) else { return Ok(None) };
        let shown = face.hash()?;
        card.face = face;
        if let Some(before) = card.offer.take() {
            card.show_first = self.shown_first(&card, &before.work_item_id, lasts)?;
            let mut offer = self.house.engine.renewed(&before, lasts);
            offer.shown = shown;
            card.offer = Some(offer);
        }
        Ok(self.house.words.shows_what_it_asks(&card).then_some(card))
    }

    fn shown_first(
        &self,
        card: &Card,
        subject: &str,
        lasts: std::time::Duration,
    ) -> Result<Option<silas_core::token::Offer>, Trouble> {
        let offers_it =
            card.face.kind == CardKind::Plan && card.face.ctas.iter().any(|cta| cta.press == Press::Rehearse);
        let payload = card.payload.as_deref().filter(|_| offers_it);
        let Some(item) = payload.and_then(|payload| WorkItem::from_canonical(payload).ok()) else { return Ok(None) };
        Ok(Some(self.house.engine.offer(subject, &Rehearsal(item), &card.face, lasts)?))
    }
}

/// What a card asks for, and the words it is shown with.
fn as_it_is(card: &Card) -> Result<(Digest, Digest), Trouble> {
    Ok((Digest::of(card.payload.as_deref().unwrap_or_default().as_bytes()), card.face.hash()?))
}
