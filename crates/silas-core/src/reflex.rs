//! The brain that needs no model: a pure decision from the owner's words.
//!
//! It understands few sentences and is sure of them. Whatever else is said is [`Decision::NotUnderstood`]; guessing is
//! left to a model, which then only proposes; where there is none, [`near`] tells what a wish lacks.
//!
//! What was understood once is asked for again: by whoever checks the ledger, and after a crash. So the grammar has a version,
//! which is kept with the words, and [`decide_by`] reads them as that version did. Whoever makes a sentence mean something that
//! it did not mean before raises [`GRAMMAR`] and leaves the earlier reading in its place.

mod near;
mod plain;

pub use near::{Missing, Near, as_typed, near};

/// What a sentence asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// "run `C` [in `DIR` [and `DIR` ...]] [reading `DIR` [and `DIR` ...]] [with commits] [reaching `HOST:PORT` [and
    /// `HOST:PORT`]] and check with `K`"
    RunAndCheck {
        run: String,
        /// The directories that may change; with none, the one that is meant anyway.
        directories: Vec<String>,
        /// Directories that may be read besides.
        reads: Vec<String>,
        /// Whether the command may commit.
        commits: bool,
        /// As they were typed.
        hosts: Vec<String>,
        check: String,
        /// False for "check openly with": the command may change what judges it.
        protected: bool,
    },
    /// "run C in DIR [reading `DIR`] [reaching `HOST:PORT`]": nothing is checked, so what it changes waits.
    Run {
        run: String,
        directories: Vec<String>,
        reads: Vec<String>,
        hosts: Vec<String>,
    },
    /// A whole plan, as in a file: it begins with a line `---`.
    Plan,
    /// "put back the last change", also when its time for undoing is over
    PutBack,
    /// "what did you do?", "what did you do while I slept?", "what happened in the last 3 hours?"
    WhatHappened {
        when: Asked,
    },
    /// "add task `T`", "add T to tasks"
    AddTask {
        title: String,
    },
    /// "tasks"
    ListTasks,
    /// "done with `T`"; `task` is a title or an id.
    CompleteTask {
        task: String,
    },
    /// "reopen `T`"
    ReopenTask {
        task: String,
    },
    /// "add a model"
    AddModel,
    /// "try it on a sample project"
    TrySample,
    /// "help"
    Help,
    NotUnderstood,
}

/// The stretch of time that is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    Lately,
    /// While the owner was not there.
    Away,
    /// So many hours back from now.
    Hours(u32),
}

/// Longest period that can be asked about: a year.
const HOURS_MAX: u32 = 366 * 24;

impl Decision {
    /// Whether the words that said this are shown to somebody as an order, and so are kept as they were signed.
    pub fn is_shown(&self) -> bool {
        self.is_instruction() || *self == Decision::TrySample
    }

    /// Whether it asks for one exact call that is of low risk and can be taken back: then the owner's signature under the
    /// words is the approval.
    pub fn is_instruction(&self) -> bool {
        match self {
            Decision::AddTask { .. } | Decision::CompleteTask { .. } | Decision::ReopenTask { .. } => true,
            Decision::RunAndCheck { .. }
            | Decision::Run { .. }
            | Decision::Plan
            | Decision::PutBack
            | Decision::WhatHappened { .. }
            | Decision::ListTasks
            | Decision::AddModel
            | Decision::TrySample
            | Decision::Help
            | Decision::NotUnderstood => false,
        }
    }
}

/// The sentences that are understood, in the words that are shown to people.
pub const UNDERSTOOD: [&str; 11] = [
    "try it on a sample project",
    "run COMMAND in ~/DIRECTORY and check with COMMAND",
    "run COMMAND in ~/DIRECTORY",
    "put back the last change",
    "run COMMAND in ~/DIRECTORY reaching HOST:443 and check with COMMAND",
    "add task TITLE",
    "tasks",
    "done with TITLE",
    "reopen TITLE",
    "what did you do while I slept?",
    "add a model",
];

/// The version of the grammar by which [`decide`] understands. The second needs no backticks where the meaning is clear, and
/// no check; whatever the first understood it reads the same way.
pub const GRAMMAR: u32 = 2;
const FIRST: u32 = 1;

/// Words of a version that this one cannot read. What they meant is not guessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its words were understood by version {0} of the grammar, and this Silas knows it up to version {known}", known = GRAMMAR)]
pub struct UnknownGrammar(pub u32);

/// What a sentence meant to the version that understood it.
pub fn decide_by(grammar: u32, text: &str) -> Result<Decision, UnknownGrammar> {
    match grammar {
        FIRST => Ok(first(text)),
        GRAMMAR => Ok(decide(text)),
        other => Err(UnknownGrammar(other)),
    }
}

pub fn decide(text: &str) -> Decision {
    match first(text) {
        Decision::NotUnderstood => plain::read(text.trim()).unwrap_or(Decision::NotUnderstood),
        understood => understood,
    }
}

/// What the first version understood.
fn first(text: &str) -> Decision {
    let text = text.trim();
    if text.lines().next().is_some_and(|line| line.trim_end() == "---") {
        return Decision::Plan;
    }
    if let Some(decision) = run_and_check(text).or_else(|| change_tasks(text)) {
        return decision;
    }
    let plain: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    match words.as_slice() {
        ["what", "did" | "have", "you", "do" | "done", rest @ ..] | ["what", "happened", rest @ ..] => {
            Decision::WhatHappened { when: period(rest) }
        }
        ["activity"] => Decision::WhatHappened { when: Asked::Lately },
        ["put", "back", "the", "last", "change"]
        | ["put", "the", "last", "change", "back"]
        | ["undo"]
        | ["undo", "it" | "that"]
        | ["undo", "the", "last", "change"] => Decision::PutBack,
        ["add" | "choose" | "connect" | "use", "model"]
        | ["add" | "choose" | "connect" | "use", "a", "model"]
        | ["set", "up", "a", "model"] => Decision::AddModel,
        ["try", "it" | "silas", "on", "a" | "the", "sample"]
        | ["try", "it" | "silas", "on", "a" | "the", "sample", "project"]
        | ["try", "a" | "the", "sample"]
        | ["try", "a" | "the", "sample", "project"] => Decision::TrySample,
        ["help"] | ["help", "me"] | ["what", "can", "you", "do"] | ["what", "can", "i", "say"] => Decision::Help,
        ["tasks"]
        | ["my", "tasks"]
        | ["list" | "show", "tasks"]
        | ["list" | "show", "my", "tasks"]
        | ["what", "are", "my", "tasks"] => Decision::ListTasks,
        _ => Decision::NotUnderstood,
    }
}

/// What is left of "what did you do …".
fn period(words: &[&str]) -> Asked {
    let hours = |n: u32, unit: &str| match unit.trim_end_matches('s') {
        "hour" => Some(n),
        "day" => n.checked_mul(24),
        "week" => n.checked_mul(24 * 7),
        _ => None,
    };
    let asked = match words {
        ["today"] | ["since", "yesterday"] => Some(24),
        ["this", "week"] => Some(24 * 7),
        ["in" | "within" | "during", "the", "last" | "past", unit] => hours(1, unit),
        ["in" | "within" | "during", "the", "last" | "past", n, unit] => n.parse().ok().and_then(|n| hours(n, unit)),
        _ => None,
    };
    let is_away =
        words.iter().any(|word| matches!(*word, "slept" | "asleep" | "sleeping" | "away" | "gone" | "overnight"));
    match asked {
        Some(hours) if (1..=HOURS_MAX).contains(&hours) => Asked::Hours(hours),
        _ if is_away || words == ["last", "night"] => Asked::Away,
        _ => Asked::Lately,
    }
}

/// A text in backticks that [`decide`] reads back as it was, if it is one line without white space at its ends.
pub fn quote(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // The spaces keep a tick at an end of the text apart from the fence; they are no part of it.
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

fn run_and_check(text: &str) -> Option<Decision> {
    let (run, rest) = quoted(word(text, &["run", "please run"])?)?;
    let (directories, rest) = places(rest, &["in", "inside"])?;
    let (reads, rest) = places(rest, &["reading", "and reading"])?;
    let (commits, rest) = match word(rest, &["with commits", "and commit"]) {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (hosts, rest) = match word(rest, &["reaching"]) {
        Some(rest) => hosts(rest)?,
        None => (Vec::new(), rest),
    };
    let openly = word(rest, &["and check openly with", "then check openly with", "check openly with"]);
    let protected = openly.is_none();
    let closely = || word(rest, &["and check with", "then check with", "and check it with", "check with"]);
    let (check, rest) = quoted(openly.or_else(closely)?)?;
    is_end(rest).then_some(Decision::RunAndCheck { run, directories, reads, commits, hosts, check, protected })
}

/// The directories that are named after one of `words`, joined by commas or "and".
fn places<'a>(text: &'a str, words: &[&str]) -> Option<(Vec<String>, &'a str)> {
    let Some(rest) = word(text, words) else { return Some((Vec::new(), text)) };
    let one = |text: &'a str| quoted(text).or_else(|| bare(text));
    let (first, mut rest) = one(rest)?;
    let mut places = vec![first];
    // "and check with" goes on with a word that is no directory, and so ends the list.
    while let Some((next, after)) =
        word(rest, &["and in", "and"]).or_else(|| rest.trim_start().strip_prefix(',')).and_then(one)
    {
        places.push(next);
        rest = after;
    }
    Some((places, rest))
}

/// One or more texts in backticks with "and" between them.
fn hosts(text: &str) -> Option<(Vec<String>, &str)> {
    let (first, mut rest) = quoted(text)?;
    let mut hosts = vec![first];
    while let Some((host, after)) = word(rest, &["and"]).and_then(quoted) {
        hosts.push(host);
        rest = after;
    }
    Some((hosts, rest))
}

fn change_tasks(text: &str) -> Option<Decision> {
    if let Some(rest) = word(text, &["add task", "add a task to", "add a task"]) {
        return title(rest).map(|title| Decision::AddTask { title });
    }
    if let Some(rest) = word(text, &["add"]) {
        return title_before_tasks(rest).map(|title| Decision::AddTask { title });
    }
    if let Some(rest) = word(text, &["complete task"]) {
        return title(rest).map(|task| Decision::CompleteTask { task });
    }
    if let Some(rest) = word(text, &["reopen task"]) {
        return title(rest).map(|task| Decision::ReopenTask { task });
    }
    // Without the word "task" only backticks make it certain that a task is meant.
    let (task, is_done) = match word(text, &["done with"]) {
        Some(rest) => (only_quoted(rest)?, true),
        None => (only_quoted(word(text, &["reopen"])?)?, false),
    };
    Some(if is_done { Decision::CompleteTask { task } } else { Decision::ReopenTask { task } })
}

/// The rest of a sentence as a title: in backticks, or as it stands.
fn title(rest: &str) -> Option<String> {
    if !rest.starts_with(|c: char| c.is_whitespace() || c == ':' || c == '`') {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches(':').trim();
    if rest.starts_with('`') { only_quoted(rest) } else { one_line(rest) }
}

/// The title in "add TITLE to tasks".
fn title_before_tasks(rest: &str) -> Option<String> {
    let lists = ["to tasks", "to my tasks", "to my task list", "to the task list"];
    if let Some((title, rest)) = quoted(rest) {
        let rest = word(rest, &lists)?;
        return is_end(rest).then_some(title).and_then(|title| one_line(&title));
    }
    let rest = rest.trim().trim_end_matches(['.', '!']);
    lists.iter().find_map(|list| {
        let start = rest.len().checked_sub(list.len())?;
        let fits = rest.get(start..)?.eq_ignore_ascii_case(list);
        let before = rest.get(..start)?;
        if fits && before.ends_with(char::is_whitespace) { one_line(before.trim()) } else { None }
    })
}

fn only_quoted(rest: &str) -> Option<String> {
    let (text, rest) = quoted(rest)?;
    is_end(rest).then_some(text).and_then(|text| one_line(&text))
}

/// A title is one line that can be shown as it is.
fn one_line(text: &str) -> Option<String> {
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

fn is_end(rest: &str) -> bool {
    rest.trim().trim_end_matches(['.', '!']).is_empty()
}

/// Strips one of `words` from the start, ignoring case, a leading comma and the width of white space.
fn word<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    let text = text.trim_start().trim_start_matches(',').trim_start();
    words.iter().find_map(|phrase| {
        let mut rest = text;
        for part in phrase.split(' ') {
            rest = rest.trim_start();
            let head = rest.get(..part.len())?;
            if !head.eq_ignore_ascii_case(part) {
                return None;
            }
            rest = &rest[part.len()..];
            if rest.chars().next().is_some_and(char::is_alphanumeric) {
                return None;
            }
        }
        Some(rest)
    })
}

/// A text in backticks, which may hold anything but backticks; two or more open a text that holds single ones.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let ticks = text.bytes().take_while(|b| *b == b'`').count();
    if ticks == 0 {
        return None;
    }
    let fence = &text[..ticks];
    let inner = &text[ticks..];
    let end = inner.find(fence)?;
    let quoted = inner[..end].trim();
    (!quoted.is_empty()).then(|| (quoted.to_owned(), &inner[end + ticks..]))
}

/// A directory written without backticks: one word that looks like a path.
fn bare(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let path = text[..end].trim_end_matches(',');
    (path.starts_with(['/', '~', '.'])).then(|| (path.to_owned(), &text[end..]))
}

#[cfg(test)]
mod tests;
