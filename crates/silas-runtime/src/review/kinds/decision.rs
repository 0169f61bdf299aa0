//! Which of these is meant? A model asks before it plans; the answer is a message and allows nothing.

use super::{Answered, Asked, Rules, unreadable};
use crate::review::Review;
use crate::words::{Words, press};
use silas_approval::Recorded;
use silas_core::card::{Card, CardState};
use silas_core::card::{CardKind, Detail, Face, Press, Quote};
use silas_core::input::Input;
use silas_core::inquiry::Inquiry;
use silas_gates::scrub;
use silas_store::Tx;

pub(super) struct Decision;

impl Rules for Decision {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        card.input.as_ref().and_then(Input::inquiry).map(inquiry)
    }

    fn waits_no_longer(&self) -> Option<&'static str> {
        Some(
            "The question was not answered, so nothing was planned. Your wish waits no longer; say it again if you like.",
        )
    }

    /// The answer is a message.
    fn approve(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, _: &Recorded) -> Answered {
        unreadable()
    }

    fn may_be_put_away(&self, state: CardState) -> bool {
        matches!(state, CardState::Open | CardState::Parked)
    }
}

/// What does a model want to know? The question is its own, and so is every answer to choose from.
pub(crate) fn inquiry(inquiry: &Inquiry) -> Face {
    let quoted = |option: &String| format!("“{}”", scrub::visible(option));
    Face {
        kind: CardKind::Decision,
        risk: None,
        state: "Question".to_owned(),
        intent: "Answer a question before the plan".to_owned(),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: "Your wish waits for the answer, which allows nothing: what comes of it asks you.".to_owned(),
        asked: Some(inquiry.wish.clone()),
        quote: Some(Quote { who: inquiry.by.to_string(), text: inquiry.question.clone() }),
        details_title: "What an answer does".to_owned(),
        details: vec![
            Detail {
                title: "What you answer".to_owned(),
                lines: vec![
                    format!(
                        "Goes to {} with your wish, signed as a message of yours",
                        scrub::visible(inquiry.to.host())
                    ),
                    "Allows nothing: what comes of it is a card of its own".to_owned(),
                    "Names nothing that only you may name, like a host or a secret, unless you bring it up".to_owned(),
                ],
            },
            Detail {
                title: "Answers that the model proposes".to_owned(),
                lines: inquiry.options.iter().map(quoted).collect(),
            },
        ],
        diffs: Vec::new(),
        ctas: vec![press(Press::Answer, "Answer in my words"), press(Press::Dismiss, "Drop the wish")],
    }
}
