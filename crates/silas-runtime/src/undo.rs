//! Taking back what was applied: a decision of its own, and never over a later edit.

use crate::consumer::{Hold, WORK};
use crate::view::Update;
use crate::words::{ResultFacts, count, name_of};
use crate::work::WorkRecord;
use crate::{Stream, Trouble};
use silas_approval::Approved;
use silas_core::changeset::ChangeOrder;
use silas_core::check::Outcome;
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::{ExecutionId, TokenId};
use silas_sandbox::Recovered;
use silas_store::queue::{self, Lease};
use silas_store::{Commit, cards, executions, tokens};
use std::sync::Arc;

impl Stream {
    pub(crate) async fn undo(self: &Arc<Self>, approved: Approved<ChangeOrder>, hold: Hold) -> Result<String, Trouble> {
        let launcher = self.launcher.clone();
        let evidence = approved.evidence().clone();
        let undone = tokio::task::spawn_blocking(move || launcher.undo(&evidence)).await;
        let order = approved.item();
        match undone {
            Ok(Ok(undone)) => {
                let token = approved.evidence().token.id()?;
                self.note_undone(approved.execution(), hold.lease(), order, undone.files, token).await
            }
            Ok(Err(silas_sandbox::Error::LaterEdit { paths })) => {
                self.note_not_undone(approved.execution(), hold.lease(), &order.execution, &paths).await?;
                Err(Trouble::new(
                    "E_SANDBOX_LATER_EDIT",
                    &format!("Not undone: you changed {} since, and undo would overwrite it.", paths.join(", ")),
                    "Your version is in place.",
                ))
            }
            Ok(Err(error)) => {
                tracing::warn!(code = error.code(), %error, "undo refused");
                self.end_undo(approved.execution(), hold.lease()).await?;
                Err(Trouble::new(error.code(), &error.to_string(), "Your files are as they were."))
            }
            // The lease runs out, and the consumer asks the launcher what is true.
            Err(_) => Err(interrupted()),
        }
    }

    /// After a restart: an undo that was under way is done or was never begun; the launcher knows which.
    pub(crate) async fn reconcile_undo(
        self: &Arc<Self>,
        undo: &ExecutionId,
        hold: Hold,
        recovered: &[Recovered],
    ) -> Result<(), Trouble> {
        let id = undo.clone();
        let order = self.store.read(move |tx| {
            let Some(execution) = executions::get(tx, &id)? else { return Ok(None) };
            Ok(tokens::get(tx, &execution.token)?.map(|stored| (execution.token, stored.payload)))
        });
        let (token, payload) = order.await?.ok_or_else(interrupted)?;
        let order: ChangeOrder = silas_core::canonical::read(&payload)?;
        let truth = recovered.iter().find(|truth| truth.execution == order.execution);
        match truth {
            Some(truth) if truth.state == ExecutionState::Undone => {
                self.note_undone(undo, hold.lease(), &order, truth.files, token).await?;
            }
            _ => {
                self.end_undo(undo, hold.lease()).await?;
                self.tell("An undo was interrupted before it began. Nothing was changed; ask again.").await?;
            }
        }
        Ok(())
    }

    async fn note_undone(
        self: &Arc<Self>,
        undo: &ExecutionId,
        lease: &Lease,
        order: &ChangeOrder,
        files: u32,
        token: TokenId,
    ) -> Result<String, Trouble> {
        let (undo, lease, execution, changeset) =
            (undo.clone(), lease.clone(), order.execution.clone(), order.changeset);
        let now = self.clock.now();
        let stream = self.clone();
        let noting = self.store.write(move |tx| {
            if !queue::ack(tx, &lease, WORK)? {
                return Ok(Commit(None));
            }
            executions::set_state(tx, &undo, ExecutionState::Ended, now)?;
            executions::set_state(tx, &execution, ExecutionState::Undone, now)?;
            tx.record(&AuditEvent::WorkUndone {
                execution: execution.clone(),
                changeset,
                files,
                token: token.clone(),
            })?;
            let known = executions::get(tx, &execution)?;
            let record = known.and_then(|known| serde_json::from_value::<WorkRecord>(known.result?).ok());
            let view = match record {
                Some(mut record) => {
                    record.view.place = "Undone".to_owned();
                    record.view.footer = format!("{} put back", count(files as usize, "file"));
                    executions::set_result(tx, &execution, &record.to_json()?, Some(&changeset), None)?;
                    Some((record.view.clone(), name_of(&record.directory)))
                }
                None => None,
            };
            let place = view.as_ref().map_or_else(String::new, |(_, name)| format!(" in {name}"));
            let sentence = format!("Put {} back{place}, exactly as before.", count(files as usize, "file"));
            let entry = stream.tell_in(tx, &sentence)?;
            Ok(Commit(Some((entry, sentence, view))))
        });
        let (entry, sentence, view) = noting.await?.ok_or_else(interrupted)?;
        fail::point(FailPoint::UndoRecorded);
        if let Some((view, _)) = view {
            self.publish(Update::Work { work: view });
        }
        self.publish_entry(entry);
        self.publish_cards().await;
        self.publish_activity().await;
        Ok(sentence)
    }

    async fn end_undo(&self, undo: &ExecutionId, lease: &Lease) -> Result<(), Trouble> {
        let (undo, lease, now) = (undo.clone(), lease.clone(), self.clock.now());
        let ending = self.store.write(move |tx| {
            queue::ack(tx, &lease, WORK)?;
            executions::set_state(tx, &undo, ExecutionState::Ended, now)?;
            Ok(Commit(()))
        });
        Ok(ending.await?)
    }

    /// The undo would have overwritten an edit: nothing was touched, and a card says which file.
    async fn note_not_undone(
        self: &Arc<Self>,
        undo: &ExecutionId,
        lease: &Lease,
        execution: &ExecutionId,
        paths: &[String],
    ) -> Result<(), Trouble> {
        self.end_undo(undo, lease).await?;
        let id = execution.clone();
        let known = self.store.read(move |tx| executions::get(tx, &id)).await?;
        let record = known.and_then(|known| serde_json::from_value::<WorkRecord>(known.result?).ok());
        let Some(record) = record else { return Ok(()) };
        let facts = ResultFacts {
            asked: &record.asked,
            directory: &record.directory,
            outcome: record.view.outcome.unwrap_or(Outcome::Failed),
            before: &record.before,
            after: &record.after,
            diffs: &record.diffs,
            outputs: &[],
            took_ms: record.took_ms,
        };
        let card =
            self.card::<ChangeOrder>(self.words.later_edit(&facts, paths), "", None, std::time::Duration::ZERO)?;
        let subject = execution.to_string();
        let asking = self.store.write(move |tx| {
            cards::insert(tx, &card, &subject)?;
            Ok(Commit(()))
        });
        asking.await?;
        self.publish_cards().await;
        Ok(())
    }

    /// The undo window is over and the house rules allow it: the kept old versions go.
    pub(crate) async fn drop_old_versions(self: &Arc<Self>, execution: ExecutionId) -> Result<(), Trouble> {
        let launcher = self.launcher.clone();
        let id = execution.clone();
        let dropped = tokio::task::spawn_blocking(move || launcher.forget(&id)).await;
        if let Ok(Err(error)) = &dropped {
            // Kept longer than needed is harmless; the next start tries again.
            tracing::warn!(code = error.code(), %error, "old versions are kept");
            return Ok(());
        }
        let noting = self.store.write_background(move |tx| {
            tx.record(&AuditEvent::UndoWindowClosed { execution: execution.clone() })?;
            Ok(Commit(()))
        });
        noting.await?;
        self.publish_activity().await;
        Ok(())
    }
}

fn interrupted() -> Trouble {
    Trouble::new("E_WORK_LOST", "The undo was interrupted.", "In a minute Silas looks what is true, and goes on.")
}
