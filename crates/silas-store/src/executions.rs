//! Executions: each is one spending of a token, from the spending to its one end.

use crate::columns::{id, optional_id, optional_time, time, to_json, to_word, word};
use crate::{Error, ReadTx, Row, Tx, params};
use serde_json::Value;
use silas_core::event::{AuditEvent, SALT_BYTES};
use silas_core::execution::ExecutionState;
use silas_core::{Digest, ExecutionId, Scope, Timestamp, TokenId, WorkItemId};
use std::time::Duration;

/// Beside what the runtime keeps; see [`salted`].
const SALT: &str = "salt";

/// Executions that one call returns at most.
pub const EXECUTIONS_MAX: u32 = 1000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    pub id: ExecutionId,
    pub token: TokenId,
    pub work_item: WorkItemId,
    /// Exactly what was approved.
    pub plan_hash: Digest,
    pub state: ExecutionState,
    /// Which of the token's executions this is, from 0.
    pub use_number: u32,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Until when what was applied can be taken back.
    pub undo_until: Option<Timestamp>,
    /// What the runtime wants to show of it; opaque here.
    pub result: Option<Value>,
    pub changeset: Option<Digest>,
}

/// Fails if the execution is there already, or its token is not.
pub fn insert(tx: &mut Tx<'_>, scope: &Scope, execution: &Execution) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO executions (id, token_id, work_item_id, plan_hash, state, use_number, started_at, ended_at,
             undo_until, result, changeset, scope)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            execution.id.as_str(),
            execution.token.as_str(),
            execution.work_item.as_str(),
            execution.plan_hash.to_string(),
            to_word(&execution.state)?,
            execution.use_number,
            execution.started_at.micros(),
            execution.ended_at.map(Timestamp::micros),
            execution.undo_until.map(Timestamp::micros),
            execution.result.as_ref().map(to_json).transpose()?,
            execution.changeset.map(|changeset| changeset.to_string()),
            scope.to_string()
        ],
    )?;
    Ok(())
}

pub fn get(tx: &ReadTx<'_>, execution: &ExecutionId) -> Result<Option<Execution>, Error> {
    tx.query_one(
        "SELECT id, token_id, work_item_id, plan_hash, state, use_number, started_at, ended_at, undo_until, result,
             changeset FROM executions WHERE id = ?1",
        params![execution.as_str()],
        stored,
    )
}

/// Moves a running execution to its end, one that waits for a decision to what was decided, or an applied one to undone. False if it is not where that begins: an execution
/// ends once, and nothing runs it again.
pub fn set_state(tx: &mut Tx<'_>, execution: &ExecutionId, to: ExecutionState, at: Timestamp) -> Result<bool, Error> {
    let (from, or_from) = match to {
        ExecutionState::Running => return Ok(false),
        ExecutionState::Rehearsed => (ExecutionState::Running, ExecutionState::Running),
        ExecutionState::Applied | ExecutionState::Ended => (ExecutionState::Running, ExecutionState::Rehearsed),
        ExecutionState::Undone => (ExecutionState::Applied, ExecutionState::Applied),
    };
    let n_changed = tx.execute(
        "UPDATE executions SET state = ?4, ended_at = coalesce(ended_at, ?5) WHERE id = ?1 AND state IN (?2, ?3)",
        params![execution.as_str(), to_word(&from)?, to_word(&or_from)?, to_word(&to)?, at.micros()],
    )?;
    Ok(n_changed == 1)
}

/// Whether anything was ever begun, in whichever scope.
pub fn is_any(tx: &ReadTx<'_>) -> Result<bool, Error> {
    let one = tx.query_one("SELECT 1 FROM executions LIMIT 1", params![], |row| Ok(row.get::<_, u32>(0)?))?;
    Ok(one.is_some())
}

/// How many results wait for a decision.
pub fn count_waiting(tx: &ReadTx<'_>) -> Result<u32, Error> {
    let n = tx.query_one("SELECT count(*) FROM executions WHERE state = 'rehearsed'", params![], |row| {
        Ok(row.get::<_, u32>(0)?)
    })?;
    Ok(n.unwrap_or(0))
}

/// How many executions of a token were begun in the time before now.
pub fn count_since(tx: &ReadTx<'_>, token: &TokenId, now: Timestamp, span: Duration) -> Result<u32, Error> {
    let since = now.micros().saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX));
    let n = tx.query_one(
        "SELECT count(*) FROM executions WHERE token_id = ?1 AND started_at > ?2",
        params![token.as_str(), since],
        |row| Ok(row.get::<_, u32>(0)?),
    )?;
    Ok(n.unwrap_or(0))
}

/// What waits for a decision, oldest first.
pub fn list_waiting(tx: &ReadTx<'_>) -> Result<Vec<Execution>, Error> {
    tx.query(
        "SELECT id, token_id, work_item_id, plan_hash, state, use_number, started_at, ended_at, undo_until, result,
             changeset FROM executions WHERE state = 'rehearsed' ORDER BY started_at, id LIMIT ?1",
        params![EXECUTIONS_MAX],
        stored,
    )
}

/// Whether something else than this is under way for its item: a decision about it that was taken and is not carried out.
pub fn is_being_decided(tx: &ReadTx<'_>, execution: &Execution) -> Result<bool, Error> {
    let other = tx.query_one(
        "SELECT id FROM executions WHERE work_item_id = ?1 AND id <> ?2 AND state = 'running' LIMIT 1",
        params![execution.work_item.as_str(), execution.id.as_str()],
        |row| Ok(row.get::<_, String>(0)?),
    )?;
    Ok(other.is_some())
}

/// Keeps what came of it. `undo_until` of `None` closes the window. Of what does not run any more the ledger is told.
pub fn set_result(
    tx: &mut Tx<'_>,
    execution: &ExecutionId,
    result: &Value,
    changeset: Option<&Digest>,
    undo_until: Option<Timestamp>,
) -> Result<(), Error> {
    let sql = "SELECT state FROM executions WHERE id = ?1";
    let state = tx.query_one(sql, params![execution.as_str()], |row| word::<ExecutionState>(row, "state"))?;
    let state = state.ok_or_else(|| Error::Missing { what: "execution", id: execution.to_string() })?;
    let kept = match state {
        ExecutionState::Running => to_json(result)?,
        ExecutionState::Rehearsed | ExecutionState::Applied | ExecutionState::Ended | ExecutionState::Undone => {
            to_json(&salted(tx, result))?
        }
    };
    tx.execute(
        "UPDATE executions SET result = ?2, changeset = ?3, undo_until = ?4 WHERE id = ?1",
        params![execution.as_str(), kept, changeset.map(Digest::to_string), undo_until.map(Timestamp::micros)],
    )?;
    if state != ExecutionState::Running {
        let result = Digest::of(kept.as_bytes());
        tx.record(&AuditEvent::ResultKept { execution: execution.clone(), result })?;
    }
    Ok(())
}

/// The result with something in it that nobody can guess: once it is forgotten, its hash in the ledger tells nothing of it.
fn salted(tx: &Tx<'_>, result: &Value) -> Value {
    let mut salt = [0u8; SALT_BYTES];
    tx.random.fill(&mut salt);
    let mut result = result.clone();
    if let Value::Object(fields) = &mut result {
        fields.insert(SALT.to_owned(), salt.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into());
    }
    result
}

/// As it was given.
fn unsalted(mut result: Value) -> Value {
    result.as_object_mut().map(|fields| fields.remove(SALT));
    result
}

/// The last executions of this scope that have something to show, newest first.
pub fn recent(tx: &ReadTx<'_>, scope: &Scope, limit: u32) -> Result<Vec<Execution>, Error> {
    recent_from(tx, scope, 0, limit)
}

/// The same, without the newest `from` of them.
pub fn recent_from(tx: &ReadTx<'_>, scope: &Scope, from: u32, limit: u32) -> Result<Vec<Execution>, Error> {
    tx.query(
        "SELECT id, token_id, work_item_id, plan_hash, state, use_number, started_at, ended_at, undo_until, result,
             changeset FROM executions WHERE scope = ?1 AND result IS NOT NULL
         ORDER BY started_at DESC, id DESC LIMIT ?2 OFFSET ?3",
        params![scope.to_string(), limit.min(EXECUTIONS_MAX), from],
        stored,
    )
}

/// How many [`recent_from`] can give.
pub fn n_with_result(tx: &ReadTx<'_>, scope: &Scope) -> Result<u64, Error> {
    let sql = "SELECT count(*) FROM executions WHERE scope = ?1 AND result IS NOT NULL";
    let n = tx.query_one(sql, params![scope.to_string()], |row| Ok(row.get::<_, i64>(0)?))?;
    Ok(n.map_or(0, i64::unsigned_abs))
}

pub(crate) fn stored(row: &Row<'_>) -> Result<Execution, Error> {
    let result: Option<String> = row.get("result")?;
    let result = result.map(|text| serde_json::from_str(&text).map(unsalted)).transpose();
    Ok(Execution {
        id: id(row, "id")?,
        token: id(row, "token_id")?,
        work_item: id(row, "work_item_id")?,
        plan_hash: id(row, "plan_hash")?,
        state: word(row, "state")?,
        use_number: row.get("use_number")?,
        started_at: time(row, "started_at")?,
        ended_at: optional_time(row, "ended_at")?,
        undo_until: optional_time(row, "undo_until")?,
        result: result.map_err(|error| Error::Damaged { what: "result", reason: error.to_string() })?,
        changeset: optional_id(row, "changeset")?,
    })
}
