//! What the books of the ledger need from the database: the decisions and instructions that entries name, and whether
//! anything lies here that no entry tells of. The rules are [`silas_core::books`]'s.

use crate::columns::id;
use crate::rows::Altered;
use crate::{Error, ReadTx, instructions, params, saga, tokens};
use silas_core::books::{Beside, Books, Decision, Fault, Summary, Wanted, wanted};
use silas_core::event::AuditEvent;
use silas_core::instruction::Instruction;
use silas_core::{ExecutionId, TokenId};
use std::fmt::Display;

/// Ids held in memory at a time.
const BATCH: u32 = 1000;

/// What does not add up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Wrong {
    #[error("{0}")]
    Entry(Fault),
    #[error("The database holds approval {0}, of which the ledger knows nothing")]
    StrayToken(TokenId),
    #[error("The database holds execution {0}, of which the ledger knows nothing")]
    StrayExecution(ExecutionId),
    #[error("{0}")]
    Row(#[from] Altered),
}

/// What lies beside an event. What cannot be read is not there: the books say so, at its entry.
pub(crate) fn beside(tx: &ReadTx<'_>, event: &AuditEvent) -> Result<Option<Beside>, Error> {
    let found = match wanted(event) {
        Some(Wanted::Decision(token)) => tokens::get(tx, token).map(|stored| {
            stored.map(|stored| {
                Beside::Decision(Box::new(Decision {
                    token: stored.token,
                    certificate: stored.certificate,
                    payload: stored.payload,
                    card: stored.card,
                    executions_used: stored.executions_used,
                }))
            })
        }),
        Some(Wanted::Instruction(message, operation)) => instructions::get(tx, message).and_then(|kept| {
            let saga = saga::get(tx, operation)?;
            Ok(kept.zip(saga).map(|(kept, saga)| {
                Beside::Instruction(Box::new(Instruction {
                    message: message.clone(),
                    signed: kept.signed,
                    certificate: kept.certificate,
                    grammar: kept.grammar,
                    occurrence: saga.run.map(|_| saga.occurrence),
                    call: saga.call,
                }))
            }))
        }),
        None => Ok(None),
    };
    match found {
        Err(Error::Damaged { .. }) => Ok(None),
        found => found,
    }
}

/// After the last entry: the counts agree, and nothing was put in beside the ledger.
pub(crate) fn close(tx: &ReadTx<'_>, books: Books, last: u64) -> Result<Result<Summary, Wrong>, Error> {
    if !books.has_unknown() {
        let tokens = "SELECT token_id AS id FROM tokens WHERE token_id > ?1 ORDER BY token_id LIMIT ?2";
        if let Some(token) = stray(tx, tokens, |id| books.knows_token(id))? {
            return Ok(Err(Wrong::StrayToken(token)));
        }
        let executions = "SELECT id FROM executions WHERE id > ?1 ORDER BY id LIMIT ?2";
        if let Some(execution) = stray(tx, executions, |id| books.knows_execution(id))? {
            return Ok(Err(Wrong::StrayExecution(execution)));
        }
    }
    Ok(books.close(last).map_err(Wrong::Entry))
}

/// The first id of a table that is not known.
fn stray<T>(tx: &ReadTx<'_>, sql: &'static str, is_known: impl Fn(&T) -> bool) -> Result<Option<T>, Error>
where
    T: TryFrom<String, Error: Display> + Display,
{
    let mut after = String::new();
    loop {
        let batch: Vec<T> = tx.query(sql, params![after, BATCH], |row| id(row, "id"))?;
        let Some(last) = batch.last() else { return Ok(None) };
        after = last.to_string();
        if let Some(stray) = batch.into_iter().find(|id| !is_known(id)) {
            return Ok(Some(stray));
        }
    }
}
