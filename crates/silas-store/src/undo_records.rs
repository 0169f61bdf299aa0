//! Undo records: until when what an execution applied can be taken back. They lie in the rows of their executions, since
//! neither is ever without the other.

use crate::executions::{EXECUTIONS_MAX, Execution, stored};
use crate::{Error, ReadTx, Tx, params};
use silas_core::{ExecutionId, Scope, Timestamp};

/// What is applied in any scope and whose time for taking it back is over, oldest first.
pub fn list_over(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Execution>, Error> {
    tx.query(
        "SELECT id, token_id, work_item_id, plan_hash, state, use_number, started_at, ended_at, undo_until, result,
             changeset FROM executions WHERE state = 'applied' AND undo_until <= ?1 ORDER BY undo_until, id LIMIT ?2",
        params![now.micros(), EXECUTIONS_MAX],
        stored,
    )
}

/// What can still be taken back in this scope, the one whose time is over first at the top.
pub fn list_open(tx: &ReadTx<'_>, scope: &Scope, now: Timestamp) -> Result<Vec<Execution>, Error> {
    tx.query(
        "SELECT id, token_id, work_item_id, plan_hash, state, use_number, started_at, ended_at, undo_until, result,
             changeset FROM executions WHERE state = 'applied' AND undo_until > ?1 AND scope = ?2
         ORDER BY undo_until, id LIMIT ?3",
        params![now.micros(), scope.to_string(), EXECUTIONS_MAX],
        stored,
    )
}

/// The window is dealt with: nothing is kept for it any more.
pub fn close(tx: &mut Tx<'_>, execution: &ExecutionId) -> Result<(), Error> {
    tx.execute("UPDATE executions SET undo_until = NULL WHERE id = ?1", params![execution.as_str()])?;
    Ok(())
}
