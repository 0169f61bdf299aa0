//! What a plan leaves to a model: which one works on it, with which tools, and how often it may be asked.
//!
//! It is part of the plan's canonical bytes, so it is hashed, shown and verified like a command. What a model then does
//! with it happens in the private copy; how the result is judged is not among the things that it can choose.

use crate::model::ModelName;
use serde::{Deserialize, Serialize};

/// The work of a plan in the hands of a model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mandate {
    /// Set when the card is made, like the directories: what is approved is this model and no other.
    pub model: Option<ModelName>,
    /// Names of tools, without repetition. What is not here does not exist for the model.
    pub tools: Vec<String>,
    /// Questions to the model, over all attempts.
    pub max_model_calls: u32,
    /// Calls of tools, over all attempts.
    pub max_tool_calls: u32,
}

/// Tools that a plan may name. Each but the last two works in the private copy alone.
pub const TOOLS: [&str; 10] = [
    "shell_exec",
    "python_exec",
    "read_file",
    SEARCH,
    "list_files",
    EDIT_FILE,
    APPLY_PATCH,
    WRITE_FILE,
    "tell_user",
    "web_search",
];
pub const EDIT_FILE: &str = "edit_file";
pub const APPLY_PATCH: &str = "apply_patch";
pub const WRITE_FILE: &str = "write_file";
pub const SEARCH: &str = "search";
const COMMANDS: [&str; 2] = ["shell_exec", "python_exec"];
/// They write files in the copy, and so can do no more than a command there: who has a command, or one of them, has them all.
const WRITERS: [&str; 3] = [EDIT_FILE, APPLY_PATCH, WRITE_FILE];
/// It reads files, and so can do no more than whoever reads them or runs commands.
const READERS: [&str; 3] = ["read_file", "shell_exec", "python_exec"];
/// What a plan gets that names none: everything that stays inside.
pub const USUAL_TOOLS: [&str; 5] = ["shell_exec", "python_exec", "read_file", "list_files", "tell_user"];

pub const MODEL_CALLS_USUAL: u32 = 30;
/// Enough for a long afternoon; whoever needs more has a plan that is too large.
pub const MODEL_CALLS_MAX: u32 = 500;
pub const TOOL_CALLS_USUAL: u32 = 60;
pub const TOOL_CALLS_MAX: u32 = 1000;

impl Default for Mandate {
    fn default() -> Self {
        Mandate {
            model: None,
            tools: USUAL_TOOLS.iter().map(|name| (*name).to_owned()).collect(),
            max_model_calls: MODEL_CALLS_USUAL,
            max_tool_calls: TOOL_CALLS_USUAL,
        }
    }
}

impl Mandate {
    /// Whether the work may use a tool: the plan names it, or names one that can do the same and more.
    pub fn has(&self, tool: &str) -> bool {
        let names = |tool: &str| self.tools.iter().any(|name| name == tool);
        let writes = WRITERS.contains(&tool) && COMMANDS.into_iter().chain(WRITERS).any(names);
        names(tool) || writes || (tool == SEARCH && READERS.into_iter().any(names))
    }

    /// Every tool that the work may use.
    pub fn offered(&self) -> Vec<String> {
        TOOLS.into_iter().filter(|tool| self.has(tool)).map(str::to_owned).collect()
    }

    /// The first rule that is broken: the key below `executor`, and what is expected there.
    pub(crate) fn broken(&self) -> Option<(&'static str, String)> {
        let known = |name: &String| TOOLS.contains(&name.as_str());
        let is_once = |n: usize| !self.tools[..n].contains(&self.tools[n]);
        let tools = !self.tools.is_empty() && self.tools.iter().all(known) && (0..self.tools.len()).all(is_once);
        if !tools {
            return Some(("tools", format!("one or more of {}, each once", TOOLS.join(", "))));
        }
        if !(1..=MODEL_CALLS_MAX).contains(&self.max_model_calls) {
            return Some(("max_model_calls", format!("1 to {MODEL_CALLS_MAX}")));
        }
        if !(1..=TOOL_CALLS_MAX).contains(&self.max_tool_calls) {
            return Some(("max_tool_calls", format!("1 to {TOOL_CALLS_MAX}")));
        }
        None
    }
}
