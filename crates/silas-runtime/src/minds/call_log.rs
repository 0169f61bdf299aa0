//! What stands around a call whoever makes it: what the ledger has of it, what a model hears of its result, and the five
//! checks before the next question.
//!
//! What a run may do is its own affair (`minds/reading.rs`, `work/run.rs`).

use crate::Trouble;
use crate::assignment::Assigned;
use crate::minds::{Minds, spending};
use serde_json::{Value, json};
use silas_agents::tools::{Done, Intent};
use silas_agents::{Prompt, Turn};
use silas_core::boundary::{self, Policy};
use silas_core::event::AuditEvent;
use silas_core::excerpt;
use silas_core::model::Role;
use silas_core::taint::Source;
use silas_core::tool::Effect;
use silas_core::{CallId, ExecutionId, MessageId, Taint};
use silas_gates::{injection, scrub};
use silas_store::{Commit, Tx, ledger};

/// Of one result, as much as a model is told.
const RESULT_CHARS_MAX: usize = 12_000;
/// Of a name that a model made up.
const NAME_CHARS_MAX: usize = 80;

/// For what calls are made.
#[derive(Clone)]
pub(crate) enum Whose {
    Work(ExecutionId),
    Message(MessageId),
}

impl Whose {
    fn execution(&self) -> Option<ExecutionId> {
        match self {
            Whose::Work(execution) => Some(execution.clone()),
            Whose::Message(_) => None,
        }
    }

    fn message(&self) -> Option<MessageId> {
        match self {
            Whose::Work(_) => None,
            Whose::Message(message) => Some(message.clone()),
        }
    }
}

impl Minds {
    pub(crate) async fn note_called(&self, whose: &Whose, intent: &Intent<'_>) -> Result<CallId, silas_store::Error> {
        let call = CallId::new(self.house.random.as_ref());
        let (id, whose, tool) = (call.clone(), whose.clone(), intent.spec.name.clone());
        let arguments = within_a_text(&intent.arguments.to_string());
        let change = move |tx: &mut Tx<'_>| {
            let arguments = tx.text(&arguments)?;
            let (call, execution, message, tool) = (id.clone(), whose.execution(), whose.message(), tool.clone());
            tx.record(&AuditEvent::ToolCalled { call, execution, message, tool, arguments })?;
            Ok(Commit(()))
        };
        // What happens in a copy is gone with a crash, and so may be its mention; what leaves is on disk first.
        match intent.spec.effect {
            Effect::Reads | Effect::Workspace => self.house.store.write_buffered(change).await?,
            Effect::Outside => self.house.store.write(change).await?,
        }
        Ok(call)
    }

    pub(crate) async fn note_returned(
        &self,
        whose: &Whose,
        call: &CallId,
        done: &Done,
    ) -> Result<(), silas_store::Error> {
        let (call, whose, taint) = (call.clone(), whose.clone(), done.for_model.taint());
        let outcome = if done.is_success { "done" } else { "failed" };
        let said = done.remark.as_deref().unwrap_or_default();
        let output = within_a_text(&scrub::visible(&joined(done.for_model.peek(), said)));
        let noting = self.house.store.write_buffered(move |tx| {
            let output = tx.text(&output)?;
            let (call, execution, outcome) = (call.clone(), whose.execution(), outcome.to_owned());
            tx.record(&AuditEvent::ToolReturned { call, execution, outcome, taint, output })?;
            Ok(Commit(()))
        });
        noting.await
    }

    pub(crate) async fn note_call_refused(
        &self,
        whose: &Whose,
        name: &str,
        code: &'static str,
    ) -> Result<(), silas_store::Error> {
        let (whose, name) = (whose.clone(), scrub::visible_line(name, NAME_CHARS_MAX));
        let noting = self.house.store.write_buffered(move |tx| {
            let tool = tx.text(&name)?;
            tx.record(&AuditEvent::ToolRefused { execution: whose.execution(), tool, code: code.to_owned() })?;
            Ok(Commit(()))
        });
        noting.await
    }

    /// The next question, with what the calls so far gave back. The five checks come before each one: an agreement may be
    /// taken back at any time.
    pub(crate) async fn next_prompt(
        &self,
        role: Role,
        assigned: &Assigned,
        payload: &Value,
        turns: &[Turn],
    ) -> Result<Prompt, Trouble> {
        let grants = self.model_grants().await?;
        let heard = turns.iter().flat_map(|turn| turn.calls.iter().zip(&turn.results));
        let results: Vec<Value> = heard.map(|(call, text)| json!({ "tool": call.name, "text": text })).collect();
        let mut payload = payload.clone();
        payload["results"] = Value::Array(results);
        // Only the owner's own words lead here: a message, or a plan that was approved or is rehearsed at their word.
        let (asker, model) = (Source::Signed.taint(), &assigned.model);
        let call = boundary::Call { asker, role, model, payload };
        let policy = Policy {
            allowed: std::slice::from_ref(model),
            local_only: self.house.options.models.local_only,
            receipts: &grants,
            has_key: &|| self.has_key(&assigned.key),
        };
        match boundary::admit(call, &policy) {
            Ok(projected) => Prompt::render(&projected).map_err(|error| spending::failed(&error)),
            Err(refusal) => {
                self.note_model_refused(role, refusal.code()).await;
                let what = format!("The model was not asked: {refusal}. Nothing was sent.");
                Err(Trouble::new(refusal.code(), &what, "Agree to it with `silas model add`."))
            }
        }
    }
}

/// What a model hears of a result: bounded, and fenced if it is not the owner's. What was read in the owner's own
/// directories stays exactly as it is, because the model may write it back; what others say elsewhere is scrubbed too. What
/// Silas says about it stands outside the fence.
pub(crate) fn heard(done: &Done) -> String {
    let text = excerpt::of(done.for_model.peek(), RESULT_CHARS_MAX);
    let fenced = match done.for_model.taint() {
        Taint::Owner | Taint::Auth => text.clone(),
        Taint::External if text.is_empty() && done.remark.is_some() => String::new(),
        Taint::External if done.is_private => injection::verbatim(&text),
        Taint::External => injection::fenced(&text),
    };
    let is_cut = text.len() != done.for_model.peek().len();
    let more = if is_cut { "More came of it than is shown." } else { "" };
    joined(&joined(&fenced, done.remark.as_deref().unwrap_or_default()), more)
}

fn joined(first: &str, then: &str) -> String {
    let both: Vec<&str> = [first, then].into_iter().filter(|part| !part.is_empty()).collect();
    both.join("\n")
}

/// As much of it as the ledger keeps beside an entry.
fn within_a_text(text: &str) -> String {
    let mut end = text.len().min(ledger::TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
