//! What the runtime puts into the durable queue: messages to be answered, plans to be made of them, and executions to be
//! carried out.
//!
//! Proxy and planner hand a wish on by way of the queue: what one has done is acknowledged and what the other is to do enters in
//! one transaction, under the trace of the message with which it began. So nothing else that is said waits for a plan.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use silas_agents::AgentResponse;
use silas_core::message::Message;
use silas_core::model::ModelName;
use silas_core::reflex::{self, Decision};
use silas_core::{ExecutionId, MessageId, Random, Scope, Taint, Timestamp, WorkItemId};
use silas_store::queue::{self, Entered, Kind, Lease, Leased, Name, NewMessage};
use silas_store::{Error, Tx, executions, work_items};
use std::time::Duration;

/// Consumers, as the processed marks name them.
pub(crate) const TURN: &str = "turn";
pub(crate) const WORK: &str = "work";

/// This process; there is no other on the same files.
pub(crate) const HOLDER: &str = "front";
/// How long a message stays with a task that ended without a word. Longer than any pause of a living process.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// What somebody said, and how far it has come on its way from the proxy to the planner and back.
#[derive(Clone)]
pub(crate) struct Wish {
    /// Handed over to the planner if it says by what.
    pub(crate) message: Message,
    /// What the planner answered, as long as nothing was made of it.
    pub(crate) planned: Option<Box<PlanAnswer>>,
}

/// What a planner answered.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanAnswer {
    pub(crate) response: AgentResponse,
    /// The worst of what it had read.
    pub(crate) taint: Taint,
    pub(crate) by: ModelName,
    /// The earlier work that it was told of. Answers of earlier versions do not say.
    #[serde(default)]
    pub(crate) shown: Vec<WorkItemId>,
}

/// The body of a `plan_result`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanResult {
    message: Message,
    planned: Box<PlanAnswer>,
}

impl Wish {
    pub(crate) fn said(message: Message) -> Self {
        Wish { message, planned: None }
    }

    pub(crate) fn read(kind: Kind, body: &Value) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            Kind::PlanResult => {
                let PlanResult { message, planned } = serde_json::from_value(body.clone())?;
                Wish { message, planned: Some(planned) }
            }
            Kind::UserMessage | Kind::PlanRequest | Kind::ExecutionStatus => {
                Wish::said(serde_json::from_value(body.clone())?)
            }
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        match (&self.planned, &self.message.handed) {
            (Some(_), _) => Kind::PlanResult,
            (None, Some(_)) => Kind::PlanRequest,
            (None, None) => Kind::UserMessage,
        }
    }

    fn body(&self) -> Result<Value, serde_json::Error> {
        match &self.planned {
            Some(planned) => {
                serde_json::to_value(PlanResult { message: self.message.clone(), planned: planned.clone() })
            }
            None => serde_json::to_value(&self.message),
        }
    }

    /// Whether reflex leaves it to a model.
    pub(crate) fn is_for_a_model(&self) -> bool {
        let Message { taint, handed, text, .. } = &self.message;
        taint.may_ask() && (handed.is_some() || reflex::decide(text) == Decision::NotUnderstood)
    }

    /// Where it goes, in which order.
    fn place(&self, scope: &Scope) -> (Name, String) {
        match self.kind() {
            Kind::PlanRequest | Kind::PlanResult => (Name::Plans, self.message.id.to_string()),
            Kind::UserMessage | Kind::ExecutionStatus => {
                let key = if self.is_for_a_model() { key_for_models(scope) } else { key_for_reflex(scope) };
                (Name::Turns, key)
            }
        }
    }

    /// As it enters the queue under this id.
    pub(crate) fn entering(&self, id: MessageId, scope: &Scope, trace: &MessageId) -> Result<NewMessage, Error> {
        let (queue, key) = self.place(scope);
        let (scope, trace) = (scope.clone(), trace.clone());
        Ok(NewMessage { id, queue, scope, key, kind: self.kind(), body: self.body()?, trace })
    }

    /// As it waits until something was decided.
    pub(crate) fn waiting_for(
        &self,
        what: &str,
        id: MessageId,
        scope: &Scope,
        trace: &MessageId,
    ) -> Result<NewMessage, Error> {
        Ok(NewMessage { queue: Name::Waiting, key: what.to_owned(), ..self.entering(id, scope, trace)? })
    }
}

/// The messages of a scope are answered one after the other.
fn key_for_models(scope: &Scope) -> String {
    scope.to_string()
}

/// What reflex answers has an order of its own, so that it does not wait for a model that another message is waiting for.
fn key_for_reflex(scope: &Scope) -> String {
    format!("{scope}/reflex")
}

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

/// Enqueues what was said in this scope, already in the hands of the turn that accepts it, unless earlier messages come first.
pub(crate) fn user_message(
    tx: &mut Tx<'_>,
    scope: &Scope,
    message: &Message,
    now: Timestamp,
) -> Result<Entered, Error> {
    let new = Wish::said(message.clone()).entering(message.id.clone(), scope, &message.id)?;
    queue::enqueue_leased(tx, &new, HOLDER, now.plus(LEASE))
}

/// Takes out of the queue what was said in this scope and nobody has begun with: what is for a model first, each oldest first.
pub(crate) fn not_begun(tx: &mut Tx<'_>, scope: &Scope) -> Result<Vec<NewMessage>, Error> {
    let mut waiting = queue::take_key(tx, Name::Turns, &key_for_models(scope), TURN)?;
    waiting.extend(queue::take_key(tx, Name::Turns, &key_for_reflex(scope), TURN)?);
    waiting.extend(queue::take_scope(tx, Name::Plans, scope, TURN)?);
    Ok(waiting)
}

/// Enqueues an execution whose approval was just spent, already in the hands of whoever spent it.
pub(crate) fn execution(tx: &mut Tx<'_>, execution: &ExecutionId, now: Timestamp) -> Result<Lease, Error> {
    let missing = || Error::Missing { what: "execution", id: execution.to_string() };
    let work_item = executions::get(tx, execution)?.ok_or_else(missing)?.work_item;
    let trace = work_items::get(tx, &work_item)?.ok_or_else(missing)?.trace;
    let damaged = |reason: String| Error::Damaged { what: "a message that waits to be dealt with", reason };
    // The execution's own id, so that it cannot be enqueued twice.
    let id = MessageId::parse(&format!("{}{execution}", MessageId::PREFIX)).map_err(|bad| damaged(bad.to_string()))?;
    let body = serde_json::to_value(ExecutionStatus { execution: execution.clone(), status: Status::Running })?;
    let key = execution.to_string();
    // Work is the owner's.
    let (queue, scope) = (Name::Work, Scope::Owner);
    let new = NewMessage { id, queue, scope, key, kind: Kind::ExecutionStatus, body, trace };
    match queue::enqueue_leased(tx, &new, HOLDER, now.plus(LEASE))? {
        Entered::Held(lease) => Ok(lease),
        Entered::Behind | Entered::Known => Err(damaged(format!("{execution} has just begun and is there already"))),
    }
}

/// The executions that are under way, or whose end is not written down yet.
pub(crate) fn held(tx: &silas_store::ReadTx<'_>) -> Result<Vec<ExecutionId>, Error> {
    let parsed = |key: &String| {
        ExecutionId::parse(key)
            .map_err(|bad| Error::Damaged { what: "an execution that waits", reason: bad.to_string() })
    };
    queue::keys(tx, Name::Work)?.iter().map(parsed).collect()
}

/// It was decided: the messages that waited for it are to be answered now, oldest first. The first one is in the
/// caller's hands, unless others come before it.
pub(crate) fn call_back(
    tx: &mut Tx<'_>,
    random: &dyn Random,
    what: &str,
    now: Timestamp,
) -> Result<Option<Leased>, Error> {
    call_back_with(tx, random, what, now, |_| {})
}

/// The same, with something that they know from then on.
pub(crate) fn call_back_with(
    tx: &mut Tx<'_>,
    random: &dyn Random,
    what: &str,
    now: Timestamp,
    learn: impl Fn(&mut Message),
) -> Result<Option<Leased>, Error> {
    let mut first = None;
    for waiting in queue::take_key(tx, Name::Waiting, what, TURN)? {
        let id = MessageId::new(random);
        let new = match Wish::read(waiting.kind, &waiting.body) {
            Ok(mut wish) => {
                learn(&mut wish.message);
                wish.entering(id, &waiting.scope, &waiting.trace)?
            }
            // What cannot be read is put aside by whoever takes it next; it must not hold up the decision.
            Err(_) => NewMessage { id, queue: Name::Turns, key: key_for_models(&waiting.scope), ..waiting },
        };
        if let Entered::Held(lease) = queue::enqueue_leased(tx, &new, HOLDER, now.plus(LEASE))? {
            let NewMessage { scope, key, kind, body, trace, .. } = new;
            first = Some(Leased { lease, scope, key, kind, body, trace, attempts: 1 });
        }
    }
    Ok(first)
}
