//! Cards: every question to the owner has this one shape, computed from the action it is about.
//!
//! What is on a card is hashed ([`Face::hash`]) and the hash is signed, so a decision is about what was seen. The owner's
//! words appear only in [`Face::asked`] and a model's only in [`Face::quote`], as text, with control and direction
//! characters made visible.

use crate::changeset::{DiffLine, FileDiff};
use crate::check::{CheckResult, Outcome};
use crate::input::Input;
use crate::token::{Offer, Verdict};
use crate::{CardId, Digest, ExecutionId, Timestamp, canonical};
use serde::{Deserialize, Serialize};

pub mod contract;
pub mod listed;

/// Assigned by the runtime from scope and reversibility, never by an agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    Medium,
    High,
    Irreversible,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// The house rules, on the pairing screen only.
    Pairing,
    /// May Silas do these small things by itself?
    HouseRules,
    /// May plans work in this directory?
    Root,
    /// May this passkey decide what cannot be undone?
    Passkey,
    /// May this model be asked, and may what you say go there?
    Model,
    /// May more be spent on models?
    Budget,
    /// What is the value of this secret? Decides nothing.
    SecureInput,
    /// Which model should be asked? Decides nothing; the card that asks follows.
    ModelChoice,
    /// Which of these is meant? A model asks before it plans. Decides nothing; the plan that follows asks.
    Decision,
    /// May this plan be carried out?
    Plan,
    /// May this one call, which the plan does not cover, be made?
    Step,
    /// It was carried out in a private copy; may that be applied?
    Rehearsed,
    /// It was carried out; undo while the window lasts.
    Done,
    /// It ended without touching anything; nothing to decide but to acknowledge.
    Report,
    /// It ended without touching anything because hosts were refused; may they be reached?
    Refusal,
    /// The owner's own change stands in the way; both texts are kept.
    Conflict,
    /// It was interrupted while it may have acted outside: what is true?
    UnknownEffect,
}

/// What pressing a button means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Press {
    /// Sign the card's offer as approved.
    Approve,
    /// Sign the card's other offer as approved: carry it out, and show me before anything is applied.
    Rehearse,
    /// Sign what the card offers instead as approved: do it afresh, on the files as they are now.
    Redo,
    /// Sign the card's offer as declined.
    Decline,
    /// Sign the card's offer as "not like this"; allows nothing.
    Change,
    /// Show the proof; decides nothing.
    Proof,
    /// Show what was recorded; decides nothing.
    Look,
    /// Put the card away; decides nothing.
    Dismiss,
    /// Hand what was typed to the vault; decides nothing and signs no card.
    Store,
    /// Say which model; decides nothing.
    Choose,
    /// Answer a question in words, chosen or one's own; decides nothing.
    Answer,
    /// Try once more what was tried and failed; decides nothing, what it needs was allowed before.
    Again,
    /// Ask for another one to be chosen; decides nothing.
    Another,
}

impl Press {
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            Press::Approve | Press::Rehearse | Press::Redo => Some(Verdict::Approved),
            Press::Decline => Some(Verdict::Declined),
            Press::Change => Some(Verdict::EditRequested),
            Press::Proof
            | Press::Look
            | Press::Dismiss
            | Press::Store
            | Press::Choose
            | Press::Answer
            | Press::Again
            | Press::Another => None,
        }
    }
}

/// A button, worded as its consequence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cta {
    pub press: Press,
    pub label: String,
    /// What the confirm chip repeats for a medium risk.
    pub consequence: String,
}

/// A computed line: a word of the fixed vocabulary and what it says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    pub label: String,
    pub text: String,
}

/// A titled list in the details; lines are plain text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detail {
    pub title: String,
    pub lines: Vec<String>,
}

/// Checks before and after, for result cards.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceBlock {
    pub outcome: Outcome,
    pub claim: String,
    /// What the claim does not rule out, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    pub before: Vec<CheckResult>,
    pub after: Vec<CheckResult>,
}

/// A model's prose, word for word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    /// Whose words these are.
    pub who: String,
    pub text: String,
}

/// Two versions of the same lines, for a card about files that two have changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// What is the matter, and that nothing is lost.
    pub says: String,
    /// The run that made the other version; its change can be saved.
    pub execution: ExecutionId,
    /// At most [`VERSIONS_MAX`]; none where there are no lines to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Version>,
    /// Whole files, for the details.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compare: Vec<Compared>,
}

/// The owner's version of a file compared with the other: what only the owner's has counts as removed, what only the other
/// has as added.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    pub path: String,
    pub lines: Vec<DiffLine>,
    /// Which of the lines that only one has, counted from 0, stand there as before the work: the other changed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// Whose it is, and where: "You", "Silas, in the copy".
    pub whose: String,
    /// When it was written, where that is known; shown by the reader's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The first lines of it, at most [`VERSION_LINES_MAX`].
    pub lines: Vec<String>,
    /// Which of these lines, counted from 0, stand as before the work: they lie between changed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<u32>,
    /// How many lines there are besides; the details have them.
    #[serde(default, skip_serializing_if = "is_none_more")]
    pub more: u32,
}

fn is_none_more(more: &u32) -> bool {
    *more == 0
}

/// Everything that a card shows. All of it is hashed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Face {
    pub kind: CardKind,
    /// `None` on cards that ask nothing.
    pub risk: Option<Risk>,
    /// One to three words at the top right.
    pub state: String,
    pub intent: String,
    pub facts: Vec<Fact>,
    pub evidence: Option<EvidenceBlock>,
    /// On a card about files that two have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    /// Why this is proposed, in one or two sentences, computed. Empty where the owner's request is why.
    pub rationale: String,
    /// The owner's own request. Nothing else ever stands here, so that it may be drafted as the owner's words again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// What somebody else says about it, marked as theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    pub details_title: String,
    pub details: Vec<Detail>,
    pub diffs: Vec<FileDiff>,
    /// Recommended first, safe alternatives, decline last. At most three.
    pub ctas: Vec<Cta>,
}

pub const INTENT_CHARS_MAX: usize = 60;
pub const FACT_CHARS_MAX: usize = 30;
pub const LABEL_CHARS_MAX: usize = 10;
pub const FACTS_MAX: usize = 5;
pub const VERSIONS_MAX: usize = 2;
/// Two of them, a sentence and an intent are as high as a card may be.
pub const VERSION_LINES_MAX: usize = 2;

impl Face {
    pub fn hash(&self) -> Result<Digest, canonical::Error> {
        canonical::digest(self)
    }

    /// A fact that does not fit moves to the details whole and leaves a count behind; authority is never cut off.
    pub fn add_fact(&mut self, label: &str, text: &str, when_long: &str) {
        let fits = text.chars().count() <= FACT_CHARS_MAX;
        let shown = if fits { text } else { when_long };
        self.facts.push(Fact { label: label.to_owned(), text: shown.to_owned() });
        if !fits {
            self.details.push(Detail { title: label.to_owned(), lines: vec![text.to_owned()] });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardState {
    /// Waiting for its answer.
    Open,
    /// Nobody answered in time. One tap asks again with a fresh offer.
    Parked,
    Answered,
    /// Put away by the owner, or overtaken by events.
    Closed,
}

/// A question as it is kept and sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Card {
    pub id: CardId,
    pub state: CardState,
    pub created_at: Timestamp,
    pub face: Face,
    /// What a decision would sign; `None` on cards that ask nothing any more.
    pub offer: Option<Offer>,
    /// What [`Press::Rehearse`] would sign, on cards that have it: the same payload, with the apply withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show_first: Option<Offer>,
    /// The canonical text whose hash is `offer.plan_hash`, so that the device can compute it itself.
    pub payload: Option<String>,
    /// What [`Press::Redo`] would sign, on cards that have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
    /// What the card wants entered, if it wants that instead of a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// Whether an approval is followed by one small question that shows if the model answers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test_call: bool,
    /// The work whose result this tells, so that its change can be had as a patch; decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
}

/// Another question that the same card asks, about something else than its own payload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    pub offer: Offer,
    /// The canonical text whose hash is `offer.plan_hash`.
    pub payload: String,
}

impl Card {
    /// What a button of this card signs, and about which text.
    pub fn asked_by(&self, press: Press) -> Option<(&Offer, &str)> {
        match press {
            Press::Rehearse => Some((self.show_first.as_ref()?, self.payload.as_deref()?)),
            Press::Redo => self.instead.as_ref().map(|instead| (&instead.offer, instead.payload.as_str())),
            Press::Approve | Press::Decline | Press::Change => Some((self.offer.as_ref()?, self.payload.as_deref()?)),
            Press::Proof
            | Press::Look
            | Press::Dismiss
            | Press::Store
            | Press::Choose
            | Press::Answer
            | Press::Again
            | Press::Another => None,
        }
    }

    /// Which button signed this offer: one of the three that allow something stands for all that sign the same.
    pub fn pressed(&self, offer: &Offer) -> Option<Press> {
        let presses = [Press::Approve, Press::Rehearse, Press::Redo];
        presses.into_iter().find(|press| self.asked_by(*press).is_some_and(|(asked, _)| asked == offer))
    }

    /// After this nothing is taken any more: neither a decision nor an entry.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let offered = self.offer.as_ref().map(|offer| offer.expires_at);
        offered.or_else(|| self.input.as_ref().map(Input::expires_at))
    }
}
