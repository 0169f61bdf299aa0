//! Whether what is kept of a piece of work is what the ledger was told of it: lists, proofs and cards are made of it. What went
//! with its time, or was forgotten, says nothing.

use super::{Altered, Told, is_said, readable};
use crate::{Error, ReadTx, executions, params};
use serde_json::Value;
use silas_core::check::Outcome;
use silas_core::{Digest, ExecutionId};
use std::collections::{BTreeMap, BTreeSet};

/// The first of which something else is kept than was written down last, letter by letter.
pub(super) fn first_otherwise(
    tx: &ReadTx<'_>,
    executions: &BTreeMap<ExecutionId, Told>,
) -> Result<Option<Altered>, Error> {
    for (execution, told) in executions {
        let Some(hash) = told.result else { continue };
        let kept = kept(tx, execution)?;
        if kept.is_some_and(|kept| Digest::of(kept.as_bytes()) != hash) {
            return Ok(Some(Altered::Result(execution.clone())));
        }
    }
    Ok(None)
}

/// The first of which nothing is kept although its time is not over.
pub(super) fn first_lost(tx: &ReadTx<'_>, due: &BTreeSet<ExecutionId>) -> Result<Option<Altered>, Error> {
    for execution in due {
        if kept(tx, execution)?.is_none() {
            return Ok(Some(Altered::LostResult(execution.clone())));
        }
    }
    Ok(None)
}

/// As it lies there. A row that is gone is named for that.
fn kept(tx: &ReadTx<'_>, execution: &ExecutionId) -> Result<Option<String>, Error> {
    let sql = "SELECT result FROM executions WHERE id = ?1";
    let found = tx.query_one(sql, params![execution.as_str()], |row| Ok(row.get::<_, Option<String>>("result")?));
    Ok(readable(found)?.flatten().flatten())
}

/// Whether a result says of the work what the ledger says. Of work of earlier versions there is nothing else to compare.
pub(super) fn is_what_came_of_it(tx: &ReadTx<'_>, kept: &executions::Execution, told: &Told) -> Result<bool, Error> {
    let Some(result) = &kept.result else { return Ok(true) };
    let is_called_so = match (&told.title, result["view"]["title"].as_str()) {
        (Some(text), Some(title)) => is_said(tx, title, text)?,
        (Some(_), None) => false,
        (None, _) => true,
    };
    Ok(is_called_so && came_to_the_same(result, told))
}

fn came_to_the_same(result: &Value, told: &Told) -> bool {
    let outcome = serde_json::from_value::<Option<Outcome>>(result["view"]["outcome"].clone());
    let is_outcome = match (told.outcome, outcome) {
        (None, _) => true,
        // Where nothing was judged, the ledger still has a word for it.
        (Some(told), Ok(None)) => matches!(told, Outcome::Failed | Outcome::Unproven),
        (Some(told), Ok(Some(kept))) => told == kept,
        (Some(_), Err(_)) => false,
    };
    // Results of earlier versions do not say how many.
    let is_as_many = told.files.zip(result["files"].as_u64()).is_none_or(|(told, kept)| u64::from(told) == kept);
    is_outcome && is_as_many
}

#[cfg(test)]
mod tests;
