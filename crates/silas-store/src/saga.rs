//! A change that crosses both files, in three phases, each of which can be repeated.
//!
//! ```text
//! prepared   agent.sqlite   the exact call and the instruction that it uses up      on disk before the next phase
//! applied    db.sqlite      the change, its event in the outbox, the operation's ending   in one transaction
//! finished   agent.sqlite   the ending; the event is in the ledger by now
//! ```
//!
//! Two files give no order of their own, so phase 1 is awaited durably before phase 2 begins. Whoever finds a prepared
//! saga after a crash either settles it or calls it off; both leave one ending in the human's file, and the first wins.

use crate::columns::{id, json, optional_id, time, to_json};
use crate::{Commit, Error, Human, ReadTx, Row, Store, Tx, params, tasks};
use silas_core::event::AuditEvent;
use silas_core::fail::{self, FailPoint};
use silas_core::instruction::Instructed;
use silas_core::task::{Ending, OperationId, Refusal, TaskCall};
use silas_core::{MessageId, RunKey, Timestamp};

/// Sagas that one call returns; after settling them, ask again.
pub const OPEN_MAX: u32 = 100;
/// Enough of an error to understand it.
const ERROR_CHARS_MAX: usize = 500;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saga {
    pub operation: OperationId,
    /// The run that makes the call. None for those of when an operation followed from its message.
    pub run: Option<RunKey>,
    /// Which call of the run it is, counted from 0.
    pub occurrence: u32,
    /// The words that approve it, where it is words.
    pub message: Option<MessageId>,
    pub call: TaskCall,
    /// `None` until it is finished.
    pub ending: Option<Ending>,
    /// What last kept it from being finished.
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A place in a run, at which at most one call is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub run: RunKey,
    pub occurrence: u32,
    /// The words that are used up there; those of the owner's are kept as an instruction.
    pub message: Option<MessageId>,
}

impl Place {
    /// The call that the words of a message ask for; the first is 0.
    pub fn said(run: RunKey, message: MessageId, occurrence: u32) -> Self {
        Place { run, occurrence, message: Some(message) }
    }
}

/// Phase 1. Uses the place in the run up; false if it was used before, and then the first call stands. Only a durable
/// transaction may do this.
pub fn prepare(tx: &mut Tx<'_>, place: &Place, call: &TaskCall, at: Timestamp) -> Result<bool, Error> {
    if find(tx, place)?.is_some() {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO sagas (operation, run_key, occurrence, message_id, call, phase, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, 'prepared', ?6, ?6)",
        params![
            call.operation(&place.run, place.occurrence)?.to_string(),
            place.run.to_string(),
            place.occurrence,
            place.message.as_ref().map(MessageId::as_str),
            to_json(call)?,
            at.micros()
        ],
    )?;
    Ok(true)
}

/// What was prepared at a place of a run, also by a version under which a message made at most one call.
pub fn find(tx: &ReadTx<'_>, place: &Place) -> Result<Option<Saga>, Error> {
    let found = tx.query_one(
        "SELECT operation, run_key, occurrence, message_id, call, ending, last_error, created_at, updated_at FROM sagas
         WHERE run_key = ?1 AND occurrence = ?2",
        params![place.run.to_string(), place.occurrence],
        saga,
    )?;
    match &place.message {
        Some(message) if found.is_none() && place.occurrence == 0 => get(tx, &OperationId::derive(message)),
        _ => Ok(found),
    }
}

/// Phase 2. The change and its ending are one transaction, so a second time finds the ending and changes nothing.
pub fn apply(tx: &mut Tx<'_, Human>, instructed: &Instructed, at: Timestamp) -> Result<Ending, Error> {
    let operation = instructed.operation();
    if let Some(ending) = applied(tx, &operation)? {
        return Ok(ending);
    }
    let ending = tasks::carry_out(tx, &operation, instructed.call(), at)?;
    note_ending(tx, &operation, &ending, at)?;
    Ok(ending)
}

/// Instead of phase 2: the operation will never be carried out. If it was already, that stands.
pub fn call_off(tx: &mut Tx<'_, Human>, operation: &OperationId, why: Refusal, at: Timestamp) -> Result<Ending, Error> {
    if let Some(ending) = applied(tx, operation)? {
        return Ok(ending);
    }
    let ending = Ending::Refused { why };
    note_ending(tx, operation, &ending, at)?;
    Ok(ending)
}

/// The ending that the human's file knows, whatever the agent's has heard of it.
pub fn applied(tx: &ReadTx<'_, Human>, operation: &OperationId) -> Result<Option<Ending>, Error> {
    tx.query_one("SELECT ending FROM operations WHERE operation = ?1", params![operation.to_string()], |row| {
        json(row, "ending")
    })
}

fn note_ending(tx: &mut Tx<'_, Human>, operation: &OperationId, ending: &Ending, at: Timestamp) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO operations (operation, ending, at) VALUES (?1, ?2, ?3)",
        params![operation.to_string(), to_json(ending)?, at.micros()],
    )?;
    Ok(())
}

/// Phase 3. A refusal is told in the ledger here; a change told of itself through the outbox. False if it was finished.
pub fn finish(tx: &mut Tx<'_>, operation: &OperationId, ending: &Ending, at: Timestamp) -> Result<bool, Error> {
    let n_finished = tx.execute(
        "UPDATE sagas SET phase = 'finished', ending = ?2, updated_at = ?3 WHERE operation = ?1 AND phase = 'prepared'",
        params![operation.to_string(), to_json(ending)?, at.micros()],
    )?;
    if let (1, Ending::Refused { why }) = (n_finished, ending) {
        tx.record(&AuditEvent::InstructionRefused { operation: *operation, reason: why.to_string() })?;
    }
    Ok(n_finished == 1)
}

/// It could not be finished now; the next attempt follows.
pub fn note_error(tx: &mut Tx<'_>, operation: &OperationId, error: &str, at: Timestamp) -> Result<(), Error> {
    let error: String = error.chars().take(ERROR_CHARS_MAX).collect();
    tx.execute(
        "UPDATE sagas SET last_error = ?2, updated_at = ?3 WHERE operation = ?1 AND phase = 'prepared'",
        params![operation.to_string(), error, at.micros()],
    )?;
    Ok(())
}

pub fn get(tx: &ReadTx<'_>, operation: &OperationId) -> Result<Option<Saga>, Error> {
    tx.query_one(
        "SELECT operation, run_key, occurrence, message_id, call, ending, last_error, created_at, updated_at FROM sagas
         WHERE operation = ?1",
        params![operation.to_string()],
        saga,
    )
}

/// What was prepared and is not finished, oldest first.
pub fn sagas_open(tx: &ReadTx<'_>) -> Result<Vec<Saga>, Error> {
    tx.query(
        "SELECT operation, run_key, occurrence, message_id, call, ending, last_error, created_at, updated_at FROM sagas
         WHERE phase = 'prepared' ORDER BY created_at, operation LIMIT ?1",
        params![OPEN_MAX],
        saga,
    )
}

/// Every operation that the words of a message were used up for.
pub(crate) fn of_message(tx: &ReadTx<'_>, message: &MessageId) -> Result<Vec<Saga>, Error> {
    tx.query(
        "SELECT operation, run_key, occurrence, message_id, call, ending, last_error, created_at, updated_at FROM sagas
         WHERE message_id = ?1",
        params![message.as_str()],
        saga,
    )
}

/// Only for one that is finished: its ending is in the human's file.
pub(crate) fn forget(tx: &mut Tx<'_>, operation: &OperationId) -> Result<(), Error> {
    tx.execute("DELETE FROM sagas WHERE operation = ?1 AND phase = 'finished'", params![operation.to_string()])?;
    Ok(())
}

fn saga(row: &Row<'_>) -> Result<Saga, Error> {
    let ending: Option<String> = row.get("ending")?;
    Ok(Saga {
        operation: id(row, "operation")?,
        run: optional_id(row, "run_key")?,
        occurrence: row.get("occurrence")?,
        message: optional_id(row, "message_id")?,
        call: json(row, "call")?,
        ending: ending.map(|_| json(row, "ending")).transpose()?,
        last_error: row.get("last_error")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

impl Store {
    /// Carries a prepared operation out to its ending: phases 2 and 3, and its event into the ledger between them.
    /// What is handed in is the witness that the owner asked for it.
    pub async fn settle(&self, instructed: Instructed, at: Timestamp) -> Result<Ending, Error> {
        let operation = instructed.operation();
        let applying = self.human().write(move |tx| Ok(Commit(apply(tx, &instructed, at)?)));
        let ending = applying.await?;
        fail::point(FailPoint::TaskWritten);
        self.conclude(operation, ending, at).await
    }

    /// Ends a prepared operation without carrying it out, unless it was carried out already.
    pub async fn call_off(&self, operation: OperationId, why: Refusal, at: Timestamp) -> Result<Ending, Error> {
        let calling_off = self.human().write(move |tx| Ok(Commit(call_off(tx, &operation, why, at)?)));
        let ending = calling_off.await?;
        self.conclude(operation, ending, at).await
    }

    async fn conclude(&self, operation: OperationId, ending: Ending, at: Timestamp) -> Result<Ending, Error> {
        self.drain_outbox(at).await?;
        // If the power takes this, the ending is still in the human's file and is found again.
        let told = ending.clone();
        let finishing = self.write_buffered(move |tx| Ok(Commit(finish(tx, &operation, &told, at)?)));
        finishing.await?;
        Ok(ending)
    }
}
