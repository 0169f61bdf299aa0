//! The executor: works on what an approved plan leaves to a model, with the tools that the plan names, or finds something
//! out for the planner. It has no memory; what it is told is all that it knows. (RUNTIME §7.3, §19.5)
//!
//! What it says about its own work decides nothing. The checks do.

use crate::structured::Shaped;
use schemars::JsonSchema;
use serde::Deserialize;

/// What the executor says at its end.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorAgentOutput {
    /// What was done or found, in a few sentences.
    pub summary: String,
    /// Paths of files that matter.
    pub artifact_refs: Vec<String>,
    /// What the owner may want next, most useful first.
    pub next_steps: Vec<String>,
}

const SUMMARY_CHARS_MAX: usize = 4_000;
const ENTRIES_MAX: usize = 10;
const ENTRY_CHARS_MAX: usize = 300;

impl Shaped for ExecutorAgentOutput {
    const NAME: &'static str = "finish";
    const ABOUT: &'static str = "Say what was done, when there is nothing left to do.";

    fn check(&self) -> Result<(), String> {
        if self.summary.trim().is_empty() || self.summary.chars().count() > SUMMARY_CHARS_MAX {
            return Err(format!("`summary` has 1 to {SUMMARY_CHARS_MAX} characters"));
        }
        for (name, entries) in [("artifact_refs", &self.artifact_refs), ("next_steps", &self.next_steps)] {
            if entries.len() > ENTRIES_MAX || entries.iter().any(|entry| entry.chars().count() > ENTRY_CHARS_MAX) {
                return Err(format!(
                    "`{name}` has at most {ENTRIES_MAX} entries of at most {ENTRY_CHARS_MAX} characters"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
