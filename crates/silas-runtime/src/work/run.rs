//! What stands around each call of a model that works on a plan: where it may look, what its plan allows, what is written
//! down, and what of it the model hears.

use super::hands::unmeant;
use super::job::Failure;
use super::rest::Rest;
use crate::assignment::Assigned;
use crate::minds::call_log::{self, Whose};
use crate::minds::exits::judged;
use crate::minds::spending::Purse;
use crate::view::Update;
use crate::words::in_code;
use crate::work::Work;
use crate::work_record::footer_of;
use serde_json::Value;
use silas_agents::tools::{Done, Intent, Run, Verdict, Wait};
use silas_agents::{Prompt, Reply, Script, Turn};
use silas_core::exits::Declared;
use silas_core::mandate::Mandate;
use silas_core::model::Role;
use silas_core::seen::Seen;
use silas_core::tool::Spec;
use silas_core::work::Directory;
use silas_core::{CallId, ExecutionId, Taint, Timestamp};
use silas_gates::calls::{CallCounts, CallLimits, TimeLeft};
use silas_gates::runner::{Gate, Gates};
use silas_store::Commit;
use silas_store::answers::{self, Answer};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) struct WorkRun<'a> {
    pub(super) work: &'a Arc<Work>,
    pub(super) execution: ExecutionId,
    pub(super) mandate: &'a Mandate,
    pub(super) directories: &'a [Directory],
    pub(super) declared: Declared<'a>,
    pub(super) assigned: &'a Assigned,
    pub(super) purse: &'a Purse<'a>,
    /// When the plan's time would be over if it had waited for nobody.
    pub(super) deadline: Timestamp,
    pub(super) rest: &'a Rest,
    /// Which line of the work shows what happens.
    pub(super) step: usize,
    /// What this attempt is about; see [`boundary::allowlist`].
    pub(super) payload: Value,
    pub(super) so_far: &'a Mutex<SoFar>,
    pub(super) counts: &'a CallCounts,
}

/// What a plan allows over all its attempts.
pub(super) fn call_limits(mandate: &Mandate) -> CallLimits {
    CallLimits { calls_max: mandate.max_tool_calls, same_max: 3, told_max: 5, instead: "call finish" }
}

/// What is counted over all attempts.
#[derive(Default)]
pub(super) struct SoFar {
    /// Answers of an earlier time that are told again, in order.
    pub(super) recalled: VecDeque<Reply>,
    pub(super) n_answers: u32,
    pub(super) n_model_calls: u32,
    n_asked: u32,
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

    pub(super) fn time_left(&self) -> Duration {
        self.deadline.plus(self.rest.total()).since(self.work.house.clock.now())
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
        if let Some(running) = self.work.running.work().get_mut(&self.execution) {
            running.view.footer = footer;
            let work = running.view.clone();
            self.work.hub.publish(Update::Work { work });
        }
    }

    /// Changes the line of the work that shows what happens.
    pub(super) fn show(&self, label: &str) {
        if let Some(running) = self.work.running.work().get_mut(&self.execution) {
            if let Some(step) = running.view.steps.get_mut(self.step) {
                label.clone_into(&mut step.label);
            }
            let work = running.view.clone();
            self.work.hub.publish(Update::Work { work });
        }
    }
}

impl Run for WorkRun<'_> {
    type Error = Failure;

    /// Where a path leads is decided by the cell; here a path that cannot be meant is told apart from one that can.
    fn scope(&self, spec: &Spec, arguments: &Value) -> Result<(), String> {
        spec.named_paths(arguments).find_map(|path| unmeant(path, self.directories)).map_or(Ok(()), Err)
    }

    fn gates(&self, spec: &Spec, arguments: Value) -> Result<Value, String> {
        let time_left = TimeLeft { secs: self.time_left().as_secs() };
        let gates = Gates::new([self.counts as &dyn Gate, &time_left]);
        gates.tool_call(spec, arguments).map_err(|blocked| blocked.why)
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
        let shown_by = intent.spec.shown_by.as_deref();
        let what = shown_by.and_then(|argument| intent.arguments[argument].as_str()).unwrap_or_default();
        self.show(&format!("Working: {} {}", intent.spec.name, in_code(what, 50)));
        Ok(self.work.minds.note_called(&self.whose(), intent).await?)
    }

    fn clean(&self, _spec: &Spec, done: &Done) -> String {
        call_log::heard(done)
    }

    async fn record(&self, call: &CallId, _spec: &Spec, done: &Done) -> Result<(), Failure> {
        if done.for_model.taint() == Taint::External {
            self.so_far().outputs.push(done.for_model.peek().clone());
        }
        Ok(self.work.minds.note_returned(&self.whose(), call, done).await?)
    }

    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), Failure> {
        Ok(self.work.minds.note_call_refused(&self.whose(), name, code).await?)
    }
}

impl Script for WorkRun<'_> {
    async fn prompt(&self, turns: &[Turn]) -> Result<Prompt, Failure> {
        self.so_far().n_model_calls += 1;
        let prompt = self.work.minds.next_prompt(Role::Executor, self.assigned, &self.payload, turns).await;
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
        let keeping = self.work.house.store.write_buffered(move |tx| {
            answers::keep(tx, &execution, n, &Answer { reply: reply.clone(), tokens, microusd })?;
            Ok(Commit(()))
        });
        Ok(keeping.await?)
    }
}
