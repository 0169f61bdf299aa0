//! Interrupted work that uses a secret, behind a locked vault: it waits for `silas unlock`, as long as it was given time.
//!
//! Its message stays in the queue, due when that time is over; opening the vault makes it due at once. Nothing of it runs
//! meanwhile, it can be stopped like anything else, and a restart finds it where it was. Its time runs on: an approval says
//! how long something may take from when it began, and a locked vault does not prolong it.

use super::{Hold, Running, Stop, WorkRecord, lost};
use crate::view::Update;
use crate::{Stream, Trouble};
use silas_approval::Admitted;
use silas_core::taint::Source;
use silas_core::{ExecutionId, Tainted, Timestamp};
use silas_store::queue::{self, Name};
use silas_store::{Commit, executions};
use std::sync::Arc;

const WAITS: &str = "Waits for the vault";

impl Stream {
    /// The work, if its approval lets it go on.
    pub(super) async fn still_admitted(&self, execution: &ExecutionId) -> Result<Option<Admitted>, Trouble> {
        let (engine, id) = (self.engine.clone(), execution.clone());
        Ok(self.store.read(move |tx| Ok(engine.readmit(tx, &id)?.ok())).await?)
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
        let title = silas_gates::scrub::visible_line(&view.title, 60);
        let sentence = format!(
            "\"{title}\" was interrupted and uses a secret. It goes on when you run `silas unlock` in the terminal; \
             the time that you gave it runs on."
        );
        // The title is what the owner approved; it need not be the owner's own word.
        let sentence = Tainted::new(sentence, Source::Elsewhere.taint());
        let (stream, lease, execution) = (self.clone(), hold.lease().clone(), view.execution.clone());
        let result = record.to_json()?;
        let waiting = self.store.write(move |tx| {
            if !queue::postpone(tx, &lease, until)? {
                return Ok(Commit(None));
            }
            executions::set_result(tx, &execution, &result, None, None)?;
            Ok(Commit(Some(if is_told { None } else { Some(stream.tell_in(tx, &sentence)?) })))
        });
        let posted = waiting.await?.ok_or_else(lost)?;
        let running = Running { waits: true, ..Running::new(view.clone()) };
        self.running().insert(view.execution.clone(), running);
        self.publish(Update::Work { work: view });
        if let Some(posted) = posted {
            self.deliver(posted);
        }
        // Opened while this was being written down: nobody else would say so.
        if !self.vault.is_locked() {
            self.hasten_work().await?;
        }
        Ok(())
    }

    /// The vault is open, or something that waits for it was stopped: whoever waits looks again.
    pub(crate) async fn hasten_work(&self) -> Result<(), Trouble> {
        let hastening = self.store.write_buffered(|tx| Ok(Commit(queue::hasten(tx, Name::Work)?)));
        hastening.await?;
        Ok(())
    }

    /// Whether the owner stopped it, or took its approval back, while it waited.
    pub(super) fn was_stopped_waiting(&self, execution: &ExecutionId) -> bool {
        self.running().get(execution).is_some_and(|running| running.waits && *running.stop.borrow() == Stop::Owner)
    }

    /// What was stopped while it waited is ended now and not when its time is over.
    pub(crate) async fn end_what_was_stopped_waiting(&self) -> Result<(), Trouble> {
        let any = self.running().values().any(|running| running.waits && *running.stop.borrow() == Stop::Owner);
        if any { self.hasten_work().await } else { Ok(()) }
    }
}
