//! Work items: the definition that was planned, which never changes, and the state that the runtime writes.

use crate::columns::{id, json, time, to_json};
use crate::{Error, ReadTx, Tx, params};
use silas_core::work::{WorkItem, WorkState};
use silas_core::{MessageId, Scope, Timestamp, WorkItemId};

/// Work items that one message can have led to.
const OF_TRACE_MAX: u32 = 1000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    pub item: WorkItem,
    pub state: WorkState,
    /// The message with which it began.
    pub trace: MessageId,
    pub updated_at: Timestamp,
}

/// Fails if an item with this id is there already.
pub fn insert(
    tx: &mut Tx<'_>,
    scope: &Scope,
    item: &WorkItem,
    state: &WorkState,
    trace: &MessageId,
    at: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO work_items (id, scope, definition, state, trace_id, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![item.id().as_str(), scope.to_string(), to_json(item)?, to_json(state)?, trace.as_str(), at.micros()],
    )?;
    Ok(())
}

pub fn get(tx: &ReadTx<'_>, item: &WorkItemId) -> Result<Option<Stored>, Error> {
    let sql = "SELECT definition, state, trace_id, updated_at FROM work_items WHERE id = ?1";
    tx.query_one(sql, params![item.as_str()], |row| {
        Ok(Stored {
            item: json(row, "definition")?,
            state: json(row, "state")?,
            trace: id(row, "trace_id")?,
            updated_at: time(row, "updated_at")?,
        })
    })
}

pub fn set_state(tx: &mut Tx<'_>, id: &WorkItemId, state: &WorkState, at: Timestamp) -> Result<(), Error> {
    let n_changed = tx.execute(
        "UPDATE work_items SET state = ?2, updated_at = ?3 WHERE id = ?1",
        params![id.as_str(), to_json(state)?, at.micros()],
    )?;
    if n_changed == 0 {
        return Err(Error::Missing { what: "work item", id: id.to_string() });
    }
    Ok(())
}

/// The message with which it began.
pub(crate) fn trace(tx: &ReadTx<'_>, item: &WorkItemId) -> Result<Option<MessageId>, Error> {
    let sql = "SELECT trace_id FROM work_items WHERE id = ?1";
    tx.query_one(sql, params![item.as_str()], |row| id(row, "trace_id"))
}

/// The items that began with a message.
pub(crate) fn of_trace(tx: &ReadTx<'_>, trace: &MessageId) -> Result<Vec<WorkItemId>, Error> {
    let sql = "SELECT id FROM work_items WHERE trace_id = ?1 ORDER BY id LIMIT ?2";
    tx.query(sql, params![trace.as_str(), OF_TRACE_MAX], |row| id(row, "id"))
}

pub(crate) fn forget(tx: &mut Tx<'_>, item: &WorkItemId) -> Result<(), Error> {
    tx.execute("DELETE FROM work_items WHERE id = ?1", params![item.as_str()])?;
    Ok(())
}
