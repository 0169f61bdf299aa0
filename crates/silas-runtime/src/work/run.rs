//! What stands around each call of a model that works on a plan: where it may look, what its plan allows, what is written
//! down, and what of it the model hears.

use super::hands::TIMEOUT_SECS;
use super::job::Failure;
use crate::leaving::judged;
use crate::models::Assigned;
use crate::spending::{self, Purse};
use crate::telling::TELL_USER;
use crate::view::Update;
use crate::{Stream, Trouble};
use serde_json::{Value, json};
use silas_agents::tools::{Done, Gate, Intent, Run, Verdict, Wait};
use silas_agents::{Prompt, Reply, Script, Turn};
use silas_core::boundary::{self, Policy};
use silas_core::event::AuditEvent;
use silas_core::exits::Declared;
use silas_core::mandate::Mandate;
use silas_core::model::Role;
use silas_core::roots::contains;
use silas_core::seen::Seen;
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec};
use silas_core::work::Directory;
use silas_core::{CallId, ExecutionId, Taint, Timestamp};
use silas_gates::{injection, scrub};
use silas_store::answers::{self, Answer};
use silas_store::{Commit, ledger};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of one result, as much as a model is told.
const RESULT_CHARS_MAX: usize = 12_000;
/// The same call with the same arguments, in a row. Once more than that tells nothing new.
const SAME_MAX: u32 = 3;
/// Sentences to the owner in one piece of work; who is told more does not read it.
const TOLD_MAX: u32 = 5;

pub(super) struct WorkRun<'a> {
    pub(super) stream: &'a Arc<Stream>,
    pub(super) execution: ExecutionId,
    pub(super) mandate: &'a Mandate,
    pub(super) directories: &'a [Directory],
    pub(super) declared: Declared<'a>,
    pub(super) assigned: &'a Assigned,
    pub(super) purse: &'a Purse<'a>,
    /// When the plan's time is over.
    pub(super) deadline: Timestamp,
    /// Which line of the work shows what happens.
    pub(super) step: usize,
    /// What this attempt is about; see [`boundary::allowlist`].
    pub(super) payload: Value,
    pub(super) so_far: &'a Mutex<SoFar>,
}

/// What is counted over all attempts.
#[derive(Default)]
pub(super) struct SoFar {
    /// Answers of an earlier time that are told again, in order.
    pub(super) recalled: VecDeque<Reply>,
    pub(super) n_answers: u32,
    pub(super) n_model_calls: u32,
    n_tool_calls: u32,
    n_told: u32,
    n_asked: u32,
    last: Option<(String, Value)>,
    n_same: u32,
    /// What came from outside, to be looked at once the attempt is over.
    pub(super) outputs: Vec<String>,
}

impl WorkRun<'_> {
    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the questions to the owner.
    pub(super) fn next_question(&self) -> u32 {
        let mut so_far = self.so_far();
        so_far.n_asked += 1;
        so_far.n_asked - 1
    }

    /// Changes the line of the work that shows what happens.
    pub(super) fn show(&self, label: &str) {
        if let Some(running) = self.stream.running().get_mut(&self.execution) {
            if let Some(step) = running.view.steps.get_mut(self.step) {
                label.clone_into(&mut step.label);
            }
            let work = running.view.clone();
            self.stream.publish(Update::Work { work });
        }
    }
}

impl Run for WorkRun<'_> {
    type Error = Failure;

    /// Where a path leads is decided by the cell; here a path that cannot be meant is told apart from one that can.
    fn scope(&self, spec: &Spec, arguments: &Value) -> Result<(), String> {
        let Some(path) =
            arguments["path"].as_str().filter(|_| spec.name.ends_with("_file") || spec.name.ends_with("_files"))
        else {
            return Ok(());
        };
        let is_inside = |directory: &Directory| contains(&directory.path, path);
        if path.split('/').any(|part| part == "..") || path.contains('\0') {
            return Err("a path has no `..` in it".to_owned());
        }
        if path.starts_with('/') && !self.directories.iter().any(is_inside) {
            let names: Vec<&str> = self.directories.iter().map(|directory| directory.path.as_str()).collect();
            return Err(format!("only these directories can be read: {}", names.join(", ")));
        }
        Ok(())
    }

    fn gates(&self, spec: &Spec, mut arguments: Value) -> Gate {
        let mut so_far = self.so_far();
        if so_far.n_tool_calls >= self.mandate.max_tool_calls {
            let n = self.mandate.max_tool_calls;
            return Gate::Block(format!("the plan allows {n} calls, and they are used up; call finish"));
        }
        let this = (spec.name.clone(), arguments.clone());
        so_far.n_same = if so_far.last.as_ref() == Some(&this) { so_far.n_same + 1 } else { 1 };
        so_far.last = Some(this);
        if so_far.n_same > SAME_MAX {
            return Gate::Block(format!(
                "the same call was made {SAME_MAX} times in a row and will not say anything else; do something else, or call finish"
            ));
        }
        if spec.name == TELL_USER {
            so_far.n_told += 1;
            if so_far.n_told > TOLD_MAX {
                return Gate::Block(format!("the owner was told {TOLD_MAX} times already"));
            }
        }
        // No command is promised more time than the plan has left.
        if spec.schema["properties"].get("timeout_seconds").is_some() {
            let left = self.deadline.since(self.stream.clock.now()).as_secs().max(1);
            let wanted = arguments["timeout_seconds"].as_u64().unwrap_or(TIMEOUT_SECS);
            arguments["timeout_seconds"] = json!(wanted.min(left));
        }
        Gate::Continue(arguments)
    }

    /// The plan's own list of tools is what the owner approved. What leaves the run is judged here, with all it has seen.
    fn authorise(&self, spec: &Spec, arguments: &Value, seen: &Seen) -> Verdict {
        match self.mandate.has(&spec.name) {
            true => judged(self.declared, spec, arguments, seen),
            false => Verdict::Denied("the approved plan does not name this tool".to_owned()),
        }
    }

    async fn ask(&self, intent: &Intent<'_>, wait: &Wait) -> Result<bool, Failure> {
        self.ask_owner(intent, wait).await
    }

    async fn intend(&self, intent: &Intent<'_>) -> Result<CallId, Failure> {
        self.so_far().n_tool_calls += 1;
        let call = CallId::new(self.stream.random.as_ref());
        let what = intent.arguments["script"].as_str().or(intent.arguments["path"].as_str()).unwrap_or_default();
        self.show(&format!("Working: {} `{}`", intent.spec.name, scrub::visible_line(what, 50)));
        let (id, execution, tool) = (call.clone(), self.execution.clone(), intent.spec.name.clone());
        let arguments = within_a_text(&intent.arguments.to_string());
        let change = move |tx: &mut silas_store::Tx<'_>| {
            let arguments = tx.text(&arguments)?;
            let (call, execution, tool) = (id.clone(), Some(execution.clone()), tool.clone());
            tx.record(&AuditEvent::ToolCalled { call, execution, message: None, tool, arguments })?;
            Ok(Commit(()))
        };
        // What happens in the copy is gone with a crash, and so may be its mention; what leaves it is on disk first.
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

    async fn record(&self, call: &CallId, _spec: &Spec, done: &Done) -> Result<(), Failure> {
        let (call, execution, taint) = (call.clone(), self.execution.clone(), done.for_model.taint());
        let outcome = if done.is_success { "done" } else { "failed" };
        let output = within_a_text(&scrub::visible(done.for_model.peek()));
        if taint == Taint::External {
            self.so_far().outputs.push(done.for_model.peek().clone());
        }
        let noting = self.stream.store.write_buffered(move |tx| {
            let output = tx.text(&output)?;
            let (call, execution, outcome) = (call.clone(), Some(execution.clone()), outcome.to_owned());
            tx.record(&AuditEvent::ToolReturned { call, execution, outcome, taint, output })?;
            Ok(Commit(()))
        });
        Ok(noting.await?)
    }

    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), Failure> {
        let (execution, name) = (self.execution.clone(), scrub::visible_line(name, 80));
        let noting = self.stream.store.write_buffered(move |tx| {
            let tool = tx.text(&name)?;
            tx.record(&AuditEvent::ToolRefused { execution: Some(execution.clone()), tool, code: code.to_owned() })?;
            Ok(Commit(()))
        });
        Ok(noting.await?)
    }
}

impl Script for WorkRun<'_> {
    /// The five checks again before each question: an agreement may be taken back while the work goes on.
    async fn prompt(&self, turns: &[Turn]) -> Result<Prompt, Failure> {
        self.so_far().n_model_calls += 1;
        let grants = self.stream.model_grants().await.map_err(Failure::Trouble)?;
        let heard = turns.iter().flat_map(|turn| turn.calls.iter().zip(&turn.results));
        let results: Vec<Value> = heard.map(|(call, text)| json!({ "tool": call.name, "text": text })).collect();
        let mut payload = self.payload.clone();
        payload["results"] = Value::Array(results);
        // The plan was approved or is rehearsed at the owner's own word.
        let (asker, model) = (Source::Signed.taint(), &self.assigned.model);
        let call = boundary::Call { asker, role: Role::Executor, model, payload };
        let policy = Policy {
            allowed: std::slice::from_ref(model),
            local_only: self.stream.options.models.local_only,
            receipts: &grants,
            has_key: &|| self.stream.has_key(&self.assigned.key),
        };
        match boundary::admit(call, &policy) {
            Ok(projected) => Prompt::render(&projected).map_err(|error| Failure::Trouble(spending::failed(&error))),
            Err(refusal) => {
                self.stream.note_model_refused(Role::Executor, refusal.code()).await;
                let what = format!("The model was not asked: {refusal}. Nothing was sent.");
                Err(Failure::Trouble(Trouble::new(refusal.code(), &what, "Agree to it with `silas model add`.")))
            }
        }
    }

    async fn recall(&self) -> Result<Option<Reply>, Failure> {
        let mut so_far = self.so_far();
        let reply = so_far.recalled.pop_front();
        if reply.is_some() {
            so_far.n_model_calls += 1;
        }
        Ok(reply)
    }

    /// On disk before anything is made of it, so that nothing is paid for twice.
    async fn keep(&self, reply: &Reply) -> Result<(), Failure> {
        let n = {
            let mut so_far = self.so_far();
            so_far.n_answers += 1;
            so_far.n_answers - 1
        };
        let (tokens, microusd) = self.purse.used();
        let reply = serde_json::to_value(reply).map_err(silas_store::Error::from)?;
        let execution = self.execution.clone();
        let keeping = self.stream.store.write_buffered(move |tx| {
            answers::keep(tx, &execution, n, &Answer { reply: reply.clone(), tokens, microusd })?;
            Ok(Commit(()))
        });
        Ok(keeping.await?)
    }
}

/// As much of it as the ledger keeps beside an entry.
fn within_a_text(text: &str) -> String {
    let mut end = text.len().min(ledger::TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
