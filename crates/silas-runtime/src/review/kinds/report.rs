//! It ended without touching anything; nothing to decide but to acknowledge.

use super::{Answered, Asked, Rules, unreadable};
use crate::review::Review;
use crate::words::{ResultFacts, Words, fact, were_changed};
use silas_approval::Recorded;
use silas_core::card::{Card, CardState};
use silas_core::card::{CardKind, Cta, Detail, Face, Press};
use silas_gates::scrub;
use silas_store::Tx;

pub(super) struct Report;

impl Rules for Report {
    fn worded(&self, _: &Words, _: &Card) -> Option<Face> {
        None
    }

    fn shows_what_it_asks(&self, _: &Words, _: &Card) -> bool {
        true
    }

    fn only_tells(&self) -> bool {
        true
    }

    fn approve(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, _: &Recorded) -> Answered {
        unreadable()
    }

    fn may_be_put_away(&self, _: CardState) -> bool {
        true
    }

    fn after_restore(&self) -> CardState {
        CardState::Closed
    }
}

impl Words {
    /// It ended without touching anything.
    pub fn report(&self, result: &ResultFacts<'_>, intent: &str, reason: &str) -> Face {
        let mut face = result.face(CardKind::Report, "Nothing applied", intent.to_owned());
        face.facts.push(fact("Stays", "Your files are untouched"));
        if !reason.is_empty() {
            let lines = scrub::visible(reason).lines().map(str::to_owned).collect();
            face.details.insert(0, Detail { title: "What happened".to_owned(), lines });
        }
        face.ctas = vec![Cta { press: Press::Dismiss, label: "Done".to_owned(), consequence: String::new() }];
        face
    }

    /// An undo that would have overwritten a later change: nothing was touched.
    pub fn later_edit(&self, result: &ResultFacts<'_>, paths: &[String]) -> Face {
        let mut face = result.face(CardKind::Report, "Not undone", format!("{} since", were_changed(paths.len(), "")));
        face.facts.push(fact("Stays", "Your version, untouched"));
        let lines = paths.iter().map(|path| scrub::visible(path)).collect();
        face.details.insert(0, Detail { title: "Undo would overwrite".to_owned(), lines });
        face.ctas =
            vec![Cta { press: Press::Dismiss, label: "Keep my version".to_owned(), consequence: String::new() }];
        face
    }
}
