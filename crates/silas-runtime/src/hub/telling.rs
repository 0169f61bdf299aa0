//! What Silas says by itself: a sentence in the Stream, with its entry in the ledger.

use super::{Hub, Posted};
use crate::Trouble;
use silas_core::event::AuditEvent;
use silas_core::message::Answering;
use silas_core::taint::Source;
use silas_core::{MessageId, Scope, Tainted};
use silas_store::{Commit, Tx, chronicle};
use std::sync::Arc;

impl Hub {
    /// A sentence of Silas's own in the Stream.
    pub(crate) async fn tell(self: &Arc<Self>, sentence: &str) -> Result<(), Trouble> {
        self.tell_tainted(Tainted::new(sentence.to_owned(), Source::Own.taint())).await
    }

    /// The same with somebody else's words in it.
    pub(crate) async fn tell_tainted(self: &Arc<Self>, sentence: Tainted<String>) -> Result<(), Trouble> {
        let hub = self.clone();
        let telling = self.house.store.write(move |tx| Ok(Commit(hub.tell_in(tx, &sentence)?)));
        self.deliver(telling.await?);
        Ok(())
    }

    /// The same, as part of a larger transaction; whoever commits it delivers the entry.
    pub(crate) fn tell_in(&self, tx: &mut Tx<'_>, sentence: &Tainted<String>) -> Result<Posted, silas_store::Error> {
        self.tell_about(tx, sentence, None)
    }

    /// The same where it is the last word about a message.
    pub(crate) fn tell_about(
        &self,
        tx: &mut Tx<'_>,
        sentence: &Tainted<String>,
        answers: Option<Answering>,
    ) -> Result<Posted, silas_store::Error> {
        let entry = chronicle::Entry {
            id: MessageId::new(self.house.random.as_ref()),
            sender: chronicle::Sender::Silas,
            taint: sentence.taint().join(Source::Own.taint()),
            text: sentence.peek().clone(),
            answers,
            at: self.house.clock.now(),
        };
        let posted = Hub::post(tx, &Scope::Owner, &entry)?;
        let text = tx.text(sentence.peek())?;
        tx.record(&AuditEvent::ReplySent { message: entry.id.clone(), text })?;
        Ok(posted)
    }

    /// Tells the doors from a thread that cannot wait: cards, activity and grants as they are now.
    pub(crate) fn publish_soon(self: &Arc<Self>) {
        let hub = self.clone();
        tokio::runtime::Handle::current().spawn(async move {
            hub.publish_cards().await;
            hub.publish_activity().await;
        });
    }
}
