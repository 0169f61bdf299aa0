//! Cards that another version has worded: they are asked again in the words of this one, because a card is answered only
//! while it says exactly what it asks for. What was asked stays the same to the byte, and must be what the ledger says that
//! was asked: a card that somebody altered is left as it is, and refused when it is answered.

use crate::{Stream, Trouble};
use silas_approval::Rehearsal;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::event::AuditEvent;
use silas_core::work::WorkItem;
use silas_core::{CardId, Digest};
use silas_store::{Commit, cards, ledger};
use std::collections::BTreeSet;

impl Stream {
    /// Once, before anybody can answer.
    pub(crate) async fn reword_cards(&self) -> Result<(), Trouble> {
        let mut known = self.store.read(cards::list_open).await?;
        known.retain(|card| !self.words.shows_what_it_asks(card));
        if known.is_empty() {
            return Ok(());
        }
        let ids: BTreeSet<CardId> = known.iter().map(|card| card.id.clone()).collect();
        let offered = self.store.read(move |tx| ledger::offered(tx, &ids)).await?;
        for card in known {
            let asks = Digest::of(card.payload.as_deref().unwrap_or_default().as_bytes());
            if offered.get(&card.id) != Some(&(asks, card.face.hash()?)) {
                continue;
            }
            let Some(card) = self.reworded(card)? else { continue };
            let rewording = self.store.write(move |tx| {
                cards::update(tx, &card)?;
                if let Some(offer) = &card.offer {
                    let (card, intent) = (card.id.clone(), tx.text(&card.face.intent)?);
                    let (kind, plan_hash, shown) = (offer.kind, offer.plan_hash, offer.shown);
                    tx.record(&AuditEvent::CardOffered { card, kind, plan_hash, shown, intent })?;
                }
                Ok(Commit(()))
            });
            rewording.await?;
        }
        Ok(())
    }

    /// Nothing where even the words of today would not say what it asks.
    fn reworded(&self, mut card: Card) -> Result<Option<Card>, Trouble> {
        let Some(face) = self.words.in_words_of_today(&card) else { return Ok(None) };
        let now = self.clock.now();
        let shown = face.hash()?;
        card.face = face;
        if let Some(before) = card.offer.take() {
            // No more time than it had; what is parked is asked again first.
            let lasts = match card.state {
                CardState::Open => before.expires_at.since(now),
                _ => self.options.plan_timeout,
            };
            card.show_first = self.shown_first(&card, &before.work_item_id, lasts)?;
            let mut offer = self.engine.renewed(&before, lasts);
            offer.shown = shown;
            card.offer = Some(offer);
        }
        Ok(self.words.shows_what_it_asks(&card).then_some(card))
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
        Ok(Some(self.engine.offer(subject, &Rehearsal(item), &card.face, lasts)?))
    }
}
