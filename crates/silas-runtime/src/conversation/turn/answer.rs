//! Steps 11 to 13: the reply, its place in the outbox, the card and the acknowledgement, in one transaction, and only
//! then sent.

use super::Turn;
use super::screen::Cleared;
use crate::Trouble;
use crate::conversation::Conversation;
use crate::hub::Hub;
use crate::post::TURN;
use crate::questions::Proposal;
use crate::words::changed_name;
use silas_core::MessageId;
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::message::{Answering, CameOf};
use silas_core::taint::Source;
use silas_core::work::WorkItem;
use silas_store::{Commit, answers, chronicle, queue};
use std::sync::Arc;

impl Conversation {
    pub(super) async fn answer(self: &Arc<Self>, turn: &Turn, cleared: Cleared) -> Result<(), Trouble> {
        let sender = if cleared.is_quoted() { chronicle::Sender::Model } else { chronicle::Sender::Silas };
        let (came_of, warning) = (cleared.came_of(), cleared.warning().to_owned());
        let (say, proposal, noted) = cleared.into_parts();
        let tried_out = self.tried_out(proposal.as_ref(), &warning);
        let question =
            proposal.map(|proposal| self.questions.question(proposal, &turn.message.id, &turn.trace)).transpose()?;
        let offers_card = question.is_some();
        let obstacle = question.as_ref().and_then(|question| question.stands_in_the_way());
        let waiting = question.as_ref().zip(obstacle).map(|(question, what)| {
            let id = MessageId::new(self.house.random.as_ref());
            question.held_up(turn.wish()).waiting_for(what, id, &turn.scope, &turn.trace)
        });
        let waiting = waiting.transpose()?;
        let lease = turn.hold.lease().clone();
        let reply = chronicle::Entry {
            id: turn.reply.clone(),
            sender,
            // What went into the sentence, and never better than Silas's own words.
            taint: say.taint().join(Source::Own.taint()),
            text: say.peek().clone(),
            answers: Some(Answering { message: turn.message.id.clone(), came_of }),
            at: self.house.clock.now(),
        };
        let (conversation, trace, answered) = (self.clone(), turn.trace.clone(), turn.message.id.clone());
        let scope = turn.scope.clone();
        let answering = self.house.store.write(move |tx| {
            let is_ours = match &waiting {
                Some(waiting) => queue::ack_and_enqueue(tx, &lease, TURN, waiting)?,
                None => queue::ack(tx, &lease, TURN)?,
            };
            if !is_ours {
                return Ok(Commit(None));
            }
            answers::forget_turn(tx, &answered)?;
            let begun = match &tried_out {
                Some((item, _)) => conversation.work.begin_rehearsal(tx, item, &trace)?,
                None => None,
            };
            let reply = match tried_out.as_ref().filter(|_| begun.is_some()) {
                Some((_, say)) => {
                    let answers = Some(Answering { message: answered.clone(), came_of: CameOf::Begun });
                    chronicle::Entry { text: say.clone(), answers, ..reply.clone() }
                }
                None => reply.clone(),
            };
            let posted = Hub::post(tx, &scope, &reply)?;
            let text = tx.text(&reply.text)?;
            tx.record(&AuditEvent::ReplySent { message: reply.id.clone(), text })?;
            for event in &noted {
                tx.record(event)?;
            }
            if let Some(question) = question.as_ref().filter(|_| begun.is_none()) {
                question.ask(tx)?;
            }
            Ok(Commit(Some((posted, begun))))
        });
        let Some((posted, begun)) = answering.await? else {
            tracing::warn!(message = %turn.message.id, "somebody else has answered this message");
            return Ok(());
        };
        if let Some(beginning) = begun {
            fail::point(FailPoint::RehearsalBegun);
            self.work.spawn_work(beginning);
        } else if offers_card {
            fail::point(FailPoint::CardOffered);
            self.hub.publish_cards().await;
        }
        self.hub.deliver(posted);
        self.hub.publish_activity().await;
        Ok(())
    }

    /// A plan that is tried out before anybody is asked about it, if the house rules allow it, and what is said then.
    fn tried_out(&self, proposal: Option<&Proposal>, warning: &str) -> Option<(WorkItem, String)> {
        let Some(Proposal::Plan(item)) = proposal else { return None };
        if !self.work.would_rehearse(item) {
            return None;
        }
        let name = changed_name(&item.definition().directories);
        let say = format!(
            "Trying it out in a private copy of {name}. Your files are untouched; the result comes to Review.{warning}"
        );
        Some((item.as_ref().clone(), say))
    }
}
