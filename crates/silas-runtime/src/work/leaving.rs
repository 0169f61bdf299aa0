//! What a model that works on a plan wants to let out: compared with the plan before the call is made, and asked about where
//! that can be.

use super::job::Failure;
use super::run::WorkRun;
use serde_json::Value;
use silas_agents::tools::{Intent, Verdict, Wait};
use silas_core::call_order::{ARGUMENTS_BYTES_MAX, ASKED_MAX, CallOrder};
use silas_core::exits::{self, Declared, Leaving, Ruling};
use silas_core::seen::Seen;
use silas_core::token::Kind;
use silas_core::tool::{Effect, Spec};

/// What leaves with a call, if its tool is known to let something out.
fn leaving(spec: &Spec, arguments: &Value) -> Option<Leaving> {
    (spec.name == "web_search").then(|| Leaving::search(arguments["query"].as_str().unwrap_or_default()))
}

/// The word about one call of a run that may let out what is declared and has seen what it has seen.
pub(crate) fn judged(declared: Declared<'_>, spec: &Spec, arguments: &Value, seen: &Seen) -> Verdict {
    let Some(leaving) = leaving(spec, arguments) else {
        return match (spec.effect, spec.name.as_str()) {
            (Effect::Reads | Effect::Workspace, _) | (Effect::Outside, "tell_user") => Verdict::Allowed,
            // Whatever it lets out, nobody has said that it may.
            (Effect::Outside, name) => {
                Verdict::Asks(Wait { question: format!("`{name}` has effects outside"), undeclared: Vec::new() })
            }
        };
    };
    match exits::judge(declared, seen, &leaving) {
        Ruling::Pass => Verdict::Allowed,
        Ruling::Ask(undeclared) => {
            Verdict::Asks(Wait { question: crate::words::exits::line(&undeclared), undeclared: vec![undeclared] })
        }
        Ruling::Refuse(_) => Verdict::Denied(
            "the plan does not name this, and you have read private data and text from outside, so nothing else can leave; go \
             on without it"
                .to_owned(),
        ),
    }
}

impl WorkRun<'_> {
    /// Asks the owner about exactly this call. The work stands still meanwhile; no answer is a no.
    pub(super) async fn ask_owner(&self, intent: &Intent<'_>, wait: &Wait) -> Result<bool, Failure> {
        let arguments = intent.arguments.to_string();
        let nth = self.next_question();
        if arguments.len() > ARGUMENTS_BYTES_MAX || nth >= ASKED_MAX {
            return Ok(false);
        }
        let order = CallOrder {
            kind: Kind::Step,
            execution: self.execution.clone(),
            nth,
            tool: intent.spec.name.clone(),
            arguments,
            undeclared: wait.undeclared.clone(),
        };
        self.show("Waiting for your answer in Review");
        let approved = self.stream.ask_about_call(&order).await.map_err(Failure::Trouble)?;
        Ok(approved.is_some())
    }
}
