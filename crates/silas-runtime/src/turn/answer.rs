//! Steps 11 to 13: the reply, its place in the outbox, the card and the acknowledgement, in one transaction, and only
//! then sent.

use super::Turn;
use super::screen::Cleared;
use crate::consumer::TURN;
use crate::{Stream, Trouble};
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::taint::Source;
use silas_store::{Commit, chronicle, queue};

impl Stream {
    pub(super) async fn answer(&self, turn: &Turn, cleared: Cleared) -> Result<(), Trouble> {
        let (say, proposal, noted) = cleared.into_parts();
        let question = proposal.map(|proposal| self.question(proposal, turn)).transpose()?;
        let offers_card = question.is_some();
        let obstacle = question.as_ref().and_then(|question| question.stands_in_the_way());
        let waiting = obstacle.map(|what| self.waiting(&turn.message, &turn.trace, what)).transpose()?;
        let lease = turn.hold.lease().clone();
        let reply = chronicle::Entry {
            id: turn.reply.clone(),
            sender: chronicle::Sender::Silas,
            // What went into the sentence, and never better than Silas's own words.
            taint: say.taint().join(Source::Own.taint()),
            text: say.peek().clone(),
            at: self.clock.now(),
        };
        let answering = self.store.write(move |tx| {
            let is_ours = match &waiting {
                Some(waiting) => queue::ack_and_enqueue(tx, &lease, TURN, waiting)?,
                None => queue::ack(tx, &lease, TURN)?,
            };
            if !is_ours {
                return Ok(Commit(None));
            }
            let posted = Stream::post(tx, &reply)?;
            let text = tx.text(&reply.text)?;
            tx.record(&AuditEvent::ReplySent { message: reply.id.clone(), text })?;
            for event in &noted {
                tx.record(event)?;
            }
            if let Some(question) = &question {
                question.ask(tx)?;
            }
            Ok(Commit(Some(posted)))
        });
        let Some(posted) = answering.await? else {
            tracing::warn!(message = %turn.message.id, "somebody else has answered this message");
            return Ok(());
        };
        if offers_card {
            fail::point(FailPoint::CardOffered);
            self.publish_cards().await;
        }
        self.deliver(posted);
        self.publish_activity().await;
        Ok(())
    }
}
