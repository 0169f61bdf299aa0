//! What Silas knows of each kind of card: one file each, with its face, how it is computed again, what must be there before
//! it may begin, and what approving, declining, putting away, silence and a restore do with it.
//!
//! A new kind is a file here, its line in [`rules`], and its name in [`CardKind`].

use crate::hub::Posted;
use crate::review::{Granted, Review};
use crate::view::WorkView;
use crate::words::Words;
use silas_approval::{Recorded, Refusal};
use silas_core::card::{Card, CardKind, CardState, Face};
use silas_core::token::Verdict;
use silas_store::{Abort, ReadTx, Tx};

pub(crate) mod budget;
pub(crate) mod conflict;
pub(crate) mod decision;
mod done;
mod house_rules;
pub(crate) mod model;
pub(crate) mod model_choice;
pub(crate) mod passkey;
pub(crate) mod plan;
pub(crate) mod refusal;
pub(crate) mod rehearsed;
mod report;
mod root;
pub(crate) mod secure_input;
pub(crate) mod step;
mod unknown_effect;

/// The one list of kinds.
pub(crate) fn rules(kind: CardKind) -> &'static dyn Rules {
    match kind {
        CardKind::Pairing => &house_rules::Pairing,
        CardKind::HouseRules => &house_rules::HouseRulesCard,
        CardKind::Root => &root::Root,
        CardKind::Passkey => &passkey::Passkey,
        CardKind::Model => &model::Model,
        CardKind::Budget => &budget::Budget,
        CardKind::SecureInput => &secure_input::Secret,
        CardKind::ModelChoice => &model_choice::ModelChoice,
        CardKind::Decision => &decision::Decision,
        CardKind::Plan => &plan::Plan,
        CardKind::Step => &step::Step,
        CardKind::Rehearsed => &rehearsed::Rehearsed,
        CardKind::Done => &done::Done,
        CardKind::Report => &report::Report,
        CardKind::Refusal => &refusal::RefusalCard,
        CardKind::Conflict => &conflict::Conflict,
        CardKind::UnknownEffect => &unknown_effect::UnknownEffect,
    }
}

/// What holds for one kind of card. A kind says only where it differs from most.
pub(crate) trait Rules: Sync {
    /// What the card would say if it were made now; nothing where that takes more than the card holds.
    fn worded(&self, words: &Words, card: &Card) -> Option<Face>;

    /// Whether a card says exactly what its payload asks for. Cards about results are computed from more than their
    /// payload and cannot be recomputed from it; what they ask for is checked against the launcher's own record.
    fn shows_what_it_asks(&self, words: &Words, card: &Card) -> bool {
        self.worded(words, card).is_some_and(|face| face == card.face)
    }

    /// Whether it asks nothing. Such cards stand behind those that do.
    fn only_tells(&self) -> bool {
        false
    }

    /// What the owner is told of a message that waited for the answer, when that was no. Messages wait for a card only
    /// where there is something to say then.
    fn waits_no_longer(&self) -> Option<&'static str> {
        None
    }

    /// Whether a second card that asks the same is not shown while the first is open.
    fn is_asked_once(&self) -> bool {
        self.waits_no_longer().is_some()
    }

    /// Whether two cards of this kind and subject ask for the same.
    fn asks_the_same(&self, one: &Card, other: &Card) -> bool {
        one.payload == other.payload && one.test_call == other.test_call
    }

    /// What stands in the way of an approval now. It is not taken then: the card stays, and nothing is used up.
    fn lacks(&self, _: &Review, _: &ReadTx<'_>, _: &Asked<'_>) -> Result<Option<Refusal>, silas_approval::Error> {
        Ok(None)
    }

    /// Spends the approval in the transaction that recorded it.
    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered;

    /// The owner said no, or not like this, in the transaction that recorded it.
    fn decline(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, verdict: Verdict) -> Answered {
        Ok(Ok(match verdict {
            Verdict::Declined => Granted::Declined,
            // What is wanted instead is a new plan with a card of its own, so nothing is granted here.
            _ => Granted::ChangeWanted,
        }))
    }

    /// What a no means, in words.
    fn declined(&self) -> Declined {
        Declined { told: None, answer: "Declined. Nothing ran." }
    }

    /// Whether the owner may put it away without an answer.
    fn may_be_put_away(&self, state: CardState) -> bool {
        state == CardState::Parked
    }

    /// The owner put it away, in the transaction that closed it.
    fn put_away(&self, _: &Review, _: &mut Tx<'_>, _subject: &str) -> Result<PutAway, silas_store::Error> {
        Ok(PutAway { posted: None, answer: "Put away." })
    }

    /// Nobody answered in time: what becomes of the card, in the transaction that writes it.
    fn late(&self, _: &Review, _: &mut Tx<'_>, card: Card, _subject: &str) -> Result<Late, silas_store::Error> {
        Ok(Late { card: Card { state: CardState::Parked, ..card }, dropped: None, posted: None })
    }

    /// What becomes of an open card whose offer is of an earlier epoch. What is parked asks anew with one tap.
    fn after_restore(&self) -> CardState {
        CardState::Parked
    }
}

/// A card with what the decision about it was made about.
pub(crate) struct Asked<'a> {
    pub(crate) card: &'a Card,
    /// What the card was kept under: a directory, a plan, a run.
    pub(crate) subject: &'a str,
    /// The text of that one of the card's offers which was signed.
    pub(crate) payload: &'a str,
}

/// What an answer leads to, or why it does not count.
pub(crate) type Answered = Result<Result<Granted, Refusal>, Abort>;

/// What is said of a no.
pub(crate) struct Declined {
    /// In the conversation.
    pub(crate) told: Option<&'static str>,
    /// To whoever declined.
    pub(crate) answer: &'static str,
}

pub(crate) struct PutAway {
    pub(crate) posted: Option<Posted>,
    pub(crate) answer: &'static str,
}

pub(crate) struct Late {
    pub(crate) card: Card,
    /// A result that nobody wanted; its copy goes after the commit.
    pub(crate) dropped: Option<WorkView>,
    pub(crate) posted: Option<Posted>,
}

impl Late {
    fn closed(card: Card) -> Self {
        Late { card: Card { state: CardState::Closed, ..card }, dropped: None, posted: None }
    }
}

/// The text that was signed is none that this kind of card asks about.
pub(crate) fn unreadable() -> Answered {
    Ok(Err(Refusal::Evidence(silas_core::evidence::Refusal::Content)))
}

#[cfg(test)]
mod tests;
