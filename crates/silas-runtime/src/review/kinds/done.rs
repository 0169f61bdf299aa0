//! It was carried out and applied; undo while the window lasts.

use super::{Answered, Asked, Late, PutAway, Rules, unreadable};
use crate::post;
use crate::review::{Granted, Review};
use crate::words::{ResultFacts, Words, approve, count, duration, fact, took};
use silas_approval::Recorded;
use silas_core::canonical;
use silas_core::card::{Card, CardState};
use silas_core::card::{CardKind, Cta, Face, Press, Risk};
use silas_core::changeset::ChangeOrder;
use silas_core::model::dollars;
use silas_store::Tx;

pub(super) struct Done;

impl Rules for Done {
    fn worded(&self, _: &Words, _: &Card) -> Option<Face> {
        None
    }

    fn shows_what_it_asks(&self, _: &Words, _: &Card) -> bool {
        true
    }

    /// The offer to undo waits for nobody.
    fn only_tells(&self) -> bool {
        true
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        let Ok(order) = canonical::read::<ChangeOrder>(asked.payload) else { return unreadable() };
        match review.house.engine.authorize(tx, &by.token, order)? {
            Ok(approved) => {
                let lease = post::execution(tx, approved.execution(), review.house.clock.now())?;
                Ok(Ok(Granted::Undo(Box::new(approved), lease)))
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn may_be_put_away(&self, _: CardState) -> bool {
        true
    }

    fn put_away(&self, review: &Review, tx: &mut Tx<'_>, subject: &str) -> Result<PutAway, silas_store::Error> {
        Ok(PutAway { posted: review.work.offer_next(tx, subject)?, answer: "Put away." })
    }

    fn late(&self, review: &Review, tx: &mut Tx<'_>, card: Card, subject: &str) -> Result<Late, silas_store::Error> {
        Ok(Late { posted: review.work.offer_next(tx, subject)?, ..Late::closed(card) })
    }

    /// What could be undone then can no longer be.
    fn after_restore(&self) -> CardState {
        CardState::Closed
    }
}

impl Words {
    /// It was applied; undo while the window lasts.
    pub fn done(&self, result: &ResultFacts<'_>, files: u32, undo_secs: u64) -> Face {
        let n = files as usize;
        let intent = format!("{} changed in {}", count(n, "file"), result.name());
        let (state, intent) = match result.in_part {
            None => ("Applied", intent),
            Some(part) => {
                let rest = count(part.old.len(), "file");
                ("Applied in part", format!("Only {} changed in {}, {rest} not", count(n, "file"), result.name()))
            }
        };
        let mut face = result.face(CardKind::Done, state, intent);
        face.risk = Some(Risk::Low);
        face.facts.push(fact("Kept", &format!("The old versions, {}", duration(undo_secs))));
        let cost = match result.cost_microusd {
            0 => String::new(),
            microusd => format!(" and {}", dollars(microusd)),
        };
        face.facts.push(fact("Took", &format!("{}{cost}", took(result.took_ms))));
        face.ctas = vec![
            approve(&format!("Undo, put {} back", count(n, "file")), "Puts the old versions back."),
            Cta { press: Press::Proof, label: "See the proof".to_owned(), consequence: String::new() },
            Cta { press: Press::Dismiss, label: "Done".to_owned(), consequence: String::new() },
        ];
        // What is there was never checked like this.
        face.ctas.retain(|cta| cta.press != Press::Proof || result.in_part.is_none());
        face
    }
}
