//! Messages of the durable queue that could not be dealt with: given back, put aside after enough attempts, and tried
//! again if the owner says so. The hub lists them.

use crate::Trouble;
use crate::conversation::Conversation;
use crate::conversation::consumer::BACKOFF;
use crate::hub::dead_letters;
use crate::post::Wish;
use crate::view::{Update, WorkView};
use serde_json::Value;
use silas_core::event::AuditEvent;
use silas_core::message::{Answering, CameOf};
use silas_core::taint::Source;
use silas_core::{MessageId, Tainted};
use silas_store::queue::{self, ATTEMPTS_MAX, Kind, Lease, Nacked};
use silas_store::{Commit, Tx, answers, executions};
use std::sync::Arc;

impl Conversation {
    /// A message could not be dealt with: it comes again later. If it came often enough it is put aside, and the owner
    /// is told.
    pub(crate) async fn give_back(self: &Arc<Self>, lease: &Lease, kind: Kind, body: &Value, trouble: &Trouble) {
        tracing::warn!(message = %lease.message, %trouble, "a message could not be dealt with");
        let (conversation, lease, body, now) = (self.clone(), lease.clone(), body.clone(), self.house.clock.now());
        let reason = trouble.message.clone();
        let nacking = self.house.store.write(move |tx| {
            let Nacked::Dead = queue::nack(tx, &lease, now, BACKOFF)? else { return Ok(Commit(None)) };
            let message = lease.message.clone();
            let why = tx.text(&reason)?;
            tx.record(&AuditEvent::MessageDeadLettered { message, attempts: ATTEMPTS_MAX, reason: why })?;
            let said = Wish::read(kind, &body).ok().map(|wish| wish.message.id);
            // Whoever has it tried again pays for it again; what models said is not kept for that long.
            if let Some(message) = &said {
                answers::forget_turn(tx, message)?;
            }
            let refused = said.map(|message| Answering { message, came_of: CameOf::Refused });
            let what = dead_letters::what_it_was(tx, kind, &body)?;
            let todo = match kind {
                Kind::UserMessage | Kind::PlanRequest | Kind::PlanResult => {
                    "Say it again, or have it tried again with `silas queue revive`."
                }
                Kind::ExecutionStatus => "Look at the directory before you have it tried again.",
            };
            let sentence = format!("Put aside after {ATTEMPTS_MAX} attempts: {what}. {reason} {todo}");
            let work = put_aside(tx, &body)?;
            // The reason may quote a name on disk.
            let sentence = Tainted::new(sentence, Source::Elsewhere.taint());
            Ok(Commit(Some((conversation.hub.tell_about(tx, &sentence, refused)?, work))))
        });
        match nacking.await {
            Ok(None) => {}
            Ok(Some((posted, work))) => {
                if let Some(work) = work {
                    self.hub.publish(Update::Work { work });
                }
                self.hub.deliver(posted);
                self.hub.publish_activity().await;
            }
            // The lease runs out by itself.
            Err(cause) => tracing::error!(%cause, "a message could not be given back"),
        }
    }

    /// Has a message that was put aside delivered once more, with all its attempts before it. Nothing new is allowed by
    /// that: a message is answered as it came, and work needs the approval that it had.
    pub async fn revive(&self, message: &MessageId) -> Result<String, Trouble> {
        let id = message.clone();
        let reviving = self.house.store.write(move |tx| {
            let is_revived = queue::revive(tx, &id)?;
            if is_revived {
                tx.record(&AuditEvent::DeadLetterRevived { message: id.clone() })?;
            }
            Ok(Commit(is_revived))
        });
        if !reviving.await? {
            return Err(Trouble::new(
                "E_QUEUE_MESSAGE",
                "That message is not among those that were put aside. Nothing was changed.",
                "`silas queue list` shows them.",
            ));
        }
        self.hub.publish_activity().await;
        Ok("It is tried again.".to_owned())
    }
}

/// Work that was put aside does not look as if it ran.
fn put_aside(tx: &mut Tx<'_>, body: &Value) -> Result<Option<WorkView>, silas_store::Error> {
    let Some((execution, mut record)) = dead_letters::record_of(tx, body)? else { return Ok(None) };
    record.settle_steps();
    record.view.place = "Put aside".to_owned();
    record.view.footer = "Unfinished. Look at the directory".to_owned();
    executions::set_result(tx, &execution.id, &record.to_json()?, record.changeset.as_ref(), execution.undo_until)?;
    Ok(Some(record.view))
}
