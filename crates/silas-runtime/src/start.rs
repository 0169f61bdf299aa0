//! Coming back to life: what was acknowledged before the last stop is taken up where it was left. The leases of the last
//! life are void; the launcher's word comes first, then the consumer takes up what the queue holds.

use crate::listeners::Posted;
use crate::work::Stop;
use crate::{Parts, Stream, Trouble};
use silas_core::device::Certificate;
use silas_core::event::AuditEvent;
use silas_core::message::Answering;
use silas_core::roots::{RootGrant, RootKind};
use silas_core::taint::Source;
use silas_core::{MessageId, Tainted};
use silas_store::queue::{self, Name};
use silas_store::{Commit, Tx, chronicle, devices, ledger, rotations, sessions, settings};
use std::sync::Arc;
use std::time::Duration;

/// The setting that remembers the offer of the first directory.
const FIRST_ROOT_OFFERED: &str = "first_root_offered";

impl Stream {
    /// Opens the stream: writes down the start, finishes what was committed, goes on with what was interrupted.
    pub async fn start(parts: Parts, terminal: Certificate, version: &str) -> Result<Arc<Stream>, Trouble> {
        let stream = Arc::new(Stream::new(parts));
        stream.enter_epoch().await?;
        stream.know_server_keys().await?;
        stream.know_checkpoints().await?;
        stream.know_revocations().await?;
        stream.know_passkeys().await?;
        stream.note_start_of_stream(terminal, version).await?;
        stream.reword_cards().await?;
        stream.restore_outbox().await?;
        let recovered = stream.recover().await?;
        stream.finish_operations(Duration::ZERO).await;
        stream.settle_waiting(&recovered).await?;
        stream.settle_inputs().await?;
        stream.take_up_the_past(&recovered).await?;
        stream.start_consumer();
        stream.offer_first_root().await?;
        stream.tell_if_locked().await?;
        stream.ask_for_new_house_rules().await?;
        Ok(stream)
    }

    async fn note_start_of_stream(&self, terminal: Certificate, version: &str) -> Result<(), Trouble> {
        let anchor = self.engine.anchor().clone();
        let version = version.to_owned();
        let (vault_number, is_locked) = (self.vault.number()?, self.vault.is_locked());
        let noting = self.store.write(move |tx| {
            let is_new = ledger::head(tx)?.is_none();
            if is_new {
                tx.record(&AuditEvent::InstallationCreated {
                    installation: anchor.installation.clone(),
                    root: anchor.root.id(),
                })?;
            }
            if devices::get(tx, &terminal.body.key)?.is_none() {
                // The first of them comes with the installation.
                if !is_new {
                    tx.record(&AuditEvent::TerminalCertified { key: terminal.body.key.clone() })?;
                }
                devices::insert(tx, &terminal)?;
            }
            rotations::note_vault_key(tx, vault_number)?;
            queue::requeue_leased(tx)?;
            if !is_locked {
                queue::hasten(tx, Name::Work)?;
            }
            sessions::restore(tx)?;
            tx.record(&AuditEvent::StreamStarted { version: version.clone() })?;
            Ok(Commit(()))
        });
        Ok(noting.await?)
    }

    /// With no directory named yet, the one in which Silas was started is offered, if it may be granted at all.
    async fn offer_first_root(&self) -> Result<(), Trouble> {
        let Some(start_dir) = self.options.start_dir.clone() else { return Ok(()) };
        if !self.roots().await?.is_empty() {
            return Ok(());
        }
        let Ok(place) = self.places.resolve(".", &start_dir) else { return Ok(()) };
        let question = self.root_question(&RootGrant { kind: RootKind::Root, place })?;
        let asking = self.store.write(move |tx| {
            // Offered once: whoever declined it, or let it pass, is not asked at every start.
            if settings::get::<bool>(tx, FIRST_ROOT_OFFERED)?.is_none() {
                settings::set(tx, FIRST_ROOT_OFFERED, &true)?;
                question.ask(tx)?;
            }
            Ok(Commit(()))
        });
        Ok(asking.await?)
    }

    /// A sentence of Silas's own in the Stream.
    pub(crate) async fn tell(self: &Arc<Self>, sentence: &str) -> Result<(), Trouble> {
        self.tell_tainted(Tainted::new(sentence.to_owned(), Source::Own.taint())).await
    }

    /// The same with somebody else's words in it.
    pub(crate) async fn tell_tainted(self: &Arc<Self>, sentence: Tainted<String>) -> Result<(), Trouble> {
        let stream = self.clone();
        let telling = self.store.write(move |tx| Ok(Commit(stream.tell_in(tx, &sentence)?)));
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
            id: MessageId::new(self.random.as_ref()),
            sender: chronicle::Sender::Silas,
            taint: sentence.taint().join(Source::Own.taint()),
            text: sentence.peek().clone(),
            answers,
            at: self.clock.now(),
        };
        let posted = Stream::post(tx, &entry)?;
        let text = tx.text(sentence.peek())?;
        tx.record(&AuditEvent::ReplySent { message: entry.id.clone(), text })?;
        Ok(posted)
    }

    /// Tells the doors from a thread that cannot wait: cards, activity and grants as they are now.
    pub(crate) fn publish_soon(self: &Arc<Self>) {
        let stream = self.clone();
        tokio::runtime::Handle::current().spawn(async move {
            stream.publish_cards().await;
            stream.publish_activity().await;
        });
    }

    /// Stops taking work, ends what runs, and writes down the stop.
    pub async fn stop(&self) -> Result<(), Trouble> {
        self.stop_consumer().await;
        self.stop_thinking().await;
        self.stop_work(None, Stop::Leaving);
        let noting = self.store.write(|tx| {
            tx.record(&AuditEvent::StreamStopped {})?;
            Ok(Commit(()))
        });
        noting.await?;
        self.checkpoint().await
    }
}
