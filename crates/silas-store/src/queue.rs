//! The durable queue: messages that are to be dealt with, each once, in order within its key and in parallel across keys.
//!
//! A message is leased, dealt with, and acknowledged in the transaction that holds the result; so after a crash either
//! both are there or neither, and it is delivered again. Every lease carries a fence. Who was too slow and lost the
//! message to another holder finds that its fence no longer fits, and can neither acknowledge nor prolong.
//!
//! Deliberately absent: a clock that ticks. Nobody polls: [`Store::queue_changed`](crate::Store::queue_changed) moves
//! after every commit that changed the queue, and [`next_due`] says how long a consumer may sleep otherwise.

use crate::columns::{id, json, to_json, to_word, word};
use crate::{Error, ReadTx, Tx, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use silas_core::{MessageId, Scope, Timestamp};
use std::time::Duration;

mod dead;
mod processed;

pub use dead::{DEAD_MAX, Dead, dead, revive};
pub(crate) use dead::{dead_ids, forget, is_open};
pub use processed::{FORGOTTEN_MAX, forget_processed, has_processed, mark_processed};

/// Messages of one key that may wait. A person who is that far ahead of Silas is told to come back; more would only
/// be answered long after it was said.
pub const KEY_MESSAGES_MAX: u32 = 256;
/// Deliveries after which a message is put aside: with the backoff between them, enough for whatever passes by itself.
pub const ATTEMPTS_MAX: u32 = 5;
/// The queues there are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// Messages to be answered; a key is of one scope.
    Turns,
    /// Wishes that a planner makes a plan of, and what it made of them; a key is a wish, so that none waits for another.
    Plans,
    /// Approved executions to be carried out; a key is an execution.
    Work,
    /// Messages that can be answered only when something was decided; a key is what they wait for. Nobody leases here.
    Waiting,
}

/// What a message is, in the words of everybody who sends one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Somebody said something. The body is the message, its taint included.
    UserMessage,
    /// A proxy hands a wish over to the planner. The body is the message, with what the proxy made of it.
    PlanRequest,
    /// A planner has answered. The body is the same message, and the answer.
    PlanResult,
    /// An execution is in this state. The body says which.
    ExecutionStatus,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMessage {
    /// What makes it the same message: a known id is not taken in again.
    pub id: MessageId,
    pub queue: Name,
    /// Whose it is; derived messages are theirs too.
    pub scope: Scope,
    /// Messages of one key are dealt with one after the other, in the order in which they came.
    pub key: String,
    pub kind: Kind,
    pub body: Value,
    /// The message with which it all began; derived messages keep it unchanged.
    pub trace: MessageId,
}

/// The right to deal with a message, until it ends or somebody else has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lease {
    pub message: MessageId,
    holder: String,
    fence: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leased {
    pub lease: Lease,
    pub scope: Scope,
    pub key: String,
    pub kind: Kind,
    pub body: Value,
    pub trace: MessageId,
    /// Which delivery this is, from 1. More than [`ATTEMPTS_MAX`] means that every one before was cut short.
    pub attempts: u32,
}

/// What became of a message that was to be leased as it came in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entered {
    Held(Lease),
    /// Earlier messages of its key come first; a consumer will lease it.
    Behind,
    /// It was taken in before; nothing changed.
    Known,
}

/// What became of a message that could not be dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nacked {
    Again {
        at: Timestamp,
    },
    /// It was tried often enough and is put aside.
    Dead,
    /// Somebody else has it; nothing changed.
    NotHeld,
}

/// How long to wait before the next delivery: `first`, then twice as long each time, `longest` at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

/// Takes a message in. False if its id is known. A key that is full is [`Error::Busy`].
pub fn enqueue(tx: &mut Tx<'_>, message: &NewMessage) -> Result<bool, Error> {
    if processed::is_known(tx, &message.id)? {
        return Ok(false);
    }
    let n_waiting: u32 = tx
        .query_one(
            "SELECT count(*) FROM queue WHERE queue = ?1 AND key = ?2 AND is_dead = 0",
            params![to_word(&message.queue)?, message.key],
            |row| Ok(row.get(0)?),
        )?
        .unwrap_or_default();
    if n_waiting >= KEY_MESSAGES_MAX {
        return Err(Error::Busy);
    }
    let now = tx.clock.now();
    tx.execute(
        "INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, fence, scope)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'ready', 0, ?7, 0, ?8)",
        params![
            message.id.as_str(),
            to_word(&message.queue)?,
            message.key,
            to_word(&message.kind)?,
            to_json(&message.body)?,
            message.trace.as_str(),
            now.micros(),
            message.scope.to_string()
        ],
    )?;
    Ok(true)
}

/// Takes a message in that its sender deals with at once: enqueued and leased in one step, unless others come first.
pub fn enqueue_leased(tx: &mut Tx<'_>, message: &NewMessage, holder: &str, until: Timestamp) -> Result<Entered, Error> {
    if !enqueue(tx, message)? {
        return Ok(Entered::Known);
    }
    let n_earlier: u32 = tx
        .query_one(
            "SELECT count(*) FROM queue WHERE queue = ?1 AND key = ?2 AND is_dead = 0 AND message_id <> ?3",
            params![to_word(&message.queue)?, message.key, message.id.as_str()],
            |row| Ok(row.get(0)?),
        )?
        .unwrap_or_default();
    if n_earlier > 0 {
        return Ok(Entered::Behind);
    }
    let fence = hold(tx, &message.id, holder, until)?;
    Ok(Entered::Held(Lease { message: message.id.clone(), holder: holder.to_owned(), fence }))
}

/// Leases up to `limit` messages, oldest first. A message can be leased if it is due, or its lease has run out, and no
/// earlier one of its key is still to be dealt with.
pub fn lease(
    tx: &mut Tx<'_>,
    queue: Name,
    holder: &str,
    now: Timestamp,
    lease_for: Duration,
    limit: u32,
) -> Result<Vec<Leased>, Error> {
    let mut taken = tx.query(
        "SELECT message_id, scope, key, kind, body, trace_id, attempts FROM queue AS m
         WHERE queue = ?1 AND is_dead = 0 AND (CASE state WHEN 'ready' THEN available_at ELSE lease_until END) <= ?2
             AND NOT EXISTS (SELECT 1 FROM queue AS earlier WHERE earlier.queue = m.queue AND earlier.key = m.key
                 AND earlier.is_dead = 0 AND earlier.enqueued_seq < m.enqueued_seq)
         ORDER BY enqueued_seq LIMIT ?3",
        params![to_word(&queue)?, now.micros(), limit],
        |row| {
            let lease = Lease { message: id(row, "message_id")?, holder: holder.to_owned(), fence: 0 };
            let attempts: u32 = row.get("attempts")?;
            Ok(Leased {
                lease,
                scope: id(row, "scope")?,
                key: row.get("key")?,
                kind: word(row, "kind")?,
                body: json(row, "body")?,
                trace: id(row, "trace_id")?,
                attempts: attempts.saturating_add(1),
            })
        },
    )?;
    for leased in &mut taken {
        leased.lease.fence = hold(tx, &leased.lease.message, holder, now.plus(lease_for))?;
    }
    Ok(taken)
}

/// Gives the message to this holder; whoever had it before is fenced off.
fn hold(tx: &mut Tx<'_>, message: &MessageId, holder: &str, until: Timestamp) -> Result<i64, Error> {
    let fence = tx.returning(
        "UPDATE queue SET state = 'leased', attempts = attempts + 1, lease_holder = ?2, lease_until = ?3,
             fence = fence + 1
         WHERE message_id = ?1 RETURNING fence",
        params![message.as_str(), holder, until.micros()],
        |row| Ok(row.get(0)?),
    )?;
    fence.ok_or_else(|| Error::Missing { what: "message", id: message.to_string() })
}

/// Prolongs a lease. False if it is lost.
pub fn heartbeat(tx: &mut Tx<'_>, lease: &Lease, until: Timestamp) -> Result<bool, Error> {
    let n_held = tx.execute(
        "UPDATE queue SET lease_until = ?4 WHERE message_id = ?1 AND state = 'leased' AND lease_holder = ?2 AND fence = ?3",
        params![lease.message.as_str(), lease.holder, lease.fence, until.micros()],
    )?;
    Ok(n_held == 1)
}

/// The message was dealt with; belongs into the transaction that holds the result. False if the lease is lost: then
/// another holder deals with it, and this result must not be kept.
pub fn ack(tx: &mut Tx<'_>, lease: &Lease, consumer: &str) -> Result<bool, Error> {
    let n_gone = tx.execute(
        "DELETE FROM queue WHERE message_id = ?1 AND state = 'leased' AND lease_holder = ?2 AND fence = ?3",
        params![lease.message.as_str(), lease.holder, lease.fence],
    )?;
    if n_gone == 0 {
        return Ok(false);
    }
    mark_processed(tx, consumer, &lease.message)?;
    Ok(true)
}

/// The same, and what follows from it enters the queue with it. False, and nothing enters, if the lease is lost.
pub fn ack_and_enqueue(tx: &mut Tx<'_>, lease: &Lease, consumer: &str, next: &NewMessage) -> Result<bool, Error> {
    let is_held = ack(tx, lease, consumer)?;
    if is_held {
        enqueue(tx, next)?;
    }
    Ok(is_held)
}

/// The message could not be dealt with: it is delivered again later, or put aside after [`ATTEMPTS_MAX`] deliveries.
pub fn nack(tx: &mut Tx<'_>, lease: &Lease, now: Timestamp, backoff: Backoff) -> Result<Nacked, Error> {
    let attempts: Option<u32> = tx.query_one(
        "SELECT attempts FROM queue WHERE message_id = ?1 AND state = 'leased' AND lease_holder = ?2 AND fence = ?3",
        params![lease.message.as_str(), lease.holder, lease.fence],
        |row| Ok(row.get(0)?),
    )?;
    let Some(attempts) = attempts else { return Ok(Nacked::NotHeld) };
    if attempts >= ATTEMPTS_MAX {
        tx.execute(
            "UPDATE queue SET state = 'dead', is_dead = 1, lease_holder = NULL, lease_until = NULL
             WHERE message_id = ?1",
            params![lease.message.as_str()],
        )?;
        return Ok(Nacked::Dead);
    }
    let at = now.plus(backoff.after(attempts));
    tx.execute(
        "UPDATE queue SET state = 'ready', available_at = ?2, lease_holder = NULL, lease_until = NULL
         WHERE message_id = ?1",
        params![lease.message.as_str(), at.micros()],
    )?;
    Ok(Nacked::Again { at })
}

/// The message can be dealt with only later: it is due at `at`, or when [`hasten`] says so. That was no attempt. False if
/// the lease is lost.
pub fn postpone(tx: &mut Tx<'_>, lease: &Lease, at: Timestamp) -> Result<bool, Error> {
    let n_held = tx.execute(
        "UPDATE queue SET state = 'ready', attempts = 0, available_at = ?4, lease_holder = NULL, lease_until = NULL
         WHERE message_id = ?1 AND state = 'leased' AND lease_holder = ?2 AND fence = ?3",
        params![lease.message.as_str(), lease.holder, lease.fence, at.micros()],
    )?;
    Ok(n_held == 1)
}

/// Whatever waits for its time in this queue is due now.
pub fn hasten(tx: &mut Tx<'_>, queue: Name) -> Result<usize, Error> {
    let now = tx.clock.now().micros();
    tx.execute(
        "UPDATE queue SET available_at = ?2 WHERE queue = ?1 AND is_dead = 0 AND state = 'ready' AND available_at > ?2",
        params![to_word(&queue)?, now],
    )
}

impl Backoff {
    fn after(self, attempts: u32) -> Duration {
        let doubled = 2u32.saturating_pow(attempts.saturating_sub(1));
        self.first.saturating_mul(doubled).min(self.longest)
    }
}

/// Takes all messages of a key out of the queue, oldest first, as processed by `consumer`. For messages that nobody
/// leases; what is leased stays.
pub fn take_key(tx: &mut Tx<'_>, queue: Name, key: &str, consumer: &str) -> Result<Vec<NewMessage>, Error> {
    let taken = tx.query(
        "SELECT message_id, queue, scope, key, kind, body, trace_id FROM queue
         WHERE queue = ?1 AND key = ?2 AND is_dead = 0 AND lease_holder IS NULL ORDER BY enqueued_seq LIMIT ?3",
        params![to_word(&queue)?, key, KEY_MESSAGES_MAX],
        |row| {
            Ok(NewMessage {
                id: id(row, "message_id")?,
                queue: word(row, "queue")?,
                scope: id(row, "scope")?,
                key: row.get("key")?,
                kind: word(row, "kind")?,
                body: json(row, "body")?,
                trace: id(row, "trace_id")?,
            })
        },
    )?;
    for message in &taken {
        tx.execute("DELETE FROM queue WHERE message_id = ?1", params![message.id.as_str()])?;
        mark_processed(tx, consumer, &message.id)?;
    }
    Ok(taken)
}

/// Takes all messages of a scope out of this queue, oldest first, as processed by `consumer`; what is leased stays.
pub fn take_scope(tx: &mut Tx<'_>, queue: Name, scope: &Scope, consumer: &str) -> Result<Vec<NewMessage>, Error> {
    let keys = tx.query(
        "SELECT DISTINCT key FROM queue WHERE queue = ?1 AND scope = ?2 AND is_dead = 0 AND lease_holder IS NULL",
        params![to_word(&queue)?, scope.to_string()],
        |row| Ok(row.get::<_, String>(0)?),
    )?;
    let mut taken = Vec::new();
    for key in keys {
        taken.extend(take_key(tx, queue, &key, consumer)?);
    }
    Ok(taken)
}

/// At the start: this process is the only one, so every lease of the past is void. Says how many there were.
pub fn requeue_leased(tx: &mut Tx<'_>) -> Result<usize, Error> {
    tx.execute(
        "UPDATE queue SET state = 'ready', lease_holder = NULL, lease_until = NULL, fence = fence + 1
         WHERE queue IN ('turns', 'plans', 'work', 'waiting') AND is_dead = 0 AND state = 'leased'",
        [],
    )
}

/// The keys of what waits in this queue or is being dealt with. What was put aside is neither.
pub fn keys(tx: &ReadTx<'_>, queue: Name) -> Result<Vec<String>, Error> {
    tx.query("SELECT DISTINCT key FROM queue WHERE queue = ?1 AND is_dead = 0", params![to_word(&queue)?], |row| {
        Ok(row.get(0)?)
    })
}

/// When the next message of this queue can be leased, if nothing changes until then. It may be in the past.
pub fn next_due(tx: &ReadTx<'_>, queue: Name) -> Result<Option<Timestamp>, Error> {
    let due: Option<Option<i64>> = tx.query_one(
        "SELECT min(CASE state WHEN 'ready' THEN available_at ELSE lease_until END) FROM queue AS m
         WHERE queue = ?1 AND is_dead = 0
             AND NOT EXISTS (SELECT 1 FROM queue AS earlier WHERE earlier.queue = m.queue AND earlier.key = m.key
                 AND earlier.is_dead = 0 AND earlier.enqueued_seq < m.enqueued_seq)",
        params![to_word(&queue)?],
        |row| Ok(row.get(0)?),
    )?;
    Ok(due.flatten().map(Timestamp::from_micros))
}
