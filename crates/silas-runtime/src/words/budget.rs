//! The card of a cap that the next question could exceed: what is spent, what more would be allowed, and that what waits
//! is not lost.
//!
//! "Go on without a model" is not offered: what waits at this card is a question to a model or the work of one, and without
//! it there is nothing to go on with. Whoever says no has the rest of Silas as before.

use super::{approve, decline, fact};
use silas_core::card::{CardKind, Detail, Face, Risk};
use silas_core::model::{BudgetGrant, dollars};

/// May more be spent?
pub(super) fn budget(grant: &BudgetGrant) -> Face {
    let sum = dollars(grant.microusd);
    let (whose, when, each) = match grant.period.is_day() {
        true => ("Today's", "today", "a day"),
        false => ("This month's", "this month", "a month"),
    };
    let cap = dollars(grant.cap_microusd);
    let is_spent = grant.spent_microusd >= grant.cap_microusd;
    let mut face = Face {
        kind: CardKind::Budget,
        risk: Some(Risk::Medium),
        state: "Spending cap".to_owned(),
        intent: match (grant.cap_microusd, is_spent) {
            (0, _) => format!("Nothing may be spent on models {when}"),
            (_, true) => format!("{whose} {cap} are spent"),
            (_, false) => format!("{whose} {cap} are nearly spent"),
        },
        facts: Vec::new(),
        evidence: None,
        rationale: "Work is paused, nothing is lost. The next question was not sent.".to_owned(),
        asked: None,
        quote: None,
        details_title: "Exactly what is allowed".to_owned(),
        details: vec![Detail {
            title: "Limits".to_owned(),
            lines: vec![
                format!("{sum} on top of the {cap} of {} (UTC); then the cap is as before", grant.period),
                format!("{} are spent or promised to questions under way", dollars(grant.spent_microusd)),
                "Nobody decides: after five minutes the card is parked, and what waits ends without a change"
                    .to_owned(),
            ],
        }],
        diffs: Vec::new(),
        ctas: vec![
            approve(&format!("Allow {sum} more"), &format!("Up to {sum} more go to models {when}, and work goes on.")),
            decline("Stop here"),
        ],
    };
    let spent = format!("{cap} {each}, {} spent", dollars(grant.spent_microusd));
    face.add_fact("Cap", &spent, &format!("{cap} {each}"));
    face.facts.push(fact("Stops at", &dollars(grant.cap_microusd.saturating_add(grant.microusd))));
    face
}
