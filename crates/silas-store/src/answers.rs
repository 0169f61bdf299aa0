//! What a model answered in a piece of work that is under way, or for a message that is being answered. Kept until the work
//! has its end or the message its answer, and no longer.

use crate::columns::{json, to_json};
use crate::{Error, ReadTx, Tx, params};
use serde_json::Value;
use silas_core::{Digest, ExecutionId, MessageId};

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
    tx.execute("DELETE FROM consulted_answers WHERE execution_id = ?1", params![execution.as_str()])?;
    Ok(())
}

/// Keeps what was answered to whoever works, by what it was asked for.
pub fn keep_for_work(tx: &mut Tx<'_>, execution: &ExecutionId, question: &Digest, reply: &Value) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO consulted_answers (execution_id, question, reply) VALUES (?1, ?2, ?3)
         ON CONFLICT (execution_id, question) DO NOTHING",
        params![execution.as_str(), question.to_string(), to_json(reply)?],
    )?;
    Ok(())
}

/// What was answered to it before, in the same work.
pub fn of_work(tx: &ReadTx<'_>, execution: &ExecutionId, question: &Digest) -> Result<Option<Value>, Error> {
    let sql = "SELECT reply FROM consulted_answers WHERE execution_id = ?1 AND question = ?2";
    tx.query_one(sql, params![execution.as_str(), question.to_string()], |row| json(row, "reply"))
}

/// Keeps the answer to a question that was asked for a message.
pub fn keep_for_turn(tx: &mut Tx<'_>, message: &MessageId, question: &Digest, reply: &Value) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO turn_answers (message_id, question, reply) VALUES (?1, ?2, ?3)
         ON CONFLICT (message_id, question) DO NOTHING",
        params![message.as_str(), question.to_string(), to_json(reply)?],
    )?;
    Ok(())
}

/// The answer that this question got before, for the same message.
pub fn of_turn(tx: &ReadTx<'_>, message: &MessageId, question: &Digest) -> Result<Option<Value>, Error> {
    let sql = "SELECT reply FROM turn_answers WHERE message_id = ?1 AND question = ?2";
    tx.query_one(sql, params![message.as_str(), question.to_string()], |row| json(row, "reply"))
}

/// The message has its answer, or nobody tries any more.
pub fn forget_turn(tx: &mut Tx<'_>, message: &MessageId) -> Result<(), Error> {
    tx.execute("DELETE FROM turn_answers WHERE message_id = ?1", params![message.as_str()])?;
    Ok(())
}
