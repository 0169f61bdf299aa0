//! Interrupted work that uses a secret, behind a locked vault: it waits for `silas unlock`, as long as it was given time.
//!
//! Its message stays in the queue, due when that time is over; opening the vault makes it due at once. Nothing of it runs
//! meanwhile, it can be stopped like anything else, and a restart finds it where it was. Its time runs on: an approval says
//! how long something may take from when it began, and a locked vault does not prolong it.

use super::lost;
use crate::Trouble;
use crate::running::{Hold, RunningWork, Stop};
use crate::view::Update;
use crate::work::Work;
use crate::work_record::WorkRecord;
use silas_approval::Admitted;
use silas_core::taint::Source;
use silas_core::{ExecutionId, Tainted, Timestamp, hidden};
use silas_gates::scrub;
use silas_store::{Commit, executions, queue};
use std::sync::Arc;
use std::time::Duration;

const WAITS: &str = "Waits for the vault";

impl Work {
    /// The work, if its approval lets it go on.
    pub(super) async fn still_admitted(
        &self,
        execution: &ExecutionId,
        rested: Duration,
    ) -> Result<Option<Admitted>, Trouble> {
        let (engine, id) = (self.house.engine.clone(), execution.clone());
        Ok(self.house.store.read(move |tx| Ok(engine.readmit_rested(tx, &id, rested)?.ok())).await?)
    }

    /// Puts it back into the queue, says so once, and shows it among what is under way.
    pub(super) async fn wait_for_vault(
        self: &Arc<Self>,
        mut record: WorkRecord,
        hold: Hold,
        until: Timestamp,
    ) -> Result<(), Trouble> {
        let is_told = record.view.place == WAITS;
        record.view.place = WAITS.to_owned();
        record.view.footer = "Goes on when you run `silas unlock`".to_owned();
        let view = record.view.clone();
        let title = hidden::quotation(&scrub::visible_line(&view.title, 60));
        let sentence = format!(
            "{title} was interrupted and uses a secret. It goes on when you run `silas unlock` in the terminal; \
             the time that you gave it runs on."
        );
        // The title is what the owner approved; it need not be the owner's own word.
        let sentence = Tainted::new(sentence, Source::Elsewhere.taint());
        let (work, lease, execution) = (self.clone(), hold.lease().clone(), view.execution.clone());
        let result = record.to_json()?;
        let waiting = self.house.store.write(move |tx| {
            if !queue::postpone(tx, &lease, until)? {
                return Ok(Commit(None));
            }
            executions::set_result(tx, &execution, &result, None, None)?;
            Ok(Commit(Some(if is_told { None } else { Some(work.hub.tell_in(tx, &sentence)?) })))
        });
        let posted = waiting.await?.ok_or_else(lost)?;
        self.running.work().insert(view.execution.clone(), RunningWork::waiting(view.clone()));
        self.hub.publish(Update::Work { work: view });
        if let Some(posted) = posted {
            self.hub.deliver(posted);
        }
        // Opened while this was being written down: nobody else would say so.
        if !self.trust.vault().is_locked() {
            self.house.hasten_work().await?;
        }
        Ok(())
    }

    /// Whether the owner stopped it, or took its approval back, while it waited.
    pub(super) fn was_stopped_waiting(&self, execution: &ExecutionId) -> bool {
        self.running.work().get(execution).is_some_and(|running| running.waits && running.stop_wanted() == Stop::Owner)
    }

    /// What was stopped while it waited is ended now and not when its time is over.
    pub(crate) async fn end_what_was_stopped_waiting(&self) -> Result<(), Trouble> {
        let any = self.running.work().values().any(|running| running.waits && running.stop_wanted() == Stop::Owner);
        if any { self.house.hasten_work().await } else { Ok(()) }
    }
}
