//! Steps 11 to 13: the reply, the card and the processed mark, in one transaction, and only then sent.

use super::screen::Cleared;
use crate::{Stream, Trouble};
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::message::Message;
use silas_core::{MessageId, Taint};
use silas_store::{Commit, chronicle, inbound};

impl Stream {
    pub(super) async fn answer(&self, message: &Message, cleared: Cleared) -> Result<(), Trouble> {
        let (say, proposal) = cleared.into_parts();
        let question = proposal.map(|proposal| self.question(proposal, message)).transpose()?;
        let offers_card = question.is_some();
        let inbound_id = message.id.clone();
        let reply = chronicle::Entry {
            id: MessageId::new(self.random.as_ref()),
            sender: chronicle::Sender::Silas,
            // Computed from the owner's own words and from names on disk; a model's reply will carry its own taint.
            taint: message.taint.join(Taint::Auth),
            text: say,
            at: self.clock.now(),
        };
        let entry = reply.clone();
        let answering = self.store.write(move |tx| {
            chronicle::append(tx, &reply)?;
            let text = tx.text(&reply.text)?;
            tx.record(&AuditEvent::ReplySent { message: reply.id.clone(), text })?;
            if let Some(question) = &question {
                question.ask(tx)?;
            }
            match question.as_ref().and_then(|question| question.stands_in_the_way()) {
                Some(directory) => inbound::wait_for(tx, &inbound_id, directory)?,
                None => inbound::mark_processed(tx, &inbound_id)?,
            };
            Ok(Commit(()))
        });
        answering.await?;
        if offers_card {
            fail::point(FailPoint::CardOffered);
            self.publish_cards().await;
        }
        self.publish_entry(entry);
        self.publish_activity().await;
        Ok(())
    }

    pub(crate) fn publish_entry(&self, stored: chronicle::Entry) {
        self.publish(crate::view::Update::Message { entry: crate::stream::entry(stored) });
    }
}
