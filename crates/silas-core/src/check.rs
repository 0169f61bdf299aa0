//! Checks: what must be true for work to be done, and what running them showed.
//!
//! Architecture invariant (INV-03): a result is computed from an exit status and an output by [`Expectation::judge`].
//! Nothing that an agent says enters it.

use crate::decimal::Decimal;
use crate::hidden;
use crate::testlog::Tests;
use serde::{Deserialize, Serialize};

/// What is run: a list executed as it is, one string given to `sh -c`, or the text of a Python program. Nothing is ever put
/// into it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    Shell(String),
    Argv(Vec<String>),
    Python(Script),
}

/// The text of a program in Python. It is one key in a plan, and so one here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub python: String,
}

impl Command {
    pub fn python(script: impl Into<String>) -> Command {
        Command::Python(Script { python: script.into() })
    }

    /// `python3` is looked up where the command runs: a granted toolchain's own interpreter, never a version manager's shim.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Command::Shell(script) => vec!["/bin/sh".to_owned(), "-c".to_owned(), script.clone()],
            Command::Argv(argv) => argv.clone(),
            Command::Python(script) => vec!["python3".to_owned(), "-c".to_owned(), script.python.clone()],
        }
    }

    /// As a person would type it. Two lists that differ read differently.
    pub fn words(&self) -> String {
        match self {
            Command::Shell(script) => script.clone(),
            Command::Argv(argv) => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            Command::Python(script) => format!("python: {}", script.python),
        }
    }
}

/// One word of a list, in quotes where a shell would not take it as one word and as it is.
fn quoted(word: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''")).into()
}

/// Exactly one thing that must hold. Zero or two are not representable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "RawExpectation", into = "RawExpectation")]
pub enum Expectation {
    ExitCode(i32),
    Equals(String),
    Contains(String),
    Regex(Pattern),
    OutputLt(Decimal),
    OutputGt(Decimal),
    /// Relative to the first granted directory, or absolute within one.
    FileExists(String),
    NotEmpty,
}

/// A regular expression that compiles; compared by its text.
#[derive(Clone, Debug)]
pub struct Pattern(regex::Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}
impl Eq for Pattern {}

/// Size of a compiled expression, in bytes; a larger one is refused instead of filling memory.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Length of an expression's text, in bytes; reading a long one takes seconds before its size is known.
const PATTERN_TEXT_MAX: usize = 4096;

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > PATTERN_TEXT_MAX {
            return Err(format!("a regular expression has at most {PATTERN_TEXT_MAX} bytes"));
        }
        for construct in ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "(?#"] {
            if text.contains(construct) {
                return Err(format!("`{construct}` is not supported in regular expressions"));
            }
        }
        regex::RegexBuilder::new(text)
            .size_limit(PATTERN_BYTES_MAX)
            .build()
            .map(Pattern)
            .map_err(|e| format!("the regular expression cannot be used: {e}"))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// The wire form: eight optional fields of which exactly one is set.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawExpectation {
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    equals: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contains: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_lt: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_gt: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_exists: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_empty: Option<bool>,
}

impl TryFrom<RawExpectation> for Expectation {
    type Error = String;
    fn try_from(raw: RawExpectation) -> Result<Self, String> {
        let mut set = Vec::new();
        if let Some(code) = raw.exit_code {
            set.push(Expectation::ExitCode(code));
        }
        if let Some(text) = raw.equals {
            set.push(Expectation::Equals(text));
        }
        if let Some(text) = raw.contains {
            set.push(Expectation::Contains(text));
        }
        if let Some(text) = raw.regex {
            set.push(Expectation::Regex(Pattern::parse(&text)?));
        }
        if let Some(limit) = raw.output_lt {
            set.push(Expectation::OutputLt(limit));
        }
        if let Some(limit) = raw.output_gt {
            set.push(Expectation::OutputGt(limit));
        }
        if let Some(path) = raw.file_exists {
            if path.is_empty() || path.split('/').any(|part| part == "..") {
                return Err("`file_exists` needs a path without `..`".to_owned());
            }
            set.push(Expectation::FileExists(path));
        }
        match raw.not_empty {
            Some(true) => set.push(Expectation::NotEmpty),
            Some(false) => return Err("`not_empty` can only be true".to_owned()),
            None => {}
        }
        let n_set = set.len();
        match (n_set, set.pop()) {
            (1, Some(expectation)) => Ok(expectation),
            _ => Err(format!("exactly one expectation is needed, {n_set} are given")),
        }
    }
}

impl From<Expectation> for RawExpectation {
    fn from(expectation: Expectation) -> Self {
        let mut raw = RawExpectation::default();
        match expectation {
            Expectation::ExitCode(code) => raw.exit_code = Some(code),
            Expectation::Equals(text) => raw.equals = Some(text),
            Expectation::Contains(text) => raw.contains = Some(text),
            Expectation::Regex(pattern) => raw.regex = Some(pattern.as_str().to_owned()),
            Expectation::OutputLt(limit) => raw.output_lt = Some(limit),
            Expectation::OutputGt(limit) => raw.output_gt = Some(limit),
            Expectation::FileExists(path) => raw.file_exists = Some(path),
            Expectation::NotEmpty => raw.not_empty = Some(true),
        }
        raw
    }
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
    TimedOut { after_secs: u64 },
}

/// The signal for a file that would have become larger than allowed, and what a shell makes of it.
const TOO_LARGE_SIGNAL: i32 = 25;
const SHELL_SIGNAL_BASE: i32 = 128;

impl Ended {
    /// Whether a file would have become larger than allowed, as far as that can be told: a program may catch the signal.
    pub fn is_by_file_size(&self) -> bool {
        match self {
            Ended::Signalled(signal) => *signal == TOO_LARGE_SIGNAL,
            Ended::Exited(code) => *code == SHELL_SIGNAL_BASE + TOO_LARGE_SIGNAL,
            Ended::TimedOut { .. } => false,
        }
    }
}

/// What running a command showed, before anyone judges it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Observed {
    pub ended: Ended,
    pub stdout: Vec<u8>,
    /// Only for `file_exists`: whether the file was there after the run. Anything else leaves it `None`.
    pub file_found: Option<bool>,
}

impl Expectation {
    /// Whether the expectation holds, and why or why not.
    pub fn judge(&self, seen: &Observed) -> (bool, String) {
        let code = match &seen.ended {
            Ended::Exited(code) => *code,
            Ended::Signalled(signal) => return (false, format!("Killed by signal {signal}")),
            Ended::TimedOut { after_secs } => return (false, format!("Timeout after {after_secs}s")),
        };
        let output = String::from_utf8_lossy(&seen.stdout);
        match self {
            Expectation::ExitCode(want) => (code == *want, format!("Exit code {code}, expected {want}")),
            Expectation::Equals(want) => (output == *want, "Output compared with the expected text".to_owned()),
            Expectation::Contains(want) => (output.contains(want), format!("Output searched for {want:?}")),
            Expectation::Regex(pattern) => {
                (pattern.0.is_match(&output), format!("Output matched against {:?}", pattern.as_str()))
            }
            Expectation::OutputLt(limit) => compare(&output, limit, std::cmp::Ordering::Less),
            Expectation::OutputGt(limit) => compare(&output, limit, std::cmp::Ordering::Greater),
            Expectation::FileExists(path) => match seen.file_found {
                Some(true) => (true, format!("{path:?} exists")),
                Some(false) => (false, format!("{path:?} does not exist")),
                None => (false, format!("{path:?} is outside the granted directories")),
            },
            Expectation::NotEmpty => (!output.trim().is_empty(), "Output must not be empty".to_owned()),
        }
    }
}

fn compare(output: &str, limit: &Decimal, want: std::cmp::Ordering) -> (bool, String) {
    match Decimal::parse(output.trim()) {
        Ok(number) => (number.cmp(limit) == want, format!("Output {number} compared with {limit}")),
        Err(_) => (false, "Output is not a number".to_owned()),
    }
}

/// A check outside the agent's reach.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub name: String,
    pub run: Command,
    pub expect: Expectation,
    pub timeout: u64,
    pub network: bool,
    /// Whether it sees what judges ([`crate::judges`]) as it was approved. A plan must say so to give this up, and is
    /// hashed as before if it does not.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub protected: bool,
}

impl Check {
    /// The command as it is run, for a result: a long one is cut, and says by how much.
    pub fn command(&self) -> String {
        let words = self.run.words();
        match words.char_indices().nth(COMMAND_CHARS_KEPT) {
            None => words,
            Some((end, _)) => {
                let n_more = words[end..].chars().count();
                format!("{} … ({n_more} characters more, all of them in the plan)", &words[..end])
            }
        }
    }
}

fn yes() -> bool {
    true
}

fn is_yes(protected: &bool) -> bool {
    *protected
}

/// Characters of its command that a result keeps.
const COMMAND_CHARS_KEPT: usize = 500;

/// Characters of output that a result keeps.
pub const OUTPUT_CHARS_KEPT: usize = 2000;

/// What one run of one check showed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckResult {
    /// What the plan calls it. Whoever wrote the plan chose that, so no face shows it but as a quotation.
    pub name: String,
    /// The command, as [`Check::command`] shows it. Results of older versions do not have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    pub passed: bool,
    pub reason: String,
    pub output: String,
    pub exit_code: Option<i32>,
    pub took_ms: u64,
    /// Whether the work could not change what judged. Results of older versions do not say so, and then it could.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// Which tests ran, if a known runner was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// Names of hosts that it asked for and may not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// What the verdict stands on. Results of older versions do not say, and are weighed as they were then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

impl CheckResult {
    /// Whether it is a proof if it was red before: its tests were counted, nothing that the work changed judged it, and what
    /// was committed is what it saw.
    pub fn proves(&self) -> bool {
        let is_proof = |basis: &Basis| {
            basis.by == CountedBy::Tests && basis.changed.is_empty() && basis.committed_otherwise.is_empty()
        };
        self.basis.as_ref().is_none_or(is_proof)
    }

    /// Whether it was green before, and is so by judges that the work changed: what it guarded may be broken.
    fn is_kept_green(&self) -> bool {
        self.basis.as_ref().is_some_and(|basis| basis.stayed_green && !basis.changed.is_empty())
    }
}

/// What a check's verdict stands on, as found by whoever ran it. Files are named as a person would find them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Basis {
    pub by: CountedBy,
    /// It was green before the work too, and what judges it was looked at all the same; results of earlier versions did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stayed_green: bool,
    /// What judged it although the work had changed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Those of them that were not there before the work, and those that are not there after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// What judges it and was changed by the work; it ran with these as they were approved, and as they would be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub as_approved: Vec<String>,
    /// What the tests loaded as code and the work changed, where nobody had said what the work is about: taken for what is
    /// tested. Helpers of the tests cannot be told apart from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tested: Vec<String>,
    /// What it opened and the work changed, as somebody had said beforehand that it might.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Declaration>,
    /// What stood beside the change while it ran, and is not applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// What branches and tags that moved hold otherwise than it was while it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub committed_otherwise: Vec<String>,
    /// Why its tests do not count, in a sentence of Silas's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

impl Basis {
    /// Found like that, and nothing else is to be said.
    pub fn new(by: CountedBy) -> Self {
        Basis {
            by,
            stayed_green: false,
            changed: Vec::new(),
            new: Vec::new(),
            gone: Vec::new(),
            as_approved: Vec::new(),
            tested: Vec::new(),
            declared: None,
            beside: Vec::new(),
            committed_otherwise: Vec::new(),
            why_not: None,
        }
    }
}

/// How a verdict was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// Tests were counted, test by test.
    Tests,
    /// A command ended as it was expected to, and nothing else is known.
    ExitCode,
}

/// Files that were declared, before the work, as what may change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    pub by: DeclaredBy,
    pub files: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeclaredBy {
    /// The owner's own words, or a plan of theirs.
    Owner,
    /// A plan that a model wrote.
    Model,
    /// Silas's own plan: the sample's, and one that puts files back.
    Silas,
}

impl CheckResult {
    /// What a face calls the check: its command. Where that was not kept, the name that somebody gave it, as a quotation.
    pub fn shown(&self) -> String {
        if self.run.is_empty() { hidden::quotation(&self.name) } else { self.run.clone() }
    }
}

/// What two runs of the checks, on the untouched copy and on the finished one, amount to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// At least one check went from red to green, its tests counted by judges that the work did not change, and none is red.
    /// Nor did the work change what judges those that were green before.
    Proved,
    /// As above, but something that turned green was not counted, or something was judged by what the work had changed.
    GreenByExitCode,
    /// All green, as they were before.
    Guarded,
    /// Something is red.
    Failed,
    /// There was no check.
    Unproven,
}

impl Outcome {
    pub fn of(before: &[CheckResult], after: &[CheckResult]) -> Outcome {
        if after.is_empty() || before.len() != after.len() {
            return if after.is_empty() { Outcome::Unproven } else { Outcome::Failed };
        }
        if after.iter().any(|result| !result.passed) {
            return Outcome::Failed;
        }
        let mut turned = before.iter().zip(after).filter(|(b, a)| b.name == a.name && !b.passed).peekable();
        let is_kept_green = after.iter().any(CheckResult::is_kept_green);
        match (turned.peek().is_some(), turned.all(|(_, a)| a.proves()) && !is_kept_green) {
            (false, _) => Outcome::Guarded,
            (true, true) => Outcome::Proved,
            (true, false) => Outcome::GreenByExitCode,
        }
    }
}

/// What a proof stands on, from the strongest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Tests that were counted, out of the work's reach.
    Tests(Vec<Tests>),
    /// What the checks' commands showed, out of the work's reach.
    Shown,
    /// The work could change its own checks.
    Open,
}

impl Standing {
    /// Of the checks that went from red to green; one that is open weakens all, since nobody knows what it hid.
    pub fn of(before: &[CheckResult], after: &[CheckResult]) -> Standing {
        if after.iter().any(|result| !result.protected) {
            return Standing::Open;
        }
        let turned = before.iter().zip(after).filter(|(b, a)| !b.passed && a.passed);
        let tests: Vec<Tests> = turned.filter_map(|(_, a)| a.tests.clone()).collect();
        if tests.is_empty() { Standing::Shown } else { Standing::Tests(tests) }
    }
}

#[cfg(test)]
mod tests;
