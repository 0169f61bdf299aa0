//! What an item has come to: its status and what it has used up, written with each start and end.

use crate::work_record::WorkRecord;
use silas_core::check::Outcome;
use silas_core::execution::ExecutionState;
use silas_core::work::{BudgetUsed, Status};
use silas_core::{Timestamp, TokenId, WorkItemId};
use silas_store::{Error, Tx, work_items};

/// The approval was spent: one attempt more.
pub(super) fn begun(tx: &mut Tx<'_>, item: &WorkItemId, token: &TokenId, now: Timestamp) -> Result<(), Error> {
    let Some(stored) = work_items::get(tx, item)? else { return Ok(()) };
    let mut state = stored.state;
    state.status = Status::Running;
    state.approval_token = Some(token.clone());
    state.attempts += 1;
    work_items::set_state(tx, item, &state, now)
}

/// It ended: what it used up is added to what it had used before.
pub(super) fn ended(
    tx: &mut Tx<'_>,
    record: &WorkRecord,
    reached: ExecutionState,
    outcome: Outcome,
    is_decided: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let item = &record.view.work_item;
    let Some(stored) = work_items::get(tx, item)? else { return Ok(()) };
    let mut state = stored.state;
    state.status = match (reached, outcome) {
        (ExecutionState::Applied, _) => Status::Done,
        // It waits for a decision.
        (ExecutionState::Rehearsed, _) => Status::Paused,
        // It was run, and that was all that was asked.
        (_, Outcome::Unproven) if record.ran().is_some() && record.failed().is_empty() && record.diffs.is_empty() => {
            Status::Done
        }
        // It was as it should be, by the owner's own checks.
        (_, Outcome::Guarded) if record.diffs.is_empty() && !record.is_checked_by_a_models_choice() => Status::Done,
        _ => Status::Failed,
    };
    // What a decision puts in place was paid for by the run that made it.
    if is_decided {
        return work_items::set_state(tx, item, &state, now);
    }
    let wall_time_micros = record.took_ms.saturating_mul(1000);
    let attempts = record.used.attempts.max(1);
    state.budget_used.merge(&BudgetUsed { wall_time_micros, attempts, executor_runs: 1, ..record.used.clone() });
    state.verification_results = record.after.clone();
    work_items::set_state(tx, item, &state, now)
}
