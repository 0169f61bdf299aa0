//! The work that was approved, newest first, with what became of each.

use crate::view::WorkItemView;
use crate::work::WorkRecord;
use crate::{Stream, Trouble};
use silas_core::execution::ExecutionState;
use silas_store::executions::{self, Execution};

/// More than anyone counts back; what is older is settled and goes with its time.
const LISTED_MAX: u32 = 200;

impl Stream {
    pub async fn work_list(&self) -> Result<Vec<WorkItemView>, Trouble> {
        let recent = self.store.read(|tx| executions::recent(tx, LISTED_MAX)).await?;
        let now = self.clock.now();
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
        Ok(recent.into_iter().filter_map(listed).collect())
    }
}
