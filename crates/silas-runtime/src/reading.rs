//! A run that can only read, for as long as a message is being answered: the planner's, whoever looks something up for it,
//! and the proxy's own.
//!
//! It has no plan, no approval and no copy. Deliberately absent: any card. What would have to be asked is denied, because a
//! turn does not stand still.

use crate::call_log::{self, Whose};
use crate::leaving::judged;
use crate::models::Assigned;
use crate::telling::TELL_USER;
use crate::{Stream, Trouble};
use serde_json::Value;
use silas_agents::tools::{Done, Gate, Intent, Run, Verdict, Wait};
use silas_agents::{Prompt, Reply, Script, Turn as Said};
use silas_core::evidence::Allowance;
use silas_core::exits::{Declared, Exits};
use silas_core::model::Role;
use silas_core::roots::{RootGrant, contains};
use silas_core::seen::Seen;
use silas_core::tool::Spec;
use silas_core::{CallId, MessageId};
use std::sync::{Arc, Mutex, PoisonError};

/// How often the same call is made in a row.
const SAME_MAX: u32 = 2;
/// How often the owner hears of it before the answer.
const TOLD_MAX: u32 = 2;

/// A run that can only read.
pub(crate) struct Reading<'a> {
    pub(crate) stream: &'a Arc<Stream>,
    /// The owner's words that it helps to answer.
    pub(crate) message: MessageId,
    pub(crate) role: Role,
    pub(crate) assigned: &'a Assigned,
    pub(crate) payload: Value,
    /// The directories that it may look into.
    pub(crate) roots: &'a [(RootGrant, Allowance)],
    /// The owner's words, and nothing else: there is no plan that could name more.
    pub(crate) exits: &'a Exits,
    pub(crate) tool_calls_max: u32,
    pub(crate) counted: Mutex<Counted>,
}

#[derive(Default)]
pub(crate) struct Counted {
    n_calls: u32,
    n_told: u32,
    last: Option<(String, Value)>,
    n_same: u32,
}

impl Reading<'_> {
    fn whose(&self) -> Whose {
        Whose::Message(self.message.clone())
    }
}

impl Run for Reading<'_> {
    type Error = Trouble;

    fn scope(&self, _spec: &Spec, arguments: &Value) -> Result<(), String> {
        let Some(path) = arguments.get("path").and_then(Value::as_str) else { return Ok(()) };
        let is_inside = |(grant, _): &(RootGrant, Allowance)| contains(&grant.place.path, path);
        if path.split('/').any(|part| part == "..") || !self.roots.iter().any(is_inside) {
            let names: Vec<&str> = self.roots.iter().map(|(grant, _)| grant.place.path.as_str()).collect();
            return Err(format!("a path is written whole and lies in one of these: {}", names.join(", ")));
        }
        Ok(())
    }

    fn gates(&self, spec: &Spec, arguments: Value) -> Gate {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.n_calls += 1;
        let this = (spec.name.clone(), arguments.clone());
        counted.n_same = if counted.last.as_ref() == Some(&this) { counted.n_same + 1 } else { 1 };
        counted.last = Some(this);
        if counted.n_calls > self.tool_calls_max {
            return Gate::Block(format!("{} calls are enough; give your answer", self.tool_calls_max));
        }
        if counted.n_same > SAME_MAX {
            return Gate::Block("the same call says the same again; give your answer".to_owned());
        }
        if spec.name == TELL_USER {
            counted.n_told += 1;
            if counted.n_told > TOLD_MAX {
                return Gate::Block("the owner was told already; give your answer".to_owned());
            }
        }
        Gate::Continue(arguments)
    }

    fn authorise(&self, spec: &Spec, arguments: &Value, seen: &Seen) -> Verdict {
        let declared = Declared { exits: self.exits, flows: &[] };
        match judged(declared, spec, arguments, seen) {
            Verdict::Allowed => Verdict::Allowed,
            // A turn does not stand still for a card.
            Verdict::Asks(_) | Verdict::Denied(_) => Verdict::Denied(
                "after reading what others wrote, only what the owner typed can be searched for; ask all your questions at once, \
                 before you read"
                    .to_owned(),
            ),
        }
    }

    async fn ask(&self, intent: &Intent<'_>, wait: &Wait) -> Result<bool, Trouble> {
        tracing::debug!(tool = %intent.spec.name, question = wait.question, "a run that reads asks nobody");
        Ok(false)
    }

    async fn intend(&self, intent: &Intent<'_>) -> Result<CallId, Trouble> {
        Ok(self.stream.note_called(&self.whose(), intent).await?)
    }

    fn clean(&self, _spec: &Spec, done: &Done) -> String {
        call_log::heard(done)
    }

    async fn record(&self, call: &CallId, _spec: &Spec, done: &Done) -> Result<(), Trouble> {
        Ok(self.stream.note_returned(&self.whose(), call, done).await?)
    }

    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), Trouble> {
        Ok(self.stream.note_call_refused(&self.whose(), name, code).await?)
    }
}

impl Script for Reading<'_> {
    async fn prompt(&self, turns: &[Said]) -> Result<Prompt, Trouble> {
        self.stream.next_prompt(self.role, self.assigned, &self.payload, turns).await
    }

    async fn recall(&self) -> Result<Option<Reply>, Trouble> {
        Ok(None)
    }

    async fn keep(&self, _reply: &Reply) -> Result<(), Trouble> {
        Ok(())
    }
}
