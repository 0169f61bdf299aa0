//! What a model wants to let out with a call: compared with what its run may let out, before the call is made.
//!
//! The rule itself is `silas_core::exits`. Here is only which call is an exit, and what follows for it.

use crate::search::WEB_SEARCH;
use crate::telling::TELL_USER;
use serde_json::Value;
use silas_agents::tools::{Verdict, Wait};
use silas_core::exits::{self, Declared, Leaving, Ruling};
use silas_core::seen::Seen;
use silas_core::tool::{Effect, Spec};

/// What leaves with a call, if its tool is known to let something out.
fn leaving(spec: &Spec, arguments: &Value) -> Option<Leaving> {
    (spec.name == WEB_SEARCH).then(|| Leaving::search(arguments["query"].as_str().unwrap_or_default()))
}

/// The word about one call of a run that may let out what is declared and has seen what it has seen.
pub(crate) fn judged(declared: Declared<'_>, spec: &Spec, arguments: &Value, seen: &Seen) -> Verdict {
    let Some(leaving) = leaving(spec, arguments) else {
        return match (spec.effect, spec.name.as_str()) {
            (Effect::Reads | Effect::Workspace, _) | (Effect::Outside, TELL_USER) => Verdict::Allowed,
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

#[cfg(test)]
mod tests;
