//! A parked card asks again: the same question, or whether to rehearse what it asked for. Either way the offer is fresh, and
//! nothing is decided here.

use crate::{Stream, Trouble};
use silas_approval::Rehearsal;
use silas_core::CardId;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::event::AuditEvent;
use silas_core::work::WorkItem;
use silas_store::{Commit, cards};

impl Stream {
    /// Same question, fresh offer.
    pub async fn renew(&self, card_id: &CardId) -> Result<String, Trouble> {
        let Some(mut card) = self.parked(card_id).await? else { return Err(not_parked()) };
        if let Some((face, input)) = self.renewed_input(&card)? {
            (card.face, card.input) = (face, Some(input));
        } else {
            let Some(offer) = card.offer.as_ref() else { return Err(not_parked()) };
            let lasts = self.options.plan_timeout;
            card.show_first = card.show_first.as_ref().map(|offer| self.engine.renewed(offer, lasts));
            card.offer = Some(self.engine.renewed(offer, lasts));
        }
        self.ask_again(card).await
    }

    /// Asks whether to rehearse what a parked plan would have done. The card changes its words with its question, so that
    /// what is signed is what is read; the plan itself can no longer be approved with it.
    pub async fn renew_as_rehearsal(&self, card_id: &CardId) -> Result<String, Trouble> {
        let Some(mut card) = self.parked(card_id).await? else { return Err(not_parked()) };
        let Some(rehearsal) = rehearsable(&card) else {
            let what = "This card asks for nothing that can be rehearsed.";
            return Err(Trouble::new("E_APPROVAL_CARD", what, "Have it asked again as it is, or drop it."));
        };
        card.face = self.words.rehearsal(&rehearsal.0);
        let subject = rehearsal.0.id().to_string();
        card.offer = Some(self.engine.offer(&subject, &rehearsal, &card.face, self.options.plan_timeout)?);
        card.show_first = None;
        self.ask_again(card).await
    }

    async fn parked(&self, card_id: &CardId) -> Result<Option<Card>, Trouble> {
        let id = card_id.clone();
        let card = self.store.read(move |tx| cards::get(tx, &id)).await?;
        Ok(card.filter(|card| card.state == CardState::Parked))
    }

    /// Writes the renewed card, unless somebody was faster.
    async fn ask_again(&self, mut card: Card) -> Result<String, Trouble> {
        card.state = CardState::Open;
        let renewing = self.store.write(move |tx| {
            let Some(before) = cards::get(tx, &card.id)?.filter(|known| known.state == CardState::Parked) else {
                return Ok(Commit(false));
            };
            cards::update(tx, &card)?;
            tx.record(&AuditEvent::CardRenewed { card: card.id.clone() })?;
            // Another question than before is offered like a new one.
            if let Some(offer) = card.offer.as_ref().filter(|_| card.face != before.face) {
                let intent = tx.text(&card.face.intent)?;
                tx.record(&AuditEvent::CardOffered {
                    card: card.id.clone(),
                    kind: offer.kind,
                    plan_hash: offer.plan_hash,
                    shown: offer.shown,
                    intent,
                })?;
            }
            Ok(Commit(true))
        });
        if !renewing.await? {
            return Err(not_parked());
        }
        self.publish_cards().await;
        Ok("Asked again.".to_owned())
    }
}

/// The plan of a card that offered to be shown first.
fn rehearsable(card: &Card) -> Option<Rehearsal> {
    let offered = card.face.kind == CardKind::Plan && card.face.ctas.iter().any(|cta| cta.press == Press::Rehearse);
    let payload = card.payload.as_deref().filter(|_| offered)?;
    WorkItem::from_canonical(payload).ok().map(Rehearsal)
}

fn not_parked() -> Trouble {
    Trouble::new("E_APPROVAL_CARD", "This card is not parked.", "Decide it as it is.")
}
