//! A run that can only read, for as long as a message is being answered: the planner's, whoever looks something up for it,
//! and the proxy's own.
//!
//! It has no plan, no approval and no copy. Deliberately absent: any card. What would have to be asked is denied, because a
//! turn does not stand still.

use crate::leaving::judged;
use crate::models::Assigned;
use crate::spending;
use crate::telling::TELL_USER;
use crate::{Stream, Trouble};
use serde_json::{Value, json};
use silas_agents::tools::{Done, Gate, Intent, Run, Verdict, Wait};
use silas_agents::{Prompt, Reply, Script, Turn as Said};
use silas_core::boundary::{self, Policy};
use silas_core::event::AuditEvent;
use silas_core::evidence::Allowance;
use silas_core::exits::{Declared, Exits};
use silas_core::model::Role;
use silas_core::roots::{RootGrant, contains};
use silas_core::seen::Seen;
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec};
use silas_core::{CallId, MessageId, Taint};
use silas_gates::{injection, scrub};
use silas_store::{Commit, Tx};
use std::sync::{Arc, Mutex, PoisonError};

/// How often the same call is made in a row.
const SAME_MAX: u32 = 2;
/// How often the owner hears of it before the answer.
const TOLD_MAX: u32 = 2;
const RESULT_CHARS_MAX: usize = 12_000;

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
        let call = CallId::new(self.stream.random.as_ref());
        let (id, message, tool) = (call.clone(), self.message.clone(), intent.spec.name.clone());
        let arguments = intent.arguments.to_string();
        let change = move |tx: &mut Tx<'_>| {
            let arguments = tx.text(&arguments)?;
            let (call, message, tool) = (id.clone(), Some(message.clone()), tool.clone());
            tx.record(&AuditEvent::ToolCalled { call, execution: None, message, tool, arguments })?;
            Ok(Commit(()))
        };
        match intent.spec.effect {
            Effect::Reads | Effect::Workspace => self.stream.store.write_buffered(change).await?,
            Effect::Outside => self.stream.store.write(change).await?,
        }
        Ok(call)
    }

    fn clean(&self, _spec: &Spec, done: &Done) -> String {
        let text: String = done.for_model.peek().chars().take(RESULT_CHARS_MAX).collect();
        match done.for_model.taint() {
            Taint::Owner | Taint::Auth => text,
            Taint::External => injection::fenced(&text),
        }
    }

    async fn record(&self, call: &CallId, _spec: &Spec, done: &Done) -> Result<(), Trouble> {
        let (call, taint) = (call.clone(), done.for_model.taint());
        let outcome = if done.is_success { "done" } else { "failed" };
        let output = scrub::visible(done.for_model.peek());
        let noting = self.stream.store.write_buffered(move |tx| {
            let output = tx.text(&output)?;
            let (call, outcome) = (call.clone(), outcome.to_owned());
            tx.record(&AuditEvent::ToolReturned { call, execution: None, outcome, taint, output })?;
            Ok(Commit(()))
        });
        Ok(noting.await?)
    }

    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), Trouble> {
        let name = scrub::visible_line(name, 80);
        let noting = self.stream.store.write_buffered(move |tx| {
            let tool = tx.text(&name)?;
            tx.record(&AuditEvent::ToolRefused { execution: None, tool, code: code.to_owned() })?;
            Ok(Commit(()))
        });
        Ok(noting.await?)
    }
}

impl Script for Reading<'_> {
    async fn prompt(&self, turns: &[Said]) -> Result<Prompt, Trouble> {
        let grants = self.stream.model_grants().await?;
        let heard = turns.iter().flat_map(|turn| turn.calls.iter().zip(&turn.results));
        let results: Vec<Value> = heard.map(|(call, text)| json!({ "tool": call.name, "text": text })).collect();
        let mut payload = self.payload.clone();
        payload["results"] = Value::Array(results);
        let model = &self.assigned.model;
        // Only the owner's own words lead here.
        let call = boundary::Call { asker: Source::Signed.taint(), role: self.role, model, payload };
        let policy = Policy {
            allowed: std::slice::from_ref(model),
            local_only: self.stream.options.models.local_only,
            receipts: &grants,
            has_key: &|| self.stream.has_key(&self.assigned.key),
        };
        match boundary::admit(call, &policy) {
            Ok(projected) => Prompt::render(&projected).map_err(|error| spending::failed(&error)),
            Err(refusal) => {
                self.stream.note_model_refused(self.role, refusal.code()).await;
                let what = format!("No model was asked: {refusal}. Nothing was sent.");
                Err(Trouble::new(refusal.code(), &what, "Agree to it with `silas model add`."))
            }
        }
    }

    async fn recall(&self) -> Result<Option<Reply>, Trouble> {
        Ok(None)
    }

    async fn keep(&self, _reply: &Reply) -> Result<(), Trouble> {
        Ok(())
    }
}
