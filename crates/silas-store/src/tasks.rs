//! The owner's tasks: each with a version that counts its changes, and a row for every change.
//!
//! A change names the version that it saw. If the task has moved on meanwhile, nothing is changed and the answer says so.

use crate::columns::{id, optional_time, time, to_json, to_word, word};
use crate::{Error, Human, ReadTx, Row, Tx, params};
use silas_core::event::{AuditEvent, Text};
use silas_core::task::{Ending, OperationId, Refusal, TaskCall, TaskId, TaskState};
use silas_core::{Digest, Timestamp};

/// Tasks that may be open at a time. A longer list is not a list that anybody reads, and it must fit into one answer.
pub const OPEN_MAX: u32 = 1000;
/// Finished tasks that one call returns.
pub const DONE_MAX: u32 = 1000;
/// Changes of one task that one call returns.
pub const CHANGES_MAX: u32 = 1000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub state: TaskState,
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub done_at: Option<Timestamp>,
}

/// One version of a task, and the event that tells of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub version: u64,
    pub event: Digest,
    pub at: Timestamp,
}

/// Oldest first.
pub fn list_open(tx: &ReadTx<'_, Human>) -> Result<Vec<Task>, Error> {
    tx.query(
        "SELECT id, title, state, version, created_at, updated_at, done_at FROM tasks WHERE state = 'open'
         ORDER BY created_at, id LIMIT ?1",
        params![OPEN_MAX],
        task,
    )
}

/// The last ones that were finished, newest first.
pub fn list_done(tx: &ReadTx<'_, Human>) -> Result<Vec<Task>, Error> {
    tx.query(
        "SELECT id, title, state, version, created_at, updated_at, done_at FROM tasks WHERE state = 'done'
         ORDER BY done_at DESC, id DESC LIMIT ?1",
        params![DONE_MAX],
        task,
    )
}

pub fn get(tx: &ReadTx<'_, Human>, task_id: &TaskId) -> Result<Option<Task>, Error> {
    tx.query_one(
        "SELECT id, title, state, version, created_at, updated_at, done_at FROM tasks WHERE id = ?1",
        params![task_id.as_str()],
        task,
    )
}

/// First version first.
pub fn changes(tx: &ReadTx<'_, Human>, task_id: &TaskId) -> Result<Vec<Change>, Error> {
    tx.query(
        "SELECT version, event_id, at FROM task_changes WHERE task_id = ?1 ORDER BY version LIMIT ?2",
        params![task_id.as_str(), CHANGES_MAX],
        |row| Ok(Change { version: version(row)?, event: id(row, "event_id")?, at: time(row, "at")? }),
    )
}

/// Makes the change, its row and its event, or none of them. Calling this twice for one operation is an error of the
/// caller; see [`crate::saga::apply`].
pub(crate) fn carry_out(
    tx: &mut Tx<'_, Human>,
    operation: &OperationId,
    call: &TaskCall,
    at: Timestamp,
) -> Result<Ending, Error> {
    match call {
        TaskCall::AddTask { task, title } => add(tx, operation, task, title, at),
        TaskCall::CompleteTask { task, title, version } => {
            move_to(tx, operation, TaskState::Done, &Seen { task, title, version: *version }, at)
        }
        TaskCall::ReopenTask { task, title, version } => {
            move_to(tx, operation, TaskState::Open, &Seen { task, title, version: *version }, at)
        }
    }
}

fn add(
    tx: &mut Tx<'_, Human>,
    operation: &OperationId,
    task: &TaskId,
    title: &str,
    at: Timestamp,
) -> Result<Ending, Error> {
    if is_full(tx)? {
        return Ok(Ending::Refused { why: Refusal::TooMany });
    }
    tx.execute(
        "INSERT INTO tasks (id, title, state, version, created_at, updated_at) VALUES (?1, ?2, 'open', 1, ?3, ?3)",
        params![task.as_str(), title, at.micros()],
    )?;
    let call = TaskCall::AddTask { task: task.clone(), title: title.to_owned() };
    let event = |title| AuditEvent::TaskAdded { task: task.clone(), operation: *operation, title };
    note_change(tx, operation, task, 1, &call, event, at)
}

/// The task as the owner saw it when the call was worked out.
struct Seen<'a> {
    task: &'a TaskId,
    title: &'a str,
    version: u64,
}

fn move_to(
    tx: &mut Tx<'_, Human>,
    operation: &OperationId,
    state: TaskState,
    seen: &Seen<'_>,
    at: Timestamp,
) -> Result<Ending, Error> {
    let Some(now) = get(tx, seen.task)? else { return Ok(Ending::Refused { why: Refusal::Missing }) };
    if now.version != seen.version || now.title != seen.title {
        return Ok(Ending::Refused { why: Refusal::Changed });
    }
    if now.state == state {
        return Ok(Ending::Refused { why: Refusal::AlreadySo });
    }
    if state == TaskState::Open && is_full(tx)? {
        return Ok(Ending::Refused { why: Refusal::TooMany });
    }
    let version = now.version + 1;
    let done_at = (state == TaskState::Done).then_some(at.micros());
    tx.execute(
        "UPDATE tasks SET state = ?2, version = ?3, updated_at = ?4, done_at = ?5 WHERE id = ?1",
        params![seen.task.as_str(), to_word(&state)?, to_column(version), at.micros(), done_at],
    )?;
    let (task, title) = (seen.task.clone(), seen.title.to_owned());
    let call = match state {
        TaskState::Done => TaskCall::CompleteTask { task, title, version: seen.version },
        TaskState::Open => TaskCall::ReopenTask { task, title, version: seen.version },
    };
    let (task, operation_id) = (seen.task.clone(), *operation);
    let event = |title| match state {
        TaskState::Done => AuditEvent::TaskCompleted { task, operation: operation_id, version, title },
        TaskState::Open => AuditEvent::TaskReopened { task, operation: operation_id, version, title },
    };
    note_change(tx, operation, seen.task, version, &call, event, at)
}

fn note_change(
    tx: &mut Tx<'_, Human>,
    operation: &OperationId,
    task: &TaskId,
    version: u64,
    call: &TaskCall,
    event: impl FnOnce(Text) -> AuditEvent,
    at: Timestamp,
) -> Result<Ending, Error> {
    let title = tx.salted(call.title())?;
    let id = operation.event();
    tx.announce(&id, &event(title.name()), &[title], at)?;
    tx.execute(
        "INSERT INTO task_changes (task_id, version, change, at, event_id) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![task.as_str(), to_column(version), to_json(call)?, at.micros(), id.to_string()],
    )?;
    Ok(Ending::Done {})
}

fn is_full(tx: &ReadTx<'_, Human>) -> Result<bool, Error> {
    let n_open = tx.query_one("SELECT count(*) AS n FROM tasks WHERE state = 'open'", [], |row| Ok(row.get("n")?))?;
    Ok(n_open.unwrap_or(0) >= i64::from(OPEN_MAX))
}

fn task(row: &Row<'_>) -> Result<Task, Error> {
    Ok(Task {
        id: id(row, "id")?,
        title: row.get("title")?,
        state: word(row, "state")?,
        version: version(row)?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
        done_at: optional_time(row, "done_at")?,
    })
}

fn version(row: &Row<'_>) -> Result<u64, Error> {
    let version: i64 = row.get("version")?;
    u64::try_from(version).map_err(|_| Error::Damaged { what: "version", reason: format!("{version} is negative") })
}

/// No task changes this often.
fn to_column(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}
