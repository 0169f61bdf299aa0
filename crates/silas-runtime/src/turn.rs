//! One message of the owner's, from arrival to reply. The numbers are the steps of a turn; those that are missing
//! belong to gates, memory and persona, which this version does not have.
//!
//! A message travels through the durable queue: accepting it enqueues and leases it in one transaction, answering it
//! acknowledges it in another, and in between it is handed over in memory. The queue's order is what keeps the turns of
//! a scope one after the other.

use crate::consumer::Hold;
use crate::{Stream, Trouble};
use silas_core::message::{Channel, HeardMessage, Message};
use silas_core::{MessageId, SessionId};
use silas_store::queue::Kind;
use std::sync::Arc;

pub(crate) mod accept;
mod answer;
mod put_back;
mod route;
mod screen;

/// A message, and the lease under which it is answered.
pub(crate) struct Turn {
    pub(crate) message: Message,
    /// The message with which it all began.
    pub(crate) trace: MessageId,
    pub(crate) hold: Hold,
}

impl Stream {
    /// Takes in what the owner said. Nothing is answered before it is on disk, and what is on disk will be answered.
    #[rustfmt::skip]
    pub async fn hear(self: &Arc<Self>, heard: HeardMessage, channel: Channel, session: &SessionId) -> Result<(), Trouble> {
        let screened = screen::input(heard)?;                           // 1      may halt
        let accepted = self.accept(screened, channel, session).await?;  // 2, 3   taint, chronicle, queue
        if let Some(turn) = accepted {                                  //        else behind others: the consumer gets to it
            self.respond(turn).await;
        }
        Ok(())
    }

    /// The rest of a turn. A message that comes by way of the consumer enters here.
    #[rustfmt::skip]
    pub(crate) async fn respond(self: &Arc<Self>, turn: Turn) {
        let route    = self.route(&turn.message).await;         // 7      reflex, or a model
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
