//! Taking back what was applied: a decision of its own, and never over a later edit.

use crate::Trouble;
use crate::post::WORK;
use crate::question::Question;
use crate::running::Hold;
use crate::view::Update;
use crate::words::{count, name_of};
use crate::work::Work;
use crate::work_record::WorkRecord;
use silas_approval::Approved;
use silas_core::card::Card;
use silas_core::changeset::{ChangeOrder, FileDiff};
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::taint::Source;
use silas_core::{ExecutionId, Tainted, Timestamp, TokenId};
use silas_gates::scrub;
use silas_sandbox::{InPart, Recovered};
use silas_store::queue::{self, Lease};
use silas_store::{Commit, executions, tokens, undo_records};
use std::sync::Arc;
use std::time::Duration;

/// Of the names in a sentence; the ledger has all of them.
const NAMES_CHARS_MAX: usize = 120;

impl Work {
    pub(crate) async fn undo(self: &Arc<Self>, approved: Approved<ChangeOrder>, hold: Hold) -> Result<String, Trouble> {
        let launcher = self.house.launcher.clone();
        let evidence = approved.evidence().clone();
        let undone = tokio::task::spawn_blocking(move || launcher.undo(&evidence)).await;
        let order = approved.item();
        match undone {
            Ok(Ok(undone)) => {
                let token = approved.evidence().token.id()?;
                self.note_undone(approved.execution(), hold.lease(), order, undone.files, token).await
            }
            Ok(Err(silas_sandbox::Error::LaterEdit { paths })) => {
                self.note_not_undone(approved.execution(), hold.lease(), order, &paths).await?;
                Err(Trouble::new(
                    "E_SANDBOX_LATER_EDIT",
                    &format!("Not undone: {} changed since, and undo would overwrite it.", paths.join(", ")),
                    "Your version is in place.",
                ))
            }
            Ok(Err(silas_sandbox::Error::UndoneInPart { back, left, why })) => {
                let part = InPart { new: left, old: back, why };
                Err(self.note_undone_in_part(approved.execution(), hold.lease(), order, part).await?)
            }
            Ok(Err(error)) if is_open_ended(&error) => {
                tracing::warn!(code = error.code(), %error, "an undo was interrupted");
                let launcher = self.house.launcher.clone();
                let held = vec![approved.execution().clone()];
                let recovered = tokio::task::spawn_blocking(move || launcher.recover_held(held)).await;
                let recovered = recovered.map_err(|_| interrupted())?.map_err(|_| interrupted())?;
                let undone = self.reconcile_undo(approved.execution(), hold, &recovered).await?;
                undone.ok_or_else(interrupted)
            }
            Ok(Err(error)) => {
                tracing::warn!(code = error.code(), %error, "undo refused");
                self.end_undo(approved.execution(), hold.lease()).await?;
                if may_be_asked_again(&error) {
                    self.offer_undo_again(order).await?;
                }
                Err(Trouble::new(error.code(), &error.to_string(), "Nothing was undone; your files are as they were."))
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
    ) -> Result<Option<String>, Trouble> {
        let id = undo.clone();
        let order = self.house.store.read(move |tx| {
            let Some(execution) = executions::get(tx, &id)? else { return Ok(None) };
            Ok(tokens::get(tx, &execution.token)?.map(|stored| (execution.token, stored.payload)))
        });
        let (token, payload) = order.await?.ok_or_else(interrupted)?;
        let order: ChangeOrder = silas_core::canonical::read(&payload)?;
        let truth = recovered.iter().find(|truth| truth.execution == order.execution);
        match truth {
            Some(truth) if truth.state == ExecutionState::Undone => {
                self.note_undone(undo, hold.lease(), &order, truth.files, token).await.map(Some)
            }
            // Still being finished: the message stays, and the launcher is asked again when its lease has run out.
            Some(truth) if truth.problem.is_some() || truth.is_open => Err(interrupted()),
            _ => self.note_taken_back(undo, hold.lease(), &order, truth).await.map(|()| None),
        }
    }

    /// An undo that was interrupted, and of which nothing stands, or not all of it.
    async fn note_taken_back(
        self: &Arc<Self>,
        undo: &ExecutionId,
        lease: &Lease,
        order: &ChangeOrder,
        truth: Option<&Recovered>,
    ) -> Result<(), Trouble> {
        use silas_sandbox::Error::{LaterEdit, UndoneInPart};
        let sentence = match truth.and_then(|truth| truth.taken_back.clone()) {
            Some(LaterEdit { paths }) => return self.note_not_undone(undo, lease, order, &paths).await,
            Some(UndoneInPart { back, left, why }) => {
                let part = InPart { new: left, old: back, why };
                return self.note_undone_in_part(undo, lease, order, part).await.map(drop);
            }
            Some(why) => format!("An undo was interrupted and taken back: {why} Nothing is undone; ask again."),
            None => "An undo was interrupted before it began. Nothing was changed; ask again.".to_owned(),
        };
        self.end_undo(undo, lease).await?;
        self.offer_undo_again(order).await?;
        self.hub.tell(&sentence).await
    }

    /// Only some of the files could be put back: which ones is told and in the ledger, and the rest can still be undone.
    async fn note_undone_in_part(
        self: &Arc<Self>,
        undo: &ExecutionId,
        lease: &Lease,
        order: &ChangeOrder,
        part: InPart,
    ) -> Result<Trouble, Trouble> {
        let (undo, lease, now) = (undo.clone(), lease.clone(), self.house.clock.now());
        let (execution, changeset) = (order.execution.clone(), order.changeset);
        let names = |paths: &[String]| scrub::visible_line(&paths.join(", "), NAMES_CHARS_MAX);
        let sentence = format!(
            "Put back: {}. Still as the work left it: {}. {}",
            names(&part.old),
            names(&part.new),
            scrub::visible(&part.why)
        );
        let told = Tainted::new(sentence.clone(), Source::Elsewhere.taint());
        let work = self.clone();
        let noting = self.house.store.write(move |tx| {
            queue::ack(tx, &lease, WORK)?;
            executions::set_state(tx, &undo, ExecutionState::Ended, now)?;
            let files = u32::try_from(part.old.len()).unwrap_or(u32::MAX);
            let paths = tx.text(&part.old.join("\n"))?;
            tx.record(&AuditEvent::UndoneInPart { execution: execution.clone(), files, paths })?;
            if let Some(known) = executions::get(tx, &execution)?
                && let Some(mut record) =
                    known.result.and_then(|result| serde_json::from_value::<WorkRecord>(result).ok())
            {
                record.files = record.files.saturating_sub(files);
                record.view.place = "Applied in part".to_owned();
                record.view.footer = format!("{} put back, not all", count(files as usize, "file"));
                record.in_part = Some(part.clone());
                executions::set_result(tx, &execution, &record.to_json()?, Some(&changeset), known.undo_until)?;
            }
            Ok(Commit(work.hub.tell_in(tx, &told)?))
        });
        let posted = noting.await?;
        self.hub.deliver(posted);
        self.offer_undo_again(order).await?;
        self.hub.publish_activity().await;
        Ok(Trouble::new("E_SANDBOX_UNDONE_IN_PART", &sentence, "The rest can still be undone."))
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
        let now = self.house.clock.now();
        let work = self.clone();
        let noting = self.house.store.write(move |tx| {
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
                    Some((
                        record.view.clone(),
                        name_of(&record.directory),
                        super::sample::next_after(record.asked().unwrap_or_default()),
                    ))
                }
                None => None,
            };
            let place = view.as_ref().map_or_else(String::new, |(_, name, _)| format!(" in {name}"));
            let sentence = format!("Put {} back{place}, exactly as before.", count(files as usize, "file"));
            let next =
                view.as_ref().and_then(|(_, _, next)| *next).map_or_else(String::new, |next| format!("\n\n{next}"));
            // The directory's name is in what the owner signed.
            let posted = work.hub.tell_in(tx, &Tainted::new(format!("{sentence}{next}"), Source::Own.taint()))?;
            Ok(Commit(Some((posted, sentence, view))))
        });
        let (posted, sentence, view) = noting.await?.ok_or_else(interrupted)?;
        fail::point(FailPoint::UndoRecorded);
        if let Some((view, ..)) = view {
            self.hub.publish(Update::Work { work: view });
        }
        self.hub.deliver(posted);
        self.hub.publish_cards().await;
        self.hub.publish_activity().await;
        Ok(sentence)
    }

    async fn end_undo(&self, undo: &ExecutionId, lease: &Lease) -> Result<(), Trouble> {
        let (undo, lease, now) = (undo.clone(), lease.clone(), self.house.clock.now());
        let ending = self.house.store.write(move |tx| {
            queue::ack(tx, &lease, WORK)?;
            executions::set_state(tx, &undo, ExecutionState::Ended, now)?;
            Ok(Commit(()))
        });
        Ok(ending.await?)
    }

    /// The undo would have overwritten an edit: nothing was touched, a card says which file, and while the window lasts
    /// the undo is offered again, for when the edit is out of the way.
    async fn note_not_undone(
        self: &Arc<Self>,
        undo: &ExecutionId,
        lease: &Lease,
        order: &ChangeOrder,
        paths: &[String],
    ) -> Result<(), Trouble> {
        self.end_undo(undo, lease).await?;
        if let Some((record, _)) = self.record_of(&order.execution).await? {
            let face = self.house.words.later_edit(&record.facts(), paths);
            let card = self.house.card::<ChangeOrder>(face, "", None, Duration::ZERO)?;
            self.show_card(card, &order.execution).await?;
        }
        self.offer_undo_again(order).await
    }

    /// A decision about an undo is used up by trying; whoever could not be served is asked again while there is time.
    async fn offer_undo_again(self: &Arc<Self>, order: &ChangeOrder) -> Result<(), Trouble> {
        let Some((record, Some(undo_until))) = self.record_of(&order.execution).await? else { return Ok(()) };
        let left = undo_until.since(self.house.clock.now());
        if left.is_zero() {
            return Ok(());
        }
        let face = self.house.words.done(&record.facts(), record.files, left.as_secs().div_ceil(60) * 60);
        let card = self.house.card(face, record.view.work_item.as_str(), Some(order), left)?;
        self.show_card(card, &order.execution).await
    }

    /// What somebody has changed since in what an undo would put back, against what it would put there.
    pub async fn later_edits(&self, execution: &ExecutionId) -> Vec<FileDiff> {
        let (launcher, id) = (self.house.launcher.clone(), execution.clone());
        match tokio::task::spawn_blocking(move || launcher.later_edits(&id)).await {
            Ok(Ok(edits)) => edits,
            // It is a hint beside a button. What cannot be looked at now is looked at when the button is pressed, and
            // refused by name.
            Ok(Err(error)) => {
                tracing::debug!(code = error.code(), %error, "later edits are not known");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    async fn record_of(&self, execution: &ExecutionId) -> Result<Option<(WorkRecord, Option<Timestamp>)>, Trouble> {
        let id = execution.clone();
        let known = self.house.store.read(move |tx| executions::get(tx, &id)).await?;
        Ok(known.and_then(|known| {
            let record = serde_json::from_value::<WorkRecord>(known.result?).ok()?;
            Some((record, known.undo_until))
        }))
    }

    async fn show_card(&self, card: Card, about: &ExecutionId) -> Result<(), Trouble> {
        let question = Question::about(card, about.to_string());
        self.house.store.write(move |tx| Ok(Commit(question.ask(tx)?))).await?;
        self.hub.publish_cards().await;
        Ok(())
    }

    /// The undo window is over and the house rules allow it: the kept old versions go.
    pub(crate) async fn drop_old_versions(self: &Arc<Self>, execution: ExecutionId) -> Result<(), Trouble> {
        let launcher = self.house.launcher.clone();
        let id = execution.clone();
        let dropped = tokio::task::spawn_blocking(move || launcher.forget(&id)).await;
        if let Ok(Err(error)) = &dropped {
            // What is kept longer than needed harms nobody; trying every second would.
            tracing::warn!(code = error.code(), %error, "old versions are kept");
        }
        let noting = self.house.store.write_background(move |tx| {
            undo_records::close(tx, &execution)?;
            tx.record(&AuditEvent::UndoWindowClosed { execution: execution.clone() })?;
            Ok(Commit(()))
        });
        noting.await?;
        self.hub.publish_activity().await;
        Ok(())
    }
}

/// Whether what stood in the way of an undo may be gone the next time; a decision is used up by trying.
fn may_be_asked_again(error: &silas_sandbox::Error) -> bool {
    use silas_sandbox::Error::{AlreadySpent, Damaged, Refused, UndoClosed};
    !matches!(error, AlreadySpent | Damaged(_) | Refused(_) | UndoClosed(_))
}

fn interrupted() -> Trouble {
    Trouble::new("E_WORK_LOST", "The undo was interrupted.", "In a minute Silas looks what is true, and goes on.")
}

/// Whether an undo may have been committed although it was not answered.
fn is_open_ended(error: &silas_sandbox::Error) -> bool {
    use silas_sandbox::Error::{Cancelled, Full, Io, Lost, Unfinished};
    matches!(error, Cancelled | Full | Io { .. } | Lost | Unfinished { .. })
}
