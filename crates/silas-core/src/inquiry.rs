//! A question that a model asks about a wish before it plans, with answers to choose from; and what is kept of the answer.
//!
//! The question and its options are a model's words, and choosing one does not make them the owner's: nothing that a plan
//! may only have because the owner named it can come from there. Deliberately absent: any consent. An answer leads to a
//! plan, and that plan asks.

use crate::Timestamp;
use crate::interaction::InteractionRegister;
use crate::model::ModelName;
use crate::taint::Taint;
use crate::work::InteractionMode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Two lines on a card.
pub const QUESTION_CHARS_MAX: usize = 140;
/// A chip of one line or two.
pub const OPTION_CHARS_MAX: usize = 48;
/// One is no choice, and more are not looked at.
pub const OPTIONS: RangeInclusive<usize> = 2..=4;
/// An answer in the owner's own words; whoever has more to say says it in a message.
pub const ANSWER_CHARS_MAX: usize = 2_000;
/// How often a wish may be asked about before a plan has to come. Whoever lowers it leaves cards behind that
/// [`Inquiry::subjects_of`] no longer names.
pub const QUESTIONS_MAX: usize = 3;
/// How the subjects of these cards begin.
const SUBJECT: &str = "inquiry:";

/// What a card asks on behalf of a model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inquiry {
    /// Who asks.
    pub by: ModelName,
    /// Who is told the answer; another one only where the owner has exchanged the planner since.
    pub to: ModelName,
    /// What the owner had said, which waits for the answer.
    pub wish: String,
    pub question: String,
    /// One of these is an answer, and so are the owner's own words.
    pub options: Vec<String>,
    /// The worst of what the model had read when it asked.
    pub taint: Taint,
    pub expires_at: Timestamp,
}

/// Why a question cannot be asked like this, for whoever wrote it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unaskable {
    #[error("`text` must be one question of at most {QUESTION_CHARS_MAX} characters")]
    Question,
    #[error("`options` must be {} to {} answers", OPTIONS.start(), OPTIONS.end())]
    Count,
    #[error("each of `options` must be an answer of at most {OPTION_CHARS_MAX} characters, and no two the same")]
    Options,
}

/// Whether somebody could be asked this.
pub fn check(question: &str, options: &[String]) -> Result<(), Unaskable> {
    let fits = |text: &str, max: usize| !text.trim().is_empty() && text.chars().count() <= max;
    if !fits(question, QUESTION_CHARS_MAX) {
        return Err(Unaskable::Question);
    }
    if !OPTIONS.contains(&options.len()) {
        return Err(Unaskable::Count);
    }
    let distinct: BTreeSet<String> = options.iter().map(|option| option.trim().to_lowercase()).collect();
    if distinct.len() < options.len() || !options.iter().all(|option| fits(option, OPTION_CHARS_MAX)) {
        return Err(Unaskable::Options);
    }
    Ok(())
}

impl Inquiry {
    /// What such a card is about; the wish waits under this name.
    pub fn subject_of(wish: &crate::MessageId, n_asked: usize) -> String {
        format!("{SUBJECT}{wish}:{n_asked}")
    }

    /// What all cards about one wish are about.
    pub fn subjects_of(wish: &crate::MessageId) -> impl Iterator<Item = String> {
        (0..QUESTIONS_MAX).map(move |n_asked| Inquiry::subject_of(wish, n_asked))
    }

    /// The wish that a card of this subject asks about; nothing if it is another card's.
    pub fn wish_of(subject: &str) -> Option<crate::MessageId> {
        let (wish, _) = subject.strip_prefix(SUBJECT)?.rsplit_once(':')?;
        crate::MessageId::parse(wish).ok()
    }

    /// The conversation that an answer is signed for: it answers this card, and is no message anywhere else.
    pub fn scope_of(card: &crate::CardId) -> String {
        format!("answer:{card}")
    }

    /// What is kept of an answer. Words that are an option's are the model's, whoever typed them.
    pub fn answered(&self, answer: &str) -> Answered {
        let answer = answer.trim().to_owned();
        let is_chosen = self.options.iter().any(|option| option.trim().to_lowercase() == answer.to_lowercase());
        Answered {
            by: self.by.clone(),
            question: self.question.clone(),
            proposed: self.options.clone(),
            answer,
            is_chosen,
            taint: self.taint,
        }
    }
}

/// A question that was answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// Who had asked.
    pub by: ModelName,
    pub question: String,
    /// What could have been chosen.
    pub proposed: Vec<String>,
    pub answer: String,
    /// Whether the answer is one of those that the model had proposed.
    pub is_chosen: bool,
    /// What the question was made of, and with it an answer that was chosen.
    pub taint: Taint,
}

impl Answered {
    /// The same question once more.
    pub fn asked_again(self, to: ModelName, wish: String, expires_at: Timestamp) -> Inquiry {
        let Answered { by, question, proposed, taint, .. } = self;
        Inquiry { by, to, wish, question, options: proposed, taint, expires_at }
    }

    /// How far the words of the answer can be trusted, given how far whoever gave it can.
    pub fn answer_taint(&self, giver: Taint) -> Taint {
        if self.is_chosen { giver.join(self.taint) } else { giver }
    }
}

/// A wish that was handed to the planner, which has a question about it: what was found out before, so that it goes on from
/// there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handed {
    /// Why it takes a plan, in the words of the model that handed it over.
    pub reason: String,
    /// The worst of what that model had read.
    pub taint: Taint,
    pub interaction_register: InteractionRegister,
    pub interaction_mode: InteractionMode,
    pub continuation_of: Option<String>,
    #[serde(default)]
    pub answered: Vec<Answered>,
    /// What the message has used up since the owner last said something about it.
    #[serde(default)]
    pub tokens_used: u64,
}

impl Handed {
    pub fn may_be_asked_about(&self) -> bool {
        self.answered.len() < QUESTIONS_MAX
    }

    /// What the owner has typed besides the wish: as much the owner's as that.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        self.answered.iter().filter(|answered| !answered.is_chosen).map(|answered| answered.answer.as_str())
    }
}

#[cfg(test)]
mod tests;
