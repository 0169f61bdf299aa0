//! What models cost: a reserve before each call, what it came to after it, and what the owner added to a cap.
//!
//! Reserving looks at the sums and writes the row in one transaction, so that of two calls at once not both take the last
//! cent. Each call is kept with whose it was; the caps are the owner's purse, and whoever asks is paid out of it. Micro-dollars
//! throughout.

use crate::columns::to_word;
use crate::{Error, ReadTx, Tx, params};
use silas_core::model::{BudgetGrant, Period, Role};
use silas_core::{CallId, MessageId, Scope, Timestamp, TokenId};

/// A call before it is made.
#[derive(Clone, Debug)]
pub struct NewCall {
    pub id: CallId,
    pub message: Option<MessageId>,
    pub role: Role,
    pub model: String,
    pub at: Timestamp,
    pub reserved: u64,
}

/// What may be spent in a day and in a month, before anything was added to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    pub day: u64,
    pub month: u64,
}

/// A cap that a call would exceed. Nothing was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverCap {
    pub period: Period,
    pub spent: u64,
    pub cap: u64,
}

/// A million dollars: nothing that is real, and small enough that no sum of rows overflows.
const MICROUSD_MAX: u64 = 1_000_000_000_000;
/// Rows that one call of [`prune`] removes at most, so that upkeep never holds up the writer.
pub const PRUNED_MAX: u32 = 1000;

/// Writes the call down, unless a cap would be exceeded with all of its reserve.
pub fn reserve(tx: &mut Tx<'_>, scope: &Scope, call: &NewCall, caps: Caps) -> Result<Result<(), OverCap>, Error> {
    let (day, month) = (Period::day(call.at), Period::month(call.at));
    for (period, cap) in [(day.clone(), caps.day), (month.clone(), caps.month)] {
        let spent = spent(tx, &period)?;
        let cap = cap.saturating_add(extended(tx, &period)?);
        if spent.saturating_add(call.reserved) > cap {
            return Ok(Err(OverCap { period, spent, cap }));
        }
    }
    tx.execute(
        "INSERT INTO model_calls (id, scope, message_id, role, model, day, month, at, reserved)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            call.id.as_str(),
            scope.to_string(),
            call.message.as_ref().map(MessageId::as_str),
            to_word(&call.role)?,
            call.model,
            day.as_str(),
            month.as_str(),
            call.at.micros(),
            column(call.reserved)
        ],
    )?;
    Ok(Ok(()))
}

/// What it came to. Once: whoever comes later is too late.
pub fn settle(
    tx: &mut Tx<'_>,
    call: &CallId,
    microusd: u64,
    input_tokens: u64,
    output_tokens: u64,
) -> Result<bool, Error> {
    let n = tx.execute(
        "UPDATE model_calls SET cost = ?2, input_tokens = ?3, output_tokens = ?4 WHERE id = ?1 AND cost IS NULL",
        params![call.as_str(), column(microusd), column(input_tokens), column(output_tokens)],
    )?;
    Ok(n == 1)
}

/// Everything that counts against a day or a month, whosever it was.
pub fn spent(tx: &ReadTx<'_>, period: &Period) -> Result<u64, Error> {
    let sql = if period.is_day() {
        "SELECT COALESCE(SUM(COALESCE(cost, reserved)), 0) AS spent FROM model_calls WHERE day = ?1"
    } else {
        "SELECT COALESCE(SUM(COALESCE(cost, reserved)), 0) AS spent FROM model_calls WHERE month = ?1"
    };
    one(tx, sql, period)
}

/// What calls of one scope came to, as far as they are kept. One that was never settled counts with its reserve and without tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    pub calls: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub microusd: u64,
}

pub fn totals(tx: &ReadTx<'_>, scope: &Scope, since: Timestamp) -> Result<Totals, Error> {
    let sql =
        "SELECT count(*) AS calls, COALESCE(SUM(input_tokens), 0) AS input, COALESCE(SUM(output_tokens), 0) AS output,
            COALESCE(SUM(COALESCE(cost, reserved)), 0) AS microusd FROM model_calls WHERE at >= ?1 AND scope = ?2";
    let found = tx.query_one(sql, params![since.micros(), scope.to_string()], |row| {
        let n = |name: &str| Ok::<u64, Error>(u64::try_from(row.get::<_, i64>(name)?).unwrap_or(0));
        let (calls, microusd) = (n("calls")?, n("microusd")?);
        Ok(Totals { calls, input_tokens: n("input")?, output_tokens: n("output")?, microusd })
    })?;
    Ok(found.unwrap_or_default())
}

/// What the owner added to a day or a month.
pub fn extended(tx: &ReadTx<'_>, period: &Period) -> Result<u64, Error> {
    one(tx, "SELECT COALESCE(SUM(microusd), 0) AS spent FROM budget_extensions WHERE period = ?1", period)
}

/// Adds what a decision allows, once for each decision.
pub fn extend(tx: &mut Tx<'_>, token: &TokenId, grant: &BudgetGrant) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO budget_extensions (token_id, period, microusd) VALUES (?1, ?2, ?3) ON CONFLICT (token_id) DO NOTHING",
        params![token.as_str(), grant.period.as_str(), column(grant.microusd)],
    )?;
    Ok(())
}

/// Removes calls from before this instant, at most [`PRUNED_MAX`]. The ledger has them for good.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(
        "DELETE FROM model_calls WHERE id IN (SELECT id FROM model_calls WHERE at < ?1 LIMIT ?2)",
        params![before.micros(), PRUNED_MAX],
    )
}

fn one(tx: &ReadTx<'_>, sql: &'static str, period: &Period) -> Result<u64, Error> {
    let sum: Option<i64> = tx.query_one(sql, params![period.as_str()], |row| Ok(row.get("spent")?))?;
    Ok(u64::try_from(sum.unwrap_or(0)).unwrap_or(0))
}

fn column(value: u64) -> i64 {
    value.min(MICROUSD_MAX) as i64
}
