//! A run that can only read, for as long as a message is being answered: the planner's, whoever looks something up for it,
//! and the proxy's own.
//!
//! It has no plan, no approval and no copy. Deliberately absent: any card. What would have to be asked is denied, because a
//! turn does not stand still.

use crate::Trouble;
use crate::assignment::Assigned;
use crate::minds::Minds;
use crate::minds::call_log::{self, Whose};
use crate::minds::exits::judged;
use crate::minds::eyes::{self, Roots};
use serde_json::Value;
use silas_agents::tools::{Done, Intent, Run, Verdict, Wait};
use silas_agents::{Prompt, Reply, Script, Turn as Said};
use silas_core::exits::{Declared, Exits};
use silas_core::model::Role;
use silas_core::roots::contains;
use silas_core::seen::Seen;
use silas_core::tool::Spec;
use silas_core::{CallId, MessageId};
use silas_gates::calls::{CallCounts, CallLimits};
use silas_gates::runner::{Gate, Gates};

/// What may be called for one answer.
pub(crate) fn call_limits(calls_max: u32) -> CallLimits {
    CallLimits { calls_max, same_max: 2, told_max: 2, instead: "give your answer" }
}

/// A run that can only read.
pub(crate) struct Reading<'a> {
    pub(crate) minds: &'a Minds,
    /// The owner's words that it helps to answer.
    pub(crate) message: MessageId,
    pub(crate) role: Role,
    pub(crate) assigned: &'a Assigned,
    pub(crate) payload: Value,
    /// The directories that it may look into.
    pub(crate) roots: &'a Roots,
    /// The owner's words, and nothing else: there is no plan that could name more.
    pub(crate) exits: &'a Exits,
    pub(crate) counts: CallCounts,
}

impl Reading<'_> {
    fn whose(&self) -> Whose {
        Whose::Message(self.message.clone())
    }
}

impl Run for Reading<'_> {
    type Error = Trouble;

    fn scope(&self, spec: &Spec, arguments: &Value) -> Result<(), String> {
        let is_inside =
            |path: &str| self.roots.iter().any(|(grant, _)| contains(&grant.place.path, path)) && !goes_up(path);
        if spec.named_paths(arguments).all(is_inside) {
            return Ok(());
        }
        let names: Vec<&str> = self.roots.iter().map(|(grant, _)| grant.place.path.as_str()).collect();
        Err(format!("a path is written whole and lies in one of these: {}", names.join(", ")))
    }

    fn gates(&self, spec: &Spec, arguments: Value) -> Result<Value, String> {
        let gates = Gates::new([&self.counts as &dyn Gate]);
        gates.tool_call(spec, arguments).map_err(|blocked| blocked.why)
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
        if let Some(step) = eyes::step(intent.spec, intent.arguments, self.roots) {
            self.minds.hub.looks.add(&self.message, step, self.minds.house.clock.now());
        }
        Ok(self.minds.note_called(&self.whose(), intent).await?)
    }

    fn clean(&self, _spec: &Spec, done: &Done) -> String {
        call_log::heard(done)
    }

    async fn record(&self, call: &CallId, _spec: &Spec, done: &Done) -> Result<(), Trouble> {
        Ok(self.minds.note_returned(&self.whose(), call, done).await?)
    }

    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), Trouble> {
        Ok(self.minds.note_call_refused(&self.whose(), name, code).await?)
    }
}

/// Whether a path leads out of where it begins.
fn goes_up(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

impl Script for Reading<'_> {
    async fn prompt(&self, turns: &[Said]) -> Result<Prompt, Trouble> {
        self.minds.next_prompt(self.role, self.assigned, &self.payload, turns).await
    }

    async fn recall(&self) -> Result<Option<Reply>, Trouble> {
        Ok(None)
    }

    async fn keep(&self, _reply: &Reply) -> Result<(), Trouble> {
        Ok(())
    }
}
