//! One question that `silas doctor` asks, and what was found. Each room asks its own; the binary collects them.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Good,
    /// It works, and there is something to know.
    Warning,
    /// Something is broken or missing.
    Bad,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Probe {
    /// What was looked at, in a word or two.
    pub name: &'static str,
    pub state: State,
    /// What was found.
    pub sentence: String,
    /// What to do about it; nothing where all is good.
    pub fix: Option<String>,
}

impl Probe {
    pub fn good(name: &'static str, sentence: impl Into<String>) -> Self {
        Probe { name, state: State::Good, sentence: sentence.into(), fix: None }
    }

    pub fn warning(name: &'static str, sentence: impl Into<String>, fix: impl Into<String>) -> Self {
        Probe { name, state: State::Warning, sentence: sentence.into(), fix: Some(fix.into()) }
    }

    pub fn bad(name: &'static str, sentence: impl Into<String>, fix: impl Into<String>) -> Self {
        Probe { name, state: State::Bad, sentence: sentence.into(), fix: Some(fix.into()) }
    }
}
