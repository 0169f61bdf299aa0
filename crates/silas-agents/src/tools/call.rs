//! The one path of a call, from what a model wrote to what it is told. It reads from top to bottom, and there is no other.
//!
//! What is refused here is an answer to the model, written down and counted; nothing was done. (DESIGN §1.1)

use super::{Done, Toolset};
use crate::model::ToolCall;
use serde_json::Value;
use silas_core::CallId;
use silas_core::exits::Undeclared;
use silas_core::seen::{Seen, Sight};
use silas_core::tool::{Spec, misfit};
use std::future::Future;
use std::sync::{Mutex, PoisonError};

/// Whether the final arguments may be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Allowed,
    Denied(String),
    /// The owner is asked first.
    Asks(Wait),
}

/// Why a call waits for the owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    pub question: String,
    /// What would leave the run and was not declared; empty for a tool that always asks.
    pub undeclared: Vec<Undeclared>,
}

/// A call that went its whole way: it fits its schema and scope, passed the gates, was authorised with exactly these
/// arguments, and is written down.
///
/// Whoever has hands asks for one, and it cannot be made elsewhere:
///
/// ```compile_fail,E0451
/// # use silas_agents::tools::Authorised;
/// # fn forge<'a>(id: &'a silas_core::CallId, arguments: &'a serde_json::Value) -> Authorised<'a> {
/// Authorised { id, arguments }
/// # }
/// ```
///
/// It can be looked at:
///
/// ```
/// # use silas_agents::tools::Authorised;
/// # fn look<'a>(call: &'a Authorised<'a>) -> (&'a silas_core::CallId, &'a serde_json::Value) {
/// (call.id(), call.arguments())
/// # }
/// ```
pub struct Authorised<'a> {
    id: &'a CallId,
    arguments: &'a Value,
}

impl Authorised<'_> {
    pub fn id(&self) -> &CallId {
        self.id
    }

    pub fn arguments(&self) -> &Value {
        self.arguments
    }
}

/// A call that is about to be made.
pub struct Intent<'a> {
    pub spec: &'a Spec,
    pub arguments: &'a Value,
}

/// What a call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Returned {
    Done {
        /// Fenced and bounded: as a model may see it.
        text: String,
        is_success: bool,
    },
    /// Nothing was done. The code is for the ledger, the text for the model.
    Refused { code: &'static str, text: String },
}

/// What the runtime brings to a run: where it may reach, its gates, its authority, its books.
pub trait Run: Sync {
    /// What ends the whole run.
    type Error: Send;

    /// Whether arguments stay within what this run may touch; else why not.
    fn scope(&self, spec: &Spec, arguments: &Value) -> Result<(), String>;

    /// What the gates make of the arguments: the same, or others, or why it does not pass.
    fn gates(&self, spec: &Spec, arguments: Value) -> Result<Value, String>;

    /// The last word about exactly these arguments, given everything that the run has read.
    fn authorise(&self, spec: &Spec, arguments: &Value, seen: &Seen) -> Verdict;

    /// Makes the question to the owner and gives the answer; the run waits.
    fn ask(&self, intent: &Intent<'_>, wait: &Wait) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Writes down what is about to be done. Nothing is done before this returns.
    fn intend(&self, intent: &Intent<'_>) -> impl Future<Output = Result<CallId, Self::Error>> + Send;

    /// What came of it as a model may see it: between marks, and without orders if it is not from the owner's own files.
    fn clean(&self, spec: &Spec, done: &Done) -> String;

    fn record(&self, call: &CallId, spec: &Spec, done: &Done) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Writes down a call that was not made.
    fn refuse(&self, name: &str, code: &'static str) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// One call, and what its run has read so far.
pub struct Call<'a> {
    pub written: &'a ToolCall,
    pub seen: &'a Mutex<Seen>,
}

pub async fn call<R: Run>(
    tools: &dyn Toolset<R::Error>,
    run: &R,
    Call { written, seen }: Call<'_>,
) -> Result<Returned, R::Error> {
    let name = written.name.as_str();
    let refused = async |code: &'static str, text: String| {
        run.refuse(name, code).await?;
        Ok(Returned::Refused { code, text })
    };

    // Validate.
    let Some(tool) = tools.find(name) else {
        let names: Vec<&str> = tools.offered().iter().map(|spec| spec.name.as_str()).collect();
        let text = format!("There is no such tool. There are: {}.", names.join(", "));
        return refused("E_TOOL_UNKNOWN", text).await;
    };
    let spec = tool.spec();
    let arguments = match read(&written.arguments, spec) {
        Ok(arguments) => arguments,
        Err(why) => return refused("E_TOOL_ARGUMENTS", format!("Not called: {why}.")).await,
    };

    // Scope.
    if let Err(why) = run.scope(spec, &arguments) {
        return refused("E_TOOL_SCOPE", format!("Not called: {why}.")).await;
    }

    // Gates, which may rewrite; so validate and look at the scope again.
    let arguments = match run.gates(spec, arguments) {
        Ok(arguments) => arguments,
        Err(why) => return refused("E_TOOL_BLOCKED", format!("Not called: {why}.")).await,
    };
    if let Some(why) = misfit(&arguments, &spec.schema) {
        return refused("E_TOOL_ARGUMENTS", format!("Not called: {why}.")).await;
    }
    if let Err(why) = run.scope(spec, &arguments) {
        return refused("E_TOOL_SCOPE", format!("Not called: {why}.")).await;
    }

    // Authorise the final arguments.
    let so_far = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let intent = Intent { spec, arguments: &arguments };
    let verdict = match tools.waits(spec) {
        Some(question) => Verdict::Asks(Wait { question, undeclared: Vec::new() }),
        None => run.authorise(spec, &arguments, &so_far),
    };
    match verdict {
        Verdict::Allowed => {}
        Verdict::Denied(why) => return refused("E_TOOL_DENIED", format!("Not called: {why}.")).await,
        Verdict::Asks(wait) => {
            if !run.ask(&intent, &wait).await? {
                return refused("E_TOOL_DECLINED", "Not called: the owner did not agree.".to_owned()).await;
            }
        }
    }

    // Record the intent, execute, taint and fence, record the result.
    let id = run.intend(&intent).await?;
    let done = tool.execute(&Authorised { id: &id, arguments: &arguments }).await?;
    let sight = Sight { taint: done.for_model.taint(), is_private: done.is_private, source: done.source.clone() };
    seen.lock().unwrap_or_else(PoisonError::into_inner).add(sight, done.for_model.peek());
    let text = run.clean(spec, &done);
    run.record(&id, spec, &done).await?;
    Ok(Returned::Done { text, is_success: done.is_success })
}

fn read(written: &str, spec: &Spec) -> Result<Value, String> {
    // Nothing at all is how some models call a tool without arguments.
    let written = if written.trim().is_empty() { "{}" } else { written };
    let arguments = serde_json::from_str(written).map_err(|_| "the arguments are no JSON object".to_owned())?;
    match misfit(&arguments, &spec.schema) {
        None => Ok(arguments),
        Some(why) => Err(why),
    }
}
