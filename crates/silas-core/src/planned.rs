//! Whose words a plan is in. What a model wrote is kept apart from what the owner said, so that neither passes for the
//! other: not on a card, not in a draft of the next message, not where a name counts because the owner typed it.
//!
//! Deliberately absent: any way for a plan to say this of itself. The runtime writes it down when a model has planned; in a
//! plan that somebody submits it is refused, and in one that a model writes it is overwritten.

use crate::inquiry::{ANSWER_CHARS_MAX, QUESTIONS_MAX};
use crate::message::MESSAGE_BYTES_MAX;
use crate::model::ModelName;
use crate::reflex::{self, Decision};
use crate::work::{Definition, RuleBroken, rule};
use serde::{Deserialize, Serialize};

/// A model wrote the plan; its prose is the plan's body.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    pub by: ModelName,
    /// The owner's message and own answers to questions about it, word for word, and nothing else.
    pub asked: String,
}

/// A message, and as many answers in characters of any length as there can be.
const ASKED_BYTES_MAX: usize = MESSAGE_BYTES_MAX + QUESTIONS_MAX * 4 * (ANSWER_CHARS_MAX + 2);

impl Planned {
    pub(crate) fn check(&self) -> Result<(), RuleBroken> {
        rule(self.asked.len() <= ASKED_BYTES_MAX, "planned.asked", "at most 56 KiB")
    }
}

impl Definition {
    /// The owner's own words about this work, where they are known to be that.
    pub fn owners_words(&self) -> Option<&str> {
        let words = match &self.planned {
            Some(planned) => planned.asked.trim(),
            None if is_mixed(&self.body) => return None,
            None => self.body.trim(),
        };
        (!words.is_empty()).then_some(words)
    }

    /// The plan of the sample, and one that puts files back: nobody else wrote them.
    pub fn is_of_silas(&self) -> bool {
        let is_sample = || self.owners_words().is_some_and(|words| reflex::decide(words) == Decision::TrySample);
        self.restores.is_some() || self.planned.is_none() && is_sample()
    }

    /// What the model that planned wrote about it.
    pub fn models_words(&self) -> Option<(&ModelName, &str)> {
        let words = self.body.trim();
        self.planned.as_ref().filter(|_| !words.is_empty()).map(|planned| (&planned.by, words))
    }

    /// What came of the plan before this one, if there was one.
    pub fn failed_before(&self) -> Option<&str> {
        self.failure_context.as_deref().filter(|_| self.spawned_by.is_some() || self.follow_up_of.is_some())
    }

    /// What whoever does the work is told: everything, each part with whose words it is.
    pub fn briefing(&self) -> String {
        let failed = self.failed_before().map(|why| format!("The plan before this one failed. {why}\n\n"));
        let failed = failed.unwrap_or_default();
        match &self.planned {
            None => format!("{failed}{}", self.body),
            Some(Planned { by, asked }) => {
                format!("You said: {asked}\n\n{failed}{by} planned, in its own words:\n\n{}", self.body.trim())
            }
        }
    }
}

/// Plans of earlier versions had both in one text. Whose a word in it is cannot be told any more, so none is the owner's.
pub fn is_mixed(body: &str) -> bool {
    let from_the_second_line = body.starts_with("You said: ").then(|| body.split_once("\n\n")).flatten();
    from_the_second_line.is_some_and(|(_, rest)| rest.contains("in its own words:"))
}

#[cfg(test)]
mod tests;
