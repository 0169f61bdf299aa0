//! What a model wants to let out with a call: compared with what its run may let out, before the call is made.
//!
//! The rule itself is `silas_core::exits`, and which ways out a tool has it declares itself. Here is what follows for a call.

use serde_json::Value;
use silas_agents::tools::{Verdict, Wait};
use silas_core::exits::{self, Declared, Leaving, Ruling};
use silas_core::seen::Seen;
use silas_core::tool::{Effect, Spec, WayOut};

/// The word about one call of a run that may let out what is declared and has seen what it has seen.
pub(crate) fn judged(declared: Declared<'_>, spec: &Spec, arguments: &Value, seen: &Seen) -> Verdict {
    if spec.effect == Effect::Outside && spec.ways_out.is_empty() {
        // Whatever it lets out, nobody has said that it may.
        let question = format!("`{}` has effects outside", spec.name);
        return Verdict::Asks(Wait { question, undeclared: Vec::new() });
    }
    let leaving = spec.ways_out.iter().filter_map(|way| match way {
        WayOut::Owner => None,
        WayOut::Search { query } => Some(Leaving::search(arguments[query.as_str()].as_str().unwrap_or_default())),
    });
    let verdicts = leaving.map(|leaving| word_about(exits::judge(declared, seen, &leaving)));
    verdicts.fold(Verdict::Allowed, stricter)
}

fn word_about(ruling: Ruling) -> Verdict {
    match ruling {
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

/// Of two ways out of one call the narrower decides.
fn stricter(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (denied @ Verdict::Denied(_), _) | (_, denied @ Verdict::Denied(_)) => denied,
        (Verdict::Asks(mut one), Verdict::Asks(other)) => {
            one.undeclared.extend(other.undeclared);
            Verdict::Asks(one)
        }
        (asks @ Verdict::Asks(_), Verdict::Allowed) | (Verdict::Allowed, asks @ Verdict::Asks(_)) => asks,
        (Verdict::Allowed, Verdict::Allowed) => Verdict::Allowed,
    }
}

#[cfg(test)]
mod tests;
