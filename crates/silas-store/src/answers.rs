//! What a model answered in a piece of work that is under way. Kept until the work has its end, and no longer.

use crate::columns::{json, to_json};
use crate::{Error, ReadTx, Tx, params};
use serde_json::Value;
use silas_core::ExecutionId;

/// One answer, and what the work had used up when it was there.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    pub reply: Value,
    pub tokens: u64,
    pub microusd: u64,
}

/// More than any plan allows questions.
const ANSWERS_MAX: u32 = 1000;

pub fn keep(tx: &mut Tx<'_>, execution: &ExecutionId, n: u32, answer: &Answer) -> Result<(), Error> {
    let column = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    tx.execute(
        "INSERT INTO executor_answers (execution_id, n, reply, tokens, microusd) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (execution_id, n) DO NOTHING",
        params![execution.as_str(), n, to_json(&answer.reply)?, column(answer.tokens), column(answer.microusd)],
    )?;
    Ok(())
}

/// In their order.
pub fn of(tx: &ReadTx<'_>, execution: &ExecutionId) -> Result<Vec<Answer>, Error> {
    let sql = "SELECT reply, tokens, microusd FROM executor_answers WHERE execution_id = ?1 ORDER BY n LIMIT ?2";
    tx.query(sql, params![execution.as_str(), ANSWERS_MAX], |row| {
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        Ok(Answer {
            reply: json(row, "reply")?,
            tokens: number(row.get("tokens")?),
            microusd: number(row.get("microusd")?),
        })
    })
}

pub fn forget(tx: &mut Tx<'_>, execution: &ExecutionId) -> Result<(), Error> {
    tx.execute("DELETE FROM executor_answers WHERE execution_id = ?1", params![execution.as_str()])?;
    Ok(())
}
