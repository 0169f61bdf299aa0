//! The card of an unknown effect: work that may have acted outside was interrupted, and only the owner can find out.
//!
//! Computed from the plan alone, because it asks for the plan again: saying that it did not happen is approving it anew.

use super::{Answered, Asked, Declined, Rules, plan};
use crate::review::Review;
use crate::words::{Words, approve, decline, fact, outside, uses};
use silas_approval::{Recorded, Refusal};
use silas_core::card::Card;
use silas_core::card::{CardKind, Cta, Detail, FACT_CHARS_MAX, Face, Press, Risk};
use silas_core::hidden;
use silas_core::risk;
use silas_core::work::{Definition, WorkItem};
use silas_gates::scrub;
use silas_store::{ReadTx, Tx};

pub(super) struct UnknownEffect;

impl Rules for UnknownEffect {
    fn worded(&self, words: &Words, card: &Card) -> Option<Face> {
        WorkItem::from_canonical(card.payload.as_deref()?).ok().map(|item| words.unknown_effect(&item))
    }

    fn lacks(
        &self,
        review: &Review,
        tx: &ReadTx<'_>,
        asked: &Asked<'_>,
    ) -> Result<Option<Refusal>, silas_approval::Error> {
        plan::lacks(review, tx, asked)
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        plan::admit(review, tx, asked, by)
    }

    fn declined(&self) -> Declined {
        Declined { told: Some("Noted: it happened. It is not done again."), answer: "Noted. It is not done again." }
    }
}

impl Words {
    /// It was cut short while it may have acted outside, by an interruption or by its owner. What is true?
    pub fn unknown_effect(&self, item: &WorkItem) -> Face {
        let d = item.definition();
        let steps: Vec<String> = d.steps.iter().map(|step| hidden::strict(&step.run.words())).collect();
        let mut face = Face {
            kind: CardKind::UnknownEffect,
            // Doing it a second time may be worse than doing it once.
            risk: Some(risk::of_plan(d).max(Risk::High)),
            state: "Interrupted".to_owned(),
            intent: "It was cut short. Did it happen?".to_owned(),
            facts: Vec::new(),
            evidence: None,
            versions: None,
            rationale: super::plan::without_words(d),
            asked: d.owners_words().map(scrub::visible),
            quote: super::plan::quote(d),
            details_title: "Where to look".to_owned(),
            details: vec![Detail {
                title: "What is known".to_owned(),
                lines: vec![
                    "Something had begun that may reach the hosts named here, and ended before its result was seen: \
                         Silas was interrupted, or you stopped it."
                        .to_owned(),
                    "Nobody knows what it did there. Look there, or in Activity, which lists every connection."
                        .to_owned(),
                    "Nothing was applied, and it is not begun again by itself.".to_owned(),
                ],
            }],
            diffs: Vec::new(),
            ctas: vec![
                approve("No, do it again", &again(d)),
                Cta { press: Press::Look, label: "Look in Activity".to_owned(), consequence: String::new() },
                decline("Yes, leave it"),
            ],
        };
        let asking = d.verify.iter().filter(|check| check.network).map(|check| hidden::strict(&check.run.words()));
        let lists = [("Steps", steps.clone()), ("Checks that may reach out", asking.collect())];
        face.details.extend(
            lists
                .into_iter()
                .filter(|(_, lines)| !lines.is_empty())
                .map(|(title, lines)| Detail { title: title.to_owned(), lines }),
        );
        let wanted = match steps.as_slice() {
            // Two quotation marks: the title may be a model's.
            [] => hidden::quotation(&scrub::visible_line(&d.title, FACT_CHARS_MAX - 2)),
            [one] if one.chars().count() <= FACT_CHARS_MAX => one.clone(),
            more => format!("{}, listed below", crate::words::count(more.len(), "command")),
        };
        face.facts.push(fact("Wanted", &wanted));
        outside::add_to(&mut face, d);
        uses::add_to(&mut face, d, self);
        // It is signed about the whole plan again: what that may change, and everything else that it says.
        let plan = self.plan(item);
        face.facts.extend(plan.facts.into_iter().filter(|fact| fact.label == "May change"));
        let is_said = |detail: &Detail| face.details.iter().any(|said| said.title == detail.title);
        let rest: Vec<Detail> = plan.details.into_iter().filter(|detail| !is_said(detail)).collect();
        face.details.extend(rest);
        face.facts.push(fact("Stays", "Your files are untouched"));
        face
    }
}

/// Where to comes first here too: whoever looks has to know where.
fn again(d: &Definition) -> String {
    let reaches = outside::reaches(d).map_or_else(String::new, |reaches| format!("{reaches}. "));
    format!("{reaches}Runs the whole plan again. If it did happen, it happens twice.")
}
