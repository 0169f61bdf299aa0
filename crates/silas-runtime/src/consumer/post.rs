//! What the runtime puts into the durable queue: messages to be answered, and executions to be carried out.

use super::{HOLDER, LEASE};
use crate::Stream;
use serde::{Deserialize, Serialize};
use silas_core::message::Message;
use silas_core::{ExecutionId, MessageId, Timestamp};
use silas_store::queue::{self, Entered, Kind, Lease, Leased, Name, NewMessage};
use silas_store::{Error, Tx, executions, work_items};

/// The only scope of this version; its messages are answered one after the other.
const SCOPE: &str = "owner";

/// The body of an `execution_status`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecutionStatus {
    pub(crate) execution: ExecutionId,
    pub(crate) status: Status,
}

/// In what state an execution is that somebody has to deal with.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Running,
}

/// Enqueues what the owner said, already in the hands of the turn that accepts it, unless earlier messages come first.
pub(crate) fn user_message(tx: &mut Tx<'_>, message: &Message, now: Timestamp) -> Result<Entered, Error> {
    let new = NewMessage {
        id: message.id.clone(),
        queue: Name::Turns,
        key: SCOPE.to_owned(),
        kind: Kind::UserMessage,
        body: serde_json::to_value(message)?,
        trace: message.id.clone(),
    };
    queue::enqueue_leased(tx, &new, HOLDER, now.plus(LEASE))
}

/// Takes out of the queue what the owner said and nobody has begun with; oldest first.
pub(crate) fn not_begun(tx: &mut Tx<'_>) -> Result<Vec<NewMessage>, Error> {
    queue::take_key(tx, Name::Turns, SCOPE, super::TURN)
}

/// Enqueues an execution whose approval was just spent, already in the hands of whoever spent it.
pub(crate) fn execution(tx: &mut Tx<'_>, execution: &ExecutionId, now: Timestamp) -> Result<Lease, Error> {
    let missing = || Error::Missing { what: "execution", id: execution.to_string() };
    let work_item = executions::get(tx, execution)?.ok_or_else(missing)?.work_item;
    let trace = work_items::get(tx, &work_item)?.ok_or_else(missing)?.trace;
    let damaged = |reason: String| Error::Damaged { what: "queue", reason };
    // The execution's own id, so that it cannot be enqueued twice.
    let id = MessageId::parse(&format!("{}{execution}", MessageId::PREFIX)).map_err(|bad| damaged(bad.to_string()))?;
    let body = serde_json::to_value(ExecutionStatus { execution: execution.clone(), status: Status::Running })?;
    let key = execution.to_string();
    let new = NewMessage { id, queue: Name::Work, key, kind: Kind::ExecutionStatus, body, trace };
    match queue::enqueue_leased(tx, &new, HOLDER, now.plus(LEASE))? {
        Entered::Held(lease) => Ok(lease),
        Entered::Behind | Entered::Known => Err(damaged(format!("{execution} has just begun and is there already"))),
    }
}

impl Stream {
    /// What a message becomes that cannot be answered before something was decided.
    pub(crate) fn waiting(&self, message: &Message, trace: &MessageId, what: &str) -> Result<NewMessage, Error> {
        Ok(NewMessage {
            id: MessageId::new(self.random.as_ref()),
            queue: Name::Waiting,
            key: what.to_owned(),
            kind: Kind::UserMessage,
            body: serde_json::to_value(message)?,
            trace: trace.clone(),
        })
    }

    /// It was decided: the messages that waited for it are to be answered now, oldest first. The first one is in the
    /// caller's hands, unless others come before it.
    pub(crate) fn call_back(&self, tx: &mut Tx<'_>, what: &str, now: Timestamp) -> Result<Option<Leased>, Error> {
        self.call_back_with(tx, what, now, |_| {})
    }

    /// The same, with something that they know from then on.
    pub(crate) fn call_back_with(
        &self,
        tx: &mut Tx<'_>,
        what: &str,
        now: Timestamp,
        learn: impl Fn(&mut Message),
    ) -> Result<Option<Leased>, Error> {
        let mut first = None;
        for mut waiting in queue::take_key(tx, Name::Waiting, what, super::TURN)? {
            // What cannot be read is put aside by whoever takes it next; it must not hold up the decision.
            if let Ok(mut message) = serde_json::from_value::<Message>(waiting.body.clone()) {
                learn(&mut message);
                waiting.body = serde_json::to_value(message)?;
            }
            let id = MessageId::new(self.random.as_ref());
            let new = NewMessage { id, queue: Name::Turns, key: SCOPE.to_owned(), ..waiting };
            if let Entered::Held(lease) = queue::enqueue_leased(tx, &new, HOLDER, now.plus(LEASE))? {
                let NewMessage { key, kind, body, trace, .. } = new;
                first = Some(Leased { lease, key, kind, body, trace, attempts: 1 });
            }
        }
        Ok(first)
    }
}
