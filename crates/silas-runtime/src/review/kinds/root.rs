//! May plans work in this directory? The words of that card.

use super::{Answered, Asked, Rules, unreadable};
use crate::post;
use crate::review::{Granted, Review};
use crate::words::{Words, approve, decline, directory, fact, whole_name_of};
use silas_approval::Recorded;
use silas_core::canonical;
use silas_core::card::Card;
use silas_core::card::{CardKind, Detail, Face, Risk};
use silas_core::event::AuditEvent;
use silas_core::hidden;
use silas_core::roots::Place;
use silas_core::roots::RootGrant;
use silas_store::Tx;

pub(super) struct Root;

impl Rules for Root {
    fn worded(&self, words: &Words, card: &Card) -> Option<Face> {
        canonical::read::<RootGrant>(card.payload.as_deref()?).ok().map(|grant| words.root(&grant.place))
    }

    fn waits_no_longer(&self) -> Option<&'static str> {
        Some(
            "Plans may not work there, so nothing was done. Your wish waits no longer; say it again if you change your mind.",
        )
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        let Ok(grant) = canonical::read::<RootGrant>(asked.payload) else { return unreadable() };
        let place = tx.text(&grant.place.path)?;
        if let Err(refusal) = review.house.engine.authorize(tx, &by.token, grant)? {
            return Ok(Err(refusal));
        }
        tx.record(&AuditEvent::RootGranted { token: by.token.clone(), place })?;
        // The wishes that asked for it are in the queue again; a crash from here on loses none of them.
        let wish = post::call_back(tx, review.house.random.as_ref(), asked.subject, review.house.clock.now())?;
        Ok(Ok(Granted::Allowed { wish, say: "Allowed. Nothing there changes without your yes." }))
    }
}

impl Words {
    /// May plans work in this directory?
    pub fn root(&self, place: &Place) -> Face {
        let name = whole_name_of(&place.path);
        let mut face = Face {
            kind: CardKind::Root,
            risk: Some(Risk::Medium),
            state: "Directory".to_owned(),
            intent: format!("Let plans work in {name}"),
            facts: Vec::new(),
            evidence: None,
            versions: None,
            rationale: "You name the directories once. Nothing in them changes without your yes.".to_owned(),
            asked: None,
            quote: None,
            details_title: "Exactly which directory".to_owned(),
            details: vec![Detail {
                title: "Directory".to_owned(),
                lines: vec![hidden::name(&place.path), format!("Device {}, inode {}", place.device, place.inode)],
            }],
            diffs: Vec::new(),
            ctas: vec![
                approve(&format!("Allow plans in {name}"), &format!("Plans may be offered for {name}.")),
                decline("Not now"),
            ],
        };
        // The details name the directory in any case.
        face.facts.push(fact("May change", &directory(&self.path(&place.path), ", not .git")));
        face.facts.push(fact("Needs only", "Your yes, each time"));
        face
    }
}

#[cfg(test)]
mod tests;
