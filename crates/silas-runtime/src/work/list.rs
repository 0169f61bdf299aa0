//! The work that was approved, newest first, with what became of each.

use crate::Trouble;
use crate::view::{WorkItemView, WorkListPage};
use crate::work::Work;
use crate::work_record::WorkRecord;
use silas_core::Scope;
use silas_core::execution::ExecutionState;
use silas_store::executions::{self, Execution};

/// Given out at once: each is read with all that is known about it. The rest is counted and can be asked for.
const LISTED_MAX: u32 = 100;

impl Work {
    /// The work from number `from` on, counted from 0 with the newest.
    pub async fn work_list(&self, from: u32) -> Result<WorkListPage, Trouble> {
        let looking = self.house.store.read(move |tx| {
            let listed = executions::recent_from(&tx.leaving_out(), &Scope::Owner, from, LISTED_MAX)?;
            Ok((listed, executions::n_with_result(tx, &Scope::Owner)?))
        });
        let (recent, n_all) = looking.await?;
        let n_seen = from.saturating_add(LISTED_MAX) as usize;
        let n_more_work = usize::try_from(n_all).unwrap_or(usize::MAX).saturating_sub(n_seen);
        let now = self.house.clock.now();
        let listed = |execution: Execution| {
            let record: WorkRecord = serde_json::from_value(execution.result?).ok()?;
            let is_applied = execution.state == ExecutionState::Applied;
            Some(WorkItemView {
                execution: execution.id,
                work_item: execution.work_item,
                title: record.view.title,
                place: record.directory,
                state: execution.state,
                outcome: record.view.outcome,
                files: record.files,
                started_at: execution.started_at,
                ended_at: execution.ended_at,
                undo_until: execution.undo_until.filter(|until| is_applied && *until > now),
                has_proof: record.view.has_proof,
            })
        };
        Ok(WorkListPage { work_list: recent.into_iter().filter_map(listed).collect(), n_more_work })
    }
}
