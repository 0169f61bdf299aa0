//! Cards that the owner puts away: results, and questions that need no answer or are parked.

use super::kinds::rules;
use crate::Trouble;
use crate::post::TURN;
use crate::review::Review;
use silas_core::CardId;
use silas_core::card::CardState;
use silas_core::event::AuditEvent;
use silas_store::queue::{self, Name};
use silas_store::{Commit, cards};
use std::sync::Arc;

impl Review {
    /// Puts away a card that waits for nothing: a result, or one that is parked.
    pub async fn dismiss(self: &Arc<Self>, card_id: &CardId) -> Result<String, Trouble> {
        let id = card_id.clone();
        let review = self.clone();
        let closing = self.house.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)? else { return Ok(Commit(None)) };
            let rules = rules(card.face.kind);
            if !rules.may_be_put_away(card.state) {
                return Ok(Commit(None));
            }
            card.state = CardState::Closed;
            cards::update(tx, &card)?;
            tx.record(&AuditEvent::CardPutAway { card: id.clone() })?;
            // Every card was kept with a subject; one without waits for nothing.
            let subject = cards::subject(tx, &id)?.unwrap_or_default();
            let put_away = rules.put_away(&review, tx, &subject)?;
            let n_waited = match rules.waits_no_longer() {
                Some(_) => queue::take_key(tx, Name::Waiting, &subject, TURN)?.len(),
                None => 0,
            };
            Ok(Commit(Some((card, put_away, n_waited))))
        });
        let Some((card, put_away, n_waited)) = closing.await? else {
            let what = "This card waits for a decision, or was answered already.";
            return Err(Trouble::new("E_APPROVAL_CARD", what, "Approve or decline it."));
        };
        self.work.drop_versions(&card).await;
        self.hub.publish_cards().await;
        if let Some(posted) = put_away.posted {
            self.hub.deliver(posted);
        }
        if let Some(say) = rules(card.face.kind).waits_no_longer().filter(|_| n_waited > 0) {
            self.hub.tell(say).await?;
        }
        Ok(put_away.answer.to_owned())
    }
}
