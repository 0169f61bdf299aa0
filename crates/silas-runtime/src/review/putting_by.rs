//! Cards that go without a decision: put away by the owner, or nobody answered in time.

use super::dropped::{self, holds_up_wishes};
use crate::consumer::TURN;
use crate::{Stream, Trouble};
use silas_approval::house_rules::HouseRule;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::event::AuditEvent;
use silas_core::{CardId, Timestamp};
use silas_store::queue::{self, Name};
use silas_store::{Commit, cards, undo_records};
use std::sync::Arc;

impl Stream {
    /// Puts away a card that waits for nothing: a result, or one that is parked.
    pub async fn dismiss(self: &Arc<Self>, card_id: &CardId) -> Result<String, Trouble> {
        let id = card_id.clone();
        let stream = self.clone();
        let closing = self.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)? else { return Ok(Commit(None)) };
            let may_go = match card.face.kind {
                CardKind::Done | CardKind::Report => true,
                // One that was answered is about to be merged or done again.
                CardKind::Conflict | CardKind::SecureInput | CardKind::ModelChoice | CardKind::Decision => {
                    matches!(card.state, CardState::Open | CardState::Parked)
                }
                CardKind::Root
                | CardKind::Passkey
                | CardKind::UnknownEffect
                | CardKind::Refusal
                | CardKind::Model
                | CardKind::Budget
                | CardKind::Plan
                | CardKind::Step
                | CardKind::Rehearsed
                | CardKind::HouseRules
                | CardKind::Pairing => card.state == CardState::Parked,
            };
            let (mut posted, mut n_waited) = (None, 0);
            if may_go {
                card.state = CardState::Closed;
                cards::update(tx, &card)?;
                if card.face.kind == CardKind::Done {
                    let subject = cards::subject(tx, &id)?.unwrap_or_default();
                    posted = stream.offer_next(tx, &subject)?;
                }
                if holds_up_wishes(card.face.kind) {
                    // Every card was kept with a subject; one without waits for nothing.
                    let subject = cards::subject(tx, &id)?.unwrap_or_default();
                    n_waited = queue::take_key(tx, Name::Waiting, &subject, TURN)?.len();
                }
            }
            Ok(Commit(may_go.then_some((card, posted, n_waited))))
        });
        let Some((card, posted, n_waited)) = closing.await? else {
            let what = "This card waits for a decision, or was answered already.";
            return Err(Trouble::new("E_APPROVAL_CARD", what, "Approve or decline it."));
        };
        self.drop_versions(&card).await;
        self.publish_cards().await;
        if let Some(posted) = posted {
            self.deliver(posted);
        }
        if let Some(say) = dropped::in_words(card.face.kind, n_waited) {
            self.tell(say).await?;
        }
        let skipped = "Skipped. Nothing was stored, and what waited for it is dropped.";
        Ok(if card.face.kind == CardKind::SecureInput { skipped } else { "Put away." }.to_owned())
    }

    /// Time passes: cards that nobody answered are parked, undo windows close. Called about once a second.
    pub async fn tick(self: &Arc<Self>) -> Result<(), Trouble> {
        let now = self.clock.now();
        self.finish_operations(crate::tasks::OPERATION_REST).await;
        self.checkpoint_if_due().await?;
        self.end_what_was_stopped_waiting().await?;
        let open = self.store.read(cards::list_open).await?;
        for card in open.into_iter().filter(|card| is_late(card, now)) {
            self.put_by(card.id, now).await?;
        }
        self.close_undo_windows(now).await
    }

    /// Nobody answered in time: a question is parked, an offer to undo is over. Looked at again in the transaction, so
    /// that an answer in the last moment stands.
    async fn put_by(self: &Arc<Self>, id: CardId, now: Timestamp) -> Result<(), Trouble> {
        let late = id.clone();
        let stream = self.clone();
        let putting_by = self.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)?.filter(|card| is_late(card, now)) else {
                return Ok(Commit(None));
            };
            let (mut dropped, mut posted) = (None, None);
            let was = card.clone();
            if card.face.kind == CardKind::Done {
                card.state = CardState::Closed;
                let subject = cards::subject(tx, &id)?.unwrap_or_default();
                posted = stream.offer_next(tx, &subject)?;
            } else if card.face.kind == CardKind::Step {
                card.state = CardState::Closed;
            } else if card.face.kind == CardKind::Rehearsed {
                card.state = CardState::Closed;
                let subject = cards::subject(tx, &id)?.unwrap_or_default();
                dropped = stream.drop_result(tx, &subject, "Nobody decided about it in time.")?;
            } else {
                // What was kept for a card goes with its time; the question that is left does not need it.
                card = stream.without_merge(&card).unwrap_or(card);
                card.state = CardState::Parked;
                tx.record(&AuditEvent::CardParked { card: id.clone() })?;
            }
            cards::update(tx, &card)?;
            Ok(Commit(Some((was, dropped, posted))))
        });
        let Some((was, dropped, posted)) = putting_by.await? else { return Ok(()) };
        self.drop_versions(&was).await;
        if let Some(view) = dropped {
            self.throw_away(view).await;
        }
        if let Some(posted) = posted {
            self.deliver(posted);
        }
        // Silence is no yes; whoever waited goes on without.
        self.waiting.answer(&late, None);
        self.publish_cards().await;
        Ok(())
    }

    /// The kept old versions go when their time is over, if the house rules say so; without them they stay.
    async fn close_undo_windows(self: &Arc<Self>, now: Timestamp) -> Result<(), Trouble> {
        let over = self.store.read(move |tx| undo_records::list_over(tx, now)).await?;
        for execution in over {
            let engine = self.engine.clone();
            let asking = self.store.write(move |tx| Ok(Commit(engine.use_house_rule(tx, HouseRule::DropOldVersions)?)));
            if !asking.await? {
                return Ok(());
            }
            self.drop_old_versions(execution.id).await?;
        }
        Ok(())
    }
}

fn is_late(card: &Card, now: Timestamp) -> bool {
    card.state == CardState::Open && card.expires_at().is_some_and(|at| now >= at)
}
