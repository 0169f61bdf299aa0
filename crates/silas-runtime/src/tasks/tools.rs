//! The task list as tools, and the run in which the owner's own words call one of them: the same path of a call that a
//! model's go, with the signed words as its authority.
//!
//! A call changes two files, so it is written down whole before it is made ([`OwnersWords::intend`]), and what a crash
//! leaves open is carried out from there.

use super::{Asked, told};
use crate::Trouble;
use crate::tasks::Tasks;
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Intent, Run, Tool, Verdict, Wait};
use silas_core::instruction::Instructed;
use silas_core::seen::Seen;
use silas_core::taint::Source;
use silas_core::task::{ADD_TASK, COMPLETE_TASK, Ending, REOPEN_TASK, Refusal, TITLE_CHARS_MAX};
use silas_core::tool::{Effect, Spec, object};
use silas_core::{CallId, MessageId, Tainted};
use std::sync::{Mutex, PoisonError};

/// What ends the run before the list has changed.
pub(super) enum Halt {
    /// The words do not verify any more.
    NotApproved,
    /// It is written down and could not be carried out yet.
    Unfinished(silas_store::Error),
    Trouble(Trouble),
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Self {
        Halt::Trouble(trouble)
    }
}

/// One message of the owner's that changes a task.
pub(super) struct OwnersWords<'a> {
    tasks: &'a Tasks,
    message: &'a MessageId,
    /// What the words ask for, worked out on the list as it was.
    asked: &'a Asked,
    /// Made by the intent, used up by the tool.
    instructed: Mutex<Option<Instructed>>,
}

impl<'a> OwnersWords<'a> {
    pub(super) fn new(tasks: &'a Tasks, message: &'a MessageId, asked: &'a Asked) -> Self {
        OwnersWords { tasks, message, asked, instructed: Mutex::default() }
    }

    /// The tools that change a task, with this run's authority as their hands.
    pub(super) fn tools<'t>(&'t self) -> Vec<Box<dyn Tool<Halt> + 't>> {
        let specs = [
            changing(ADD_TASK, "Adds a task to the owner's list.", &[]),
            changing(COMPLETE_TASK, "Finishes an open task of the owner's list.", &[VERSION]),
            changing(REOPEN_TASK, "Opens a finished task of the owner's list again.", &[VERSION]),
        ];
        specs.into_iter().map(|spec| Box::new(ChangeTask { spec, run: self }) as Box<dyn Tool<Halt> + 't>).collect()
    }
}

/// Which state of the task was looked at; another one is not touched.
const VERSION: &str = "version";

fn changing(name: &str, about: &str, more: &[&str]) -> Spec {
    let text = || json!({ "type": "string", "minLength": 1, "maxLength": TITLE_CHARS_MAX });
    let mut properties = vec![("task", text()), ("title", text())];
    properties.extend(more.iter().map(|name| (*name, json!({ "type": "integer", "minimum": 0 }))));
    Spec {
        content: vec!["title".to_owned()],
        capabilities: vec!["tasks.change".to_owned()],
        effect: Effect::Outside,
        is_parallel: false,
        shown_by: Some("title".to_owned()),
        ..Spec::reading(name, about, object(&properties))
    }
}

struct ChangeTask<'a> {
    spec: Spec,
    run: &'a OwnersWords<'a>,
}

impl Tool<Halt> for ChangeTask<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, _call: &'a Authorised<'a>) -> Doing<'a, Halt> {
        Box::pin(async move {
            let instructed = self.run.instructed.lock().unwrap_or_else(PoisonError::into_inner).take();
            let ending = match instructed {
                Some(instructed) => self.run.tasks.settle(instructed).await.map_err(Halt::Unfinished)?,
                None => Ending::Refused { why: Refusal::NotApproved },
            };
            Ok(Done {
                for_model: Tainted::new(told(&self.run.asked.call, &ending), Source::Own.taint()),
                remark: None,
                is_private: true,
                source: "the owner's tasks".to_owned(),
                is_success: ending == Ending::Done {},
            })
        })
    }
}

impl Run for OwnersWords<'_> {
    type Error = Halt;

    fn scope(&self, _spec: &Spec, _arguments: &Value) -> Result<(), String> {
        Ok(())
    }

    fn gates(&self, _spec: &Spec, arguments: Value) -> Result<Value, String> {
        Ok(arguments)
    }

    /// The words allow exactly one call and no other.
    fn authorise(&self, spec: &Spec, arguments: &Value, _seen: &Seen) -> Verdict {
        match (spec.name.as_str(), arguments) == (self.asked.call.tool(), &self.asked.call.arguments()) {
            true => Verdict::Allowed,
            false => Verdict::Denied("the owner's words ask for something else".to_owned()),
        }
    }

    /// A sentence that reflex is sure of needs no question.
    async fn ask(&self, _intent: &Intent<'_>, _wait: &Wait) -> Result<bool, Halt> {
        Ok(false)
    }

    /// Verifies the words again and uses them up, with the exact call, on disk.
    async fn intend(&self, _intent: &Intent<'_>) -> Result<CallId, Halt> {
        let instructed = self.tasks.prepare(self.message, self.asked).await?.ok_or(Halt::NotApproved)?;
        silas_core::fail::point(silas_core::fail::FailPoint::TaskPrepared);
        *self.instructed.lock().unwrap_or_else(PoisonError::into_inner) = Some(instructed);
        Ok(CallId::new(self.tasks.house.random.as_ref()))
    }

    fn clean(&self, _spec: &Spec, done: &Done) -> String {
        done.for_model.peek().clone()
    }

    /// The list's own file tells the ledger what has changed.
    async fn record(&self, _call: &CallId, _spec: &Spec, _done: &Done) -> Result<(), Halt> {
        Ok(())
    }

    async fn refuse(&self, name: &str, code: &'static str) -> Result<(), Halt> {
        tracing::warn!(name, code, "the owner's words called something that they do not ask for");
        Ok(())
    }
}
