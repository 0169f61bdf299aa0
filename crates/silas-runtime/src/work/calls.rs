//! Calls that wait for the owner: asked by a card of their own, answered once, and then made or not.
//!
//! The run that wants the call waits here; the card is kept like any other. If Silas goes away meanwhile, the run is begun
//! again, wants the same again, and finds its question where it was. Nobody's silence is a yes.

use crate::Trouble;
use crate::question::Question;
use crate::running::Answer;
use crate::work::Work;
use silas_core::CardId;
use silas_core::call_order::CallOrder;
use silas_core::card::{Card, CardState};
use silas_core::{Scope, canonical};
use silas_store::{Commit, cards};
use std::time::Duration;

/// How long such a card waits. The work stands still meanwhile and its time runs.
const WAITS_FOR: Duration = Duration::from_secs(120);

impl Work {
    /// Asks the owner about exactly this call and waits for the answer. `None` unless it was approved and that is spent.
    pub(crate) async fn ask_about_call(&self, order: &CallOrder) -> Result<Answer, Trouble> {
        let payload = canonical::text(order)?;
        let subject = order.execution.to_string();
        let lasts = WAITS_FOR.min(self.house.options.plan_timeout);
        let card = self.house.card(self.house.words.step(order), &subject, Some(order), lasts)?;
        let question = Question::about(card, subject.clone());
        let asking = self.house.store.write(move |tx| {
            let is_same = |card: &Card| card.state == CardState::Open && card.payload.as_deref() == Some(&*payload);
            let asked = cards::find_by_subject(tx, &Scope::Owner, &subject)?.into_iter().find(is_same);
            Ok(Commit(match asked {
                Some(card) => card,
                None => question.ask(tx)?,
            }))
        });
        let card = asking.await?;
        let answer = self.running.waiting.wait(&card.id, &order.execution);
        // It may have been answered before anybody waited: then nobody will be woken, and it counts as not approved. Looked
        // at before the card is told of, so that an answer to that is not taken for an earlier one.
        let id = card.id.clone();
        let is_open =
            self.house.store.read(move |tx| Ok(cards::get(tx, &id)?.is_some_and(|card| card.state == CardState::Open)));
        if !is_open.await? {
            self.running.waiting.answer(&card.id, None);
        }
        self.hub.publish_cards().await;
        // Whoever would answer is gone: a stopped run, or Silas itself.
        let answer = answer.await.unwrap_or(None);
        // A question that was open at the stop is found again after it.
        if answer.is_none() && !self.house.is_stopping() {
            self.close_call(&card.id).await?;
        }
        // Approved is this very call and no other.
        Ok(answer.filter(|approved| approved.item() == order))
    }

    /// A question that nobody waits for is not left open.
    async fn close_call(&self, card: &CardId) -> Result<(), Trouble> {
        let id = card.clone();
        let closing = self.house.store.write(move |tx| {
            let Some(mut card) = cards::get(tx, &id)?.filter(|card| card.state == CardState::Open) else {
                return Ok(Commit(false));
            };
            card.state = CardState::Closed;
            cards::update(tx, &card)?;
            Ok(Commit(true))
        });
        if closing.await? {
            self.hub.publish_cards().await;
        }
        Ok(())
    }
}
