//! A parked card asks again: the same question, or whether to rehearse what it asked for. Either way the offer is fresh, and
//! nothing is decided here.

use crate::Trouble;
use crate::review::Review;
use silas_approval::Rehearsal;
use silas_core::CardId;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::event::AuditEvent;
use silas_core::work::WorkItem;
use silas_store::{Commit, cards};

impl Review {
    /// Same question, fresh offer.
    pub async fn renew(&self, card_id: &CardId) -> Result<String, Trouble> {
        let Some(mut card) = self.parked(card_id).await? else { return Err(not_parked()) };
        if let Some((face, input)) = self.questions.renewed_input(&card)? {
            (card.face, card.input) = (face, Some(input));
        } else if let Some(asked) = self.model_renewed(&card).await? {
            card = asked;
        } else {
            let Some(offer) = card.offer.as_ref() else { return Err(not_parked()) };
            let lasts = self.house.options.plan_timeout;
            card.show_first = card.show_first.as_ref().map(|offer| self.house.engine.renewed(offer, lasts));
            card.offer = Some(self.house.engine.renewed(offer, lasts));
            if let Some(instead) = &mut card.instead {
                instead.offer = self.house.engine.renewed(&instead.offer, lasts);
            }
        }
        self.ask_again(card).await
    }

    /// A card about a model says who answers there, and that was hours ago. One that is not what was asked, because somebody
    /// altered it, is left as it is, and refused when it is answered.
    async fn model_renewed(&self, card: &Card) -> Result<Option<Card>, Trouble> {
        let asked = self.minds.model_asked_anew(card, self.house.options.plan_timeout)?;
        if asked.is_none() || !self.is_as_offered(card).await? {
            return Ok(None);
        }
        Ok(asked)
    }

    /// Asks whether to rehearse what a parked plan would have done. The card changes its words with its question, so that
    /// what is signed is what is read; the plan itself can no longer be approved with it.
    pub async fn renew_as_rehearsal(&self, card_id: &CardId) -> Result<String, Trouble> {
        let Some(mut card) = self.parked(card_id).await? else { return Err(not_parked()) };
        let Some(rehearsal) = rehearsable(&card) else {
            let what = "This card asks for nothing that can be rehearsed.";
            return Err(Trouble::new("E_APPROVAL_CARD", what, "Have it asked again as it is, or drop it."));
        };
        card.face = self.house.words.rehearsal(&rehearsal.0);
        let subject = rehearsal.0.id().to_string();
        card.offer =
            Some(self.house.engine.offer(&subject, &rehearsal, &card.face, self.house.options.plan_timeout)?);
        card.show_first = None;
        self.ask_again(card).await
    }

    async fn parked(&self, card_id: &CardId) -> Result<Option<Card>, Trouble> {
        let id = card_id.clone();
        let card = self.house.store.read(move |tx| cards::get(tx, &id)).await?;
        Ok(card.filter(|card| card.state == CardState::Parked))
    }

    /// Writes the renewed card, unless somebody was faster.
    async fn ask_again(&self, mut card: Card) -> Result<String, Trouble> {
        card.state = CardState::Open;
        let renewing = self.house.store.write(move |tx| {
            if cards::get(tx, &card.id)?.is_none_or(|known| known.state != CardState::Parked) {
                return Ok(Commit(false));
            }
            tx.record(&AuditEvent::CardRenewed { card: card.id.clone() })?;
            // Another question than before is offered like a new one.
            cards::update(tx, &card)?;
            Ok(Commit(true))
        });
        if !renewing.await? {
            return Err(not_parked());
        }
        self.hub.publish_cards().await;
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
