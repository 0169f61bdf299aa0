//! Messages of the durable queue that could not be dealt with and were put aside, as they are listed.

use super::Hub;
use crate::view::DeadLetterView;
use crate::work_record::WorkRecord;
use crate::{Trouble, post};
use serde_json::Value;
use silas_core::{Scope, hidden};
use silas_gates::scrub;
use silas_store::queue::{self, ATTEMPTS_MAX, Kind};
use silas_store::{ReadTx, executions};

impl Hub {
    /// What was put aside, oldest first.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetterView>, Trouble> {
        Ok(self.house.store.read(|tx| list(tx, &Scope::Owner)).await?)
    }
}

/// What was put aside, in the words of whoever said it.
pub(crate) fn list(tx: &ReadTx<'_>, scope: &Scope) -> Result<Vec<DeadLetterView>, silas_store::Error> {
    let mut letters = Vec::new();
    for dead in queue::dead(tx, scope)? {
        let text = what_it_was(tx, dead.kind, &dead.body)?;
        // A delivery beyond the last attempt only put it aside.
        let attempts = dead.attempts.min(ATTEMPTS_MAX);
        letters.push(DeadLetterView { message: dead.message, text, attempts });
    }
    Ok(letters)
}

pub(crate) fn what_it_was(tx: &ReadTx<'_>, kind: Kind, body: &Value) -> Result<String, silas_store::Error> {
    let words = match kind {
        Kind::UserMessage | Kind::PlanRequest | Kind::PlanResult => {
            post::Wish::read(kind, body).ok().map(|wish| wish.message.text)
        }
        Kind::ExecutionStatus => record_of(tx, body)?.map(|(_, record)| record.view.title),
    };
    Ok(match (words, kind) {
        (Some(words), _) => hidden::quotation(&scrub::visible_line(&words, 80)),
        (None, Kind::UserMessage | Kind::PlanRequest | Kind::PlanResult) => "a message".to_owned(),
        (None, Kind::ExecutionStatus) => "a change to your files".to_owned(),
    })
}

pub(crate) fn record_of(
    tx: &ReadTx<'_>,
    body: &Value,
) -> Result<Option<(executions::Execution, WorkRecord)>, silas_store::Error> {
    let Ok(status) = serde_json::from_value::<post::ExecutionStatus>(body.clone()) else { return Ok(None) };
    let Some(execution) = executions::get(tx, &status.execution)? else { return Ok(None) };
    let record = execution.result.clone().and_then(|result| serde_json::from_value(result).ok());
    Ok(record.map(|record| (execution, record)))
}
