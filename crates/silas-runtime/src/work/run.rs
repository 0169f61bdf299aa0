//! What stands around each call of a model that works on a plan: where it may look, what its plan allows, what is written
//! down, and what of it the model hears.

use super::hands::TIMEOUT_SECS;
use super::job::Failure;
use super::record::footer_of;
use crate::Stream;
use crate::call_log::{self, Whose};
use crate::leaving::judged;
use crate::models::Assigned;
use crate::spending::Purse;
use crate::telling::TELL_USER;
use crate::view::Update;
use serde_json::{Value, json};
use silas_agents::tools::{Done, Gate, Intent, Run, Verdict, Wait};
use silas_agents::{Prompt, Reply, Script, Turn};
use silas_core::exits::Declared;
use silas_core::mandate::Mandate;
use silas_core::model::Role;
use silas_core::roots::contains;
use silas_core::seen::Seen;
use silas_core::tool::Spec;
use silas_core::work::Directory;
use silas_core::{CallId, ExecutionId, Taint, Timestamp};
use silas_gates::scrub;
use silas_store::Commit;
use silas_store::answers::{self, Answer};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

    fn whose(&self) -> Whose {
        Whose::Work(self.execution.clone())
    }

    /// Counts the questions to the owner.
    pub(super) fn next_question(&self) -> u32 {
        let mut so_far = self.so_far();
        so_far.n_asked += 1;
        so_far.n_asked - 1
    }

    /// What it has cost so far, while it works.
    fn show_cost(&self, microusd: u64) {
        let Some(footer) = self.purse.plan().and_then(|budget| footer_of(microusd, budget)) else { return };
        if let Some(running) = self.stream.running().get_mut(&self.execution) {
            running.view.footer = footer;
            let work = running.view.clone();
            self.stream.publish(Update::Work { work });
        }
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
        let what = intent.arguments["script"].as_str().or(intent.arguments["path"].as_str()).unwrap_or_default();
        self.show(&format!("Working: {} `{}`", intent.spec.name, scrub::visible_line(what, 50)));
        Ok(self.stream.note_called(&self.whose(), intent).await?)
    }

    fn clean(&self, _spec: &Spec, done: &Done) -> String {
        call_log::heard(done)
    }

    async fn record(&self, call: &CallId, _spec: &Spec, done: &Done) -> Result<(), Failure> {
        if done.for_model.taint() == Taint::External {
            self.so_far().outputs.push(done.for_model.peek().clone());
        }
        Ok(self.stream.note_returned(&self.whose(), call, done).await?)
    }

    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), Failure> {
        Ok(self.stream.note_call_refused(&self.whose(), name, code).await?)
    }
}

impl Script for WorkRun<'_> {
    async fn prompt(&self, turns: &[Turn]) -> Result<Prompt, Failure> {
        self.so_far().n_model_calls += 1;
        let prompt = self.stream.next_prompt(Role::Executor, self.assigned, &self.payload, turns).await;
        prompt.map_err(Failure::Trouble)
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
        self.show_cost(microusd);
        let reply = serde_json::to_value(reply).map_err(silas_store::Error::from)?;
        let execution = self.execution.clone();
        let keeping = self.stream.store.write_buffered(move |tx| {
            answers::keep(tx, &execution, n, &Answer { reply: reply.clone(), tokens, microusd })?;
            Ok(Commit(()))
        });
        Ok(keeping.await?)
    }
}
