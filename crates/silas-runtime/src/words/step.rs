//! The card of one call that its plan does not cover: the value, where it came from, and two answers.

use super::{approve, decline, exits, fact};
use silas_core::call_order::CallOrder;
use silas_core::card::{CardKind, Detail, Face, Risk};
use silas_core::exits::Exit;
use silas_gates::scrub;

/// May this one call be made?
pub(super) fn step(order: &CallOrder) -> Face {
    let exit = order.undeclared.first().map(|undeclared| undeclared.exit);
    let (intent, do_it, consequence) = match exit {
        Some(Exit::Search) => {
            ("Search for what the plan does not name", "Search once", "These words leave this machine.")
        }
        Some(Exit::Apply) | None => ("Call a tool that asks each time", "Call it once", "The call is made as shown."),
    };
    let mut face = Face {
        kind: CardKind::Step,
        risk: Some(Risk::Medium),
        state: "One call".to_owned(),
        intent: intent.to_owned(),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: "The model has read text that is not yours, and this is not in what you approved.".to_owned(),
        details_title: "Exactly which call".to_owned(),
        details: Vec::new(),
        diffs: Vec::new(),
        ctas: vec![approve(do_it, consequence), decline("Not this")],
    };
    for undeclared in &order.undeclared {
        face.add_fact("Wants", &scrub::visible(&undeclared.value), "Listed below");
        let from = undeclared.from.first().map_or("Text from outside", String::as_str);
        face.add_fact("After", &scrub::visible(from), "Listed below");
    }
    if order.undeclared.is_empty() {
        face.facts.push(fact("Wants", "One call, listed below"));
    }
    let lines = vec![scrub::visible(&order.tool), scrub::visible(&order.arguments)];
    face.details.push(Detail { title: "The call".to_owned(), lines });
    if !order.undeclared.is_empty() {
        let lines = order.undeclared.iter().map(exits::line).collect();
        face.details.push(Detail { title: "Not named in the plan".to_owned(), lines });
    }
    face
}

#[cfg(test)]
mod tests;
