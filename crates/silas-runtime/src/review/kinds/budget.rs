//! The card of a cap that the next question could exceed: what is spent, what more would be allowed, and what becomes of
//! what waits.
//!
//! "Go on without a model" is not offered: what waits at this card is a question to a model or the work of one, and without
//! it there is nothing to go on with. Whoever says no has the rest of Silas as before.

use super::{Answered, Asked, Declined, Rules, unreadable};
use crate::post;
use crate::review::{Granted, Review};
use crate::words::{Words, approve, decline, fact};
use silas_approval::Recorded;
use silas_core::canonical;
use silas_core::card::Card;
use silas_core::card::{CardKind, Detail, Face, Risk};
use silas_core::event::AuditEvent;
use silas_core::model::{BudgetGrant, dollars};
use silas_store::{Tx, model_calls};

pub(super) struct Budget;

impl Rules for Budget {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        canonical::read::<BudgetGrant>(card.payload.as_deref()?).ok().map(|grant| budget(&grant))
    }

    fn waits_no_longer(&self) -> Option<&'static str> {
        Some(
            "No more may be spent, so no model is asked any further. Your message waits no longer; say it again when there \
             is more to spend.",
        )
    }

    /// How much was spent when it was asked makes no other question.
    fn asks_the_same(&self, _: &Card, _: &Card) -> bool {
        true
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        let Ok(grant) = canonical::read::<BudgetGrant>(asked.payload) else { return unreadable() };
        if let Err(refusal) = review.house.engine.authorize(tx, &by.token, grant.clone())? {
            return Ok(Err(refusal));
        }
        model_calls::extend(tx, &by.token, &grant)?;
        let BudgetGrant { period, microusd, .. } = grant;
        tx.record(&AuditEvent::BudgetExtended { token: by.token.clone(), period, microusd })?;
        let wish = post::call_back(tx, review.house.random.as_ref(), asked.subject, review.house.clock.now())?;
        Ok(Ok(Granted::Allowed { wish, say: "Added. The cap is as before afterwards." }))
    }

    fn declined(&self) -> Declined {
        Declined { told: None, answer: "Declined. No more is spent, and work that waits for it ends." }
    }
}

/// May more be spent?
pub(crate) fn budget(grant: &BudgetGrant) -> Face {
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
            (_, false) => format!("The next question may exceed {} {cap}", whose.to_lowercase()),
        },
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: "What needs a model waits for your answer. The next question was not sent.".to_owned(),
        asked: None,
        quote: None,
        details_title: "Exactly what is allowed".to_owned(),
        details: vec![Detail {
            title: "Limits".to_owned(),
            lines: vec![
                format!("{sum} on top of the {cap} of {} (UTC); then the cap is as before", grant.period),
                format!("{} are spent or promised to questions under way", dollars(grant.spent_microusd)),
                "Work that waits ends if you stop it or nobody decides in time: your files are untouched, and what it did \
                 in its private copy is lost"
                    .to_owned(),
                "A wish that waits is dropped if you stop it; if nobody decides, it goes on waiting".to_owned(),
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
