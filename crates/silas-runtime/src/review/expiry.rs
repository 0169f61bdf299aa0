//! Time passes: what nobody answered is parked or ends, and undo windows close.

use super::kinds::{Late, rules};
use crate::Trouble;
use crate::review::Review;
use silas_approval::house_rules::HouseRule;
use silas_core::card::{Card, CardState};
use silas_core::event::AuditEvent;
use silas_core::{CardId, Timestamp};
use silas_store::{Commit, cards, undo_records};
use std::sync::Arc;

impl Review {
    /// Cards that nobody answered are parked, undo windows close.
    pub(crate) async fn expire_late(self: &Arc<Self>) -> Result<(), Trouble> {
        let now = self.house.clock.now();
        let late = self.house.store.read(move |tx| cards::list_late(&tx.leaving_out(), now)).await?;
        for card in late.into_iter().filter(|card| is_late(card, now)) {
            self.expire(card.id, now).await?;
        }
        self.close_undo_windows(now).await
    }

    /// Nobody answered in time: a question is parked, an offer to undo is over. Looked at again in the transaction, so
    /// that an answer in the last moment stands.
    async fn expire(self: &Arc<Self>, id: CardId, now: Timestamp) -> Result<(), Trouble> {
        let late = id.clone();
        let review = self.clone();
        let expiring = self.house.store.write(move |tx| {
            let Some(card) = cards::get(tx, &id)?.filter(|card| is_late(card, now)) else {
                return Ok(Commit(None));
            };
            let was = card.clone();
            let subject = cards::subject(tx, &id)?.unwrap_or_default();
            let Late { card, dropped, posted } = rules(card.face.kind).late(&review, tx, card, &subject)?;
            cards::update(tx, &card)?;
            if card.state == CardState::Parked {
                tx.record(&AuditEvent::CardParked { card: id.clone() })?;
            }
            Ok(Commit(Some((was, dropped, posted))))
        });
        let Some((was, dropped, posted)) = expiring.await? else { return Ok(()) };
        self.work.drop_versions(&was).await;
        if let Some(view) = dropped {
            self.work.throw_away(view).await;
        }
        if let Some(posted) = posted {
            self.hub.deliver(posted);
        }
        // Silence is no yes; whoever waited goes on without.
        self.running.waiting.answer(&late, None);
        self.hub.publish_cards().await;
        Ok(())
    }

    /// Staging directories go when the time for undoing is over: that they do was said with the offer to undo, and what they
    /// held is kept elsewhere for a month. A house rule that covers it is named where there is one.
    async fn close_undo_windows(self: &Arc<Self>, now: Timestamp) -> Result<(), Trouble> {
        let over = self.house.store.read(move |tx| undo_records::list_over(tx, now)).await?;
        for execution in over {
            let engine = self.house.engine.clone();
            let asking =
                self.house.store.write(move |tx| Ok(Commit(engine.use_house_rule(tx, HouseRule::DropOldVersions)?)));
            asking.await?;
            self.work.drop_old_versions(execution.id).await?;
        }
        Ok(())
    }
}

fn is_late(card: &Card, now: Timestamp) -> bool {
    card.state == CardState::Open && card.expires_at().is_some_and(|at| now >= at)
}
