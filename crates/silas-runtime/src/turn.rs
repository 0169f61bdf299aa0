//! One message of the owner's, from arrival to reply. The numbers are the steps of a turn; those that are missing
//! belong to gates, memory and persona, which this version does not have.
//!
//! A message travels through the durable queue: accepting it enqueues and leases it in one transaction, answering it
//! acknowledges it in another, and in between it is handed over in memory. The queue's order is what keeps the turns of
//! a scope one after the other.

use crate::consumer::Hold;
use crate::{Stream, Trouble};
use silas_core::message::{Channel, HeardMessage, Message};
use silas_core::reflex::{self, Decision};
use silas_core::{MessageId, SessionId};
use silas_store::queue::Kind;
use std::sync::Arc;

pub(crate) mod accept;
mod answer;
mod ask;
mod help;
mod inquire;
mod look_up;
mod plan_with_model;
mod put_back;
mod route;
pub(crate) mod sample;
mod screen;
pub(crate) use ask::date;

/// A message, and the lease under which it is answered.
pub(crate) struct Turn {
    pub(crate) message: Message,
    /// The message with which it all began.
    pub(crate) trace: MessageId,
    pub(crate) hold: Hold,
    /// What the answer will be called; a draft of it carries the same name.
    pub(crate) reply: MessageId,
}

impl Stream {
    /// Takes in what the owner said. Nothing is answered before it is on disk, and what is on disk will be answered.
    #[rustfmt::skip]
    pub async fn hear(self: &Arc<Self>, heard: HeardMessage, channel: Channel, session: &SessionId) -> Result<(), Trouble> {
        let screened = screen::input(heard)?;                           // 1      may halt
        let accepted = self.accept(screened, channel, session).await?;  // 2, 3   taint, chronicle, queue
        if let Some(turn) = accepted {                                  //        else behind others: the consumer gets to it
            self.respond_soon(turn).await;
        }
        Ok(())
    }

    /// Reflex answers at once. A model takes its time, and its channel must stay open meanwhile: for the sentences that
    /// come, and for the word that stops it.
    pub(crate) async fn respond_soon(self: &Arc<Self>, turn: Turn) {
        let is_for_a_model = turn.message.taint.may_ask()
            && (turn.message.handed.is_some() || reflex::decide(&turn.message.text) == Decision::NotUnderstood);
        if is_for_a_model && self.has_model().await {
            let stream = self.clone();
            self.think(async move { stream.respond(turn).await });
        } else {
            self.respond(turn).await;
        }
    }

    /// The rest of a turn. A message that comes by way of the consumer enters here.
    #[rustfmt::skip]
    pub(crate) async fn respond(self: &Arc<Self>, turn: Turn) {
        let route    = self.route(&turn).await;                 // 7      reflex, or a model
        let cleared  = screen::output(route);                   // 8
        let answered = self.answer(&turn, cleared).await;       // 11-13  chronicle, card, acknowledgement, send
        if let Err(trouble) = answered {
            self.try_again_later(&turn, &trouble).await;
        }
    }

    async fn try_again_later(self: &Arc<Self>, turn: &Turn, trouble: &Trouble) {
        let body = serde_json::to_value(&turn.message).unwrap_or_default();
        self.give_back(turn.hold.lease(), Kind::UserMessage, &body, trouble).await;
    }
}
