//! One message of the owner's, from arrival to reply. The numbers are the steps of a turn; those that are missing
//! belong to gates, memory and persona, which this version does not have.
//!
//! A message travels through the durable queue: accepting it enqueues and leases it in one transaction, answering it
//! acknowledges it in another, and in between it is handed over in memory. The queue's order is what keeps the turns of
//! a scope one after the other. A wish that takes a plan is handed on to the planner, and what that plans is handed back;
//! each has a place of its own in the queue, so the conversation goes on meanwhile.

use crate::Trouble;
use crate::conversation::Conversation;
use crate::post::{PlanAnswer, Wish};
use crate::running::Hold;
use route::Routed;
use silas_core::message::{Channel, HeardMessage, Message};
use silas_core::{MessageId, Scope, SessionId};
use silas_store::queue::Kind;
use std::sync::Arc;
use tokio::sync::watch;

pub(crate) mod accept;
mod answer;
mod ask;
mod hand_on;
mod help;
mod inquire;
mod linked;
mod look_up;
mod plan_with_model;
mod put_back;
mod route;
pub(crate) mod sample;
mod screen;

/// How a message came in.
#[derive(Clone, Copy)]
pub struct Came<'s> {
    pub channel: Channel,
    pub session: &'s SessionId,
    /// See [`crate::conversation::Conversation::n_stops`].
    pub n_stops: u64,
}

/// A message, and the lease under which it is answered.
pub(crate) struct Turn {
    /// In whose conversation the message was said and is answered.
    pub(crate) scope: Scope,
    pub(crate) message: Message,
    /// What the planner has answered to it already.
    planned: Option<Box<PlanAnswer>>,
    /// The message with which it all began.
    pub(crate) trace: MessageId,
    pub(crate) hold: Hold,
    /// What the answer will be called; a draft of it carries the same name.
    pub(crate) reply: MessageId,
    /// Moves with every stop that came after it was taken up.
    interrupted: watch::Receiver<u64>,
}

impl Turn {
    /// As it would enter the queue again.
    fn wish(&self) -> Wish {
        Wish { message: self.message.clone(), planned: self.planned.clone() }
    }
}

impl Conversation {
    /// Takes in what the owner said. Nothing is answered before it is on disk, and what is on disk will be answered.
    #[rustfmt::skip]
    pub async fn hear(self: &Arc<Self>, heard: HeardMessage, came: Came<'_>) -> Result<(), Trouble> {
        self.house.takes_in()?;                                               //        not while it goes away
        let screened = screen::input(heard)?;                           // 1      may halt
        let accepted = self.accept(screened, came).await?;              // 2, 3   taint, chronicle, queue
        if let Some(turn) = accepted {                                  //        else behind others: the consumer gets to it
            self.respond_soon(turn).await;
        }
        Ok(())
    }

    /// A message that somebody holds, ready to be dealt with.
    pub(super) fn turn(&self, scope: Scope, wish: Wish, trace: MessageId, hold: Hold) -> Turn {
        let reply = MessageId::new(self.house.random.as_ref());
        let Wish { message, planned } = wish;
        Turn { scope, message, planned, trace, hold, reply, interrupted: self.interrupts() }
    }

    /// Reflex answers at once. A model takes its time, and its channel must stay open meanwhile: for the sentences that
    /// come, and for the word that stops it.
    pub(crate) async fn respond_soon(self: &Arc<Self>, turn: Turn) {
        if turn.wish().is_for_a_model() && self.minds.has_model().await {
            let conversation = self.clone();
            self.think(async move { conversation.respond(turn).await });
        } else {
            self.respond(turn).await;
        }
    }

    /// The rest of a turn, from one hand to the next until it is answered. What comes by way of the consumer enters here.
    pub(crate) async fn respond(self: &Arc<Self>, mut turn: Turn) {
        loop {
            match self.go_on(&turn).await {
                Ok(Some(next)) => turn = next,
                Ok(None) => return,
                Err(trouble) => {
                    let body = serde_json::to_value(&turn.message).unwrap_or_default();
                    // Whoever said it hears of it in the same way, however far it had come.
                    return self.give_back(turn.hold.lease(), Kind::UserMessage, &body, &trouble).await;
                }
            }
        }
    }

    /// Answers it, or hands it on.
    #[rustfmt::skip]
    async fn go_on(self: &Arc<Self>, turn: &Turn) -> Result<Option<Turn>, Trouble> {
        let route   = match self.route(turn).await {                        // 7      reflex, or a model
            Routed::Answer(route)       => *route,
            Routed::HandedOn(wish, why) => return self.hand_on(turn, wish, why).await,
        };
        let cleared = screen::output(route);                                // 8
        self.answer(turn, cleared).await?;                                  // 11-13  chronicle, card, acknowledgement, send
        Ok(None)
    }
}
