//! The card of one call that its plan does not cover: the value, where it came from, and two answers.

use super::{Answered, Asked, Declined, Late, Rules, unreadable};
use crate::review::{Granted, Review};
use crate::words::{Words, approve, decline, exits, fact};
use silas_approval::{Recorded, Refusal};
use silas_core::call_order::CallOrder;
use silas_core::canonical;
use silas_core::card::{Card, CardState};
use silas_core::card::{CardKind, Detail, Face, Risk};
use silas_core::exits::Exit;
use silas_gates::scrub;
use silas_store::{ReadTx, Tx};

pub(super) struct Step;

impl Rules for Step {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        canonical::read::<CallOrder>(card.payload.as_deref()?).ok().map(|order| step(&order))
    }

    fn lacks(
        &self,
        review: &Review,
        _: &ReadTx<'_>,
        asked: &Asked<'_>,
    ) -> Result<Option<Refusal>, silas_approval::Error> {
        Ok((!review.running.waiting.is_waiting(&asked.card.id)).then_some(Refusal::NobodyWaits))
    }

    /// A command of the terminal is signed and used on the spot; a card asks about a call only.
    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        let Ok(order) = canonical::read::<CallOrder>(asked.payload) else { return unreadable() };
        Ok(review.house.engine.authorize(tx, &by.token, order)?.map(|approved| Granted::Call(Box::new(approved))))
    }

    fn declined(&self) -> Declined {
        Declined { told: None, answer: "Declined. The call is not made, and the work goes on without it." }
    }

    fn late(&self, _: &Review, _: &mut Tx<'_>, card: Card, _subject: &str) -> Result<Late, silas_store::Error> {
        Ok(Late::closed(card))
    }

    /// Whoever waited did so before the restore.
    fn after_restore(&self) -> CardState {
        CardState::Closed
    }
}

/// May this one call be made?
pub(crate) fn step(order: &CallOrder) -> Face {
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
        rationale: match order.undeclared.is_empty() {
            true => "This tool asks each time.".to_owned(),
            false => "The model has read text that is not yours, and the plan does not name this.".to_owned(),
        },
        asked: None,
        quote: None,
        details_title: "Exactly which call".to_owned(),
        details: Vec::new(),
        diffs: Vec::new(),
        ctas: vec![approve(do_it, consequence), decline("Not this")],
    };
    match order.undeclared.as_slice() {
        [] => face.facts.push(fact("Wanted", "One call, listed below")),
        [only] => {
            face.add_fact("Wanted", &scrub::visible(&only.value), "Listed below");
            let from = only.from.first().map_or("Text from outside", String::as_str);
            let more = if only.from.len() > 1 { "More than one, listed below" } else { from };
            face.add_fact("After", &scrub::visible(more), "Listed below");
        }
        more => face.facts.push(fact("Wanted", &format!("{} things, listed below", more.len()))),
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
