//! The card contract, as far as a face can be measured: how many facts, in which words, how long, and in which order one is
//! asked. What it looks like on a screen is measured there.
//!
//! Deliberately absent: any repair. A face is made right where its words are made; whoever offers one that is not says so in
//! the log, and a test looks at every face that the runtime can make.

use super::{FACT_CHARS_MAX, FACTS_MAX, Face, INTENT_CHARS_MAX, LABEL_CHARS_MAX, Press};

/// What facts are called. Learnt once, read everywhere.
pub const VOCABULARY: [&str; 18] = [
    "May change",
    "May reach",
    "Uses",
    "Done when",
    "Stops at",
    "You asked",
    "Changes",
    "Checks",
    "Undo",
    "Loses",
    "Kept",
    "Leaves",
    "Stays",
    "Goes to",
    "Cap",
    "Wanted",
    "Refused",
    "Needs only",
];

/// What no word of the vocabulary says. `After`: what a model had read when it wanted something that nobody named. `Took`:
/// time and money that a finished piece of work has used.
pub const ADDITIONS: [&str; 2] = ["After", "Took"];

/// The recommended answer, an alternative, and the one that leaves everything as it is.
pub const CTAS_MAX: usize = 3;

/// Stands for everything before the last part of a path. No path that is shown whole begins so.
const BEFORE_LAST: &str = "…/";

/// The one fact that names all of a grant may take two lines.
const NEEDS_ONLY: &str = "Needs only";
pub const NEEDS_CHARS_MAX: usize = 44;

impl Face {
    /// Where this face does not keep the contract, in words; nothing if it does.
    pub fn breaches(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut must = |holds: bool, what: String| {
            if !holds {
                found.push(what);
            }
        };
        let fits = |text: &str, max: usize| (1..=max).contains(&text.chars().count());
        must(fits(&self.intent, INTENT_CHARS_MAX), format!("the intent is too long: {}", self.intent));
        must(fits(&self.state, usize::MAX), "there is no state".to_owned());
        must(self.facts.len() <= FACTS_MAX, format!("{} facts", self.facts.len()));
        for fact in &self.facts {
            let is_known = VOCABULARY.iter().chain(&ADDITIONS).any(|known| *known == fact.label);
            must(is_known && fits(&fact.label, LABEL_CHARS_MAX), format!("no such label: {}", fact.label));
            let max = if fact.label == NEEDS_ONLY { NEEDS_CHARS_MAX } else { FACT_CHARS_MAX };
            must(fits(&fact.text, max), format!("{} is too long: {}", fact.label, fact.text));
            // Only what comes before the last part of a path may be left out, and then all of it is in the details.
            let last = fact.text.strip_prefix(BEFORE_LAST);
            let is_whole_below = |last: &str| {
                let name = last.split(", ").next().unwrap_or(last);
                self.details.iter().flat_map(|detail| &detail.lines).any(|line| line.contains(&format!("/{name}")))
            };
            let is_cut = last.unwrap_or(&fact.text).contains('…') || last.is_some_and(|last| !is_whole_below(last));
            must(!is_cut, format!("{} is cut off: {}", fact.label, fact.text));
        }
        let points_below = self.facts.iter().any(|fact| fact.text.to_lowercase().contains("listed below"));
        must(!points_below || self.details.len() + self.diffs.len() > 0, "nothing is listed below".to_owned());
        must(self.asked.is_some() || !self.rationale.is_empty(), "it does not say why".to_owned());
        let presses: Vec<Press> = self.ctas.iter().map(|cta| cta.press).collect();
        must((1..=CTAS_MAX).contains(&presses.len()), format!("{} buttons", presses.len()));
        // Whoever answers in a hurry presses the first; whoever wants nothing finds that last.
        let leaves_all = |press: Press| matches!(press, Press::Decline | Press::Dismiss);
        let (last, before) = presses.split_last().map_or((None, &presses[..]), |(last, before)| (Some(*last), before));
        must(before.is_empty() || last.is_some_and(leaves_all), "the last button declines".to_owned());
        must(!before.iter().any(|press| leaves_all(*press)), "only the last button declines".to_owned());
        must(!presses.iter().skip(1).any(|press| *press == Press::Approve), "what is recommended is first".to_owned());
        for cta in &self.ctas {
            let repeats = !matches!(cta.press, Press::Approve | Press::Rehearse) || !cta.consequence.is_empty();
            must(!cta.label.is_empty() && repeats, format!("a button without its consequence: {}", cta.label));
        }
        found
    }
}

#[cfg(test)]
mod tests;
