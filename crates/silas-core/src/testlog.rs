//! What a test runner ran, test by test, and what that is worth.
//!
//! Read from a report that was written outside the project, or from a runner's own output. Nothing here runs anything.

use crate::number::grouped;
use crate::runner::Runner;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

mod cargo;
mod go;
mod tap;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// Every test by its name, and where the runner found them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TestLog {
    tests: BTreeMap<String, Verdict>,
    /// What it collected, was configured by, or loaded in the place of its own parts: files in full or by the end of their
    /// path, directories with a `/` at the end.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    files: BTreeSet<String>,
    /// What plugins of the project brought into the runner before any test was looked for: their packages, and what they
    /// import. It judged, and may be what the tests are about, so it is not taken back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    brought: BTreeSet<String>,
    /// What it loaded of the directories as code of its own language, in full. `None` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loaded: Option<BTreeSet<String>>,
    /// Of the directories' own modules, in full, those whose name something outside provides too.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    shadows: BTreeSet<String>,
}

/// How many, as a result keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    pub runner: Runner,
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
}

/// Tests of one run; larger suites are beyond what can be held against each other here.
const TESTS_MAX: usize = 50_000;
/// Tests of one name; numbering them takes longer with each.
const SAME_NAME_MAX: usize = 1000;
/// Names that a sentence lists.
const NAMED_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 120;
/// As much of a test's name as tells it from others.
const ID_CHARS_MAX: usize = 250;

/// What our own part of a runner writes when it has ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    key: String,
    /// Why it is no evidence, in a sentence.
    #[serde(default)]
    problem: Option<String>,
    /// The status that it is about to exit with, where it knows.
    #[serde(default)]
    exit: Option<i32>,
    #[serde(default)]
    tests: Vec<(String, Verdict)>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    brought: Vec<String>,
    #[serde(default)]
    loaded: Option<Vec<String>>,
    #[serde(default)]
    shadows: Vec<String>,
}

impl TestLog {
    /// Reads a report that must carry `key`; only who was there before the project's code knows it.
    pub fn from_report(text: &str, key: &str, exit_code: i32) -> Result<Self, String> {
        let report: Report =
            serde_json::from_str(text).map_err(|_| "The report of the tests cannot be read".to_owned())?;
        if report.key != key {
            return Err("The report of the tests was not written by the runner".to_owned());
        }
        if let Some(problem) = report.problem {
            return Err(problem.chars().take(300).collect());
        }
        if report.exit.is_some_and(|exit| exit != exit_code) {
            return Err(format!("It ended with exit code {exit_code}, but the runner reported another"));
        }
        let mut log = TestLog::default();
        for (name, verdict) in report.tests {
            log.note(name, verdict)?;
        }
        log.files.extend(report.files.into_iter().take(TESTS_MAX));
        log.brought.extend(report.brought.into_iter().take(TESTS_MAX));
        log.loaded = report.loaded.map(|loaded| loaded.into_iter().take(TESTS_MAX).collect());
        log.shadows.extend(report.shadows.into_iter().take(TESTS_MAX));
        Ok(log)
    }

    /// What else the runner was told to load or read, by the ends of paths.
    pub fn told_of(mut self, names: &[String]) -> Self {
        self.files.extend(names.iter().cloned());
        self
    }

    /// Whether a file, by its full path, was brought into the runner before any test was looked for.
    pub fn brought(&self, path: &str) -> bool {
        self.brought.contains(path)
    }

    /// Whether a file, by its full path, was loaded as code of the runner's own language; `None` if it does not say.
    pub fn loaded(&self, path: &str) -> Option<bool> {
        self.loaded.as_ref().map(|loaded| loaded.contains(path))
    }

    /// Whether a file, by its full path, is a module by a name that something outside the directories provides too.
    pub fn shadows(&self, path: &str) -> bool {
        self.shadows.contains(path)
    }

    /// Reads what `cargo test` prints.
    pub fn from_cargo(stdout: &str, stderr: &str) -> Result<Self, String> {
        let log = cargo::read(stdout)?;
        Ok(TestLog { files: cargo::files(stderr), ..log })
    }

    /// Reads what a command says in the Test Anything Protocol; `None` if it does not speak it.
    pub fn from_tap(stdout: &str) -> Option<Result<Self, String>> {
        tap::read(stdout)
    }

    /// Whether a file, by its full path, is among what the runner collected or was configured by.
    pub fn collected(&self, path: &str) -> bool {
        let is_end =
            |end: &str| path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        self.files.iter().any(|file| match file.strip_suffix('/') {
            Some(_) if file.starts_with('/') => path.starts_with(file.as_str()),
            Some(_) => path.contains(&format!("/{file}")),
            None if file.starts_with('/') => path == file,
            None => is_end(file),
        })
    }

    /// Whether it collected a file or anything in a directory, by the full path of either.
    pub fn collected_in(&self, path: &str) -> bool {
        self.collected(path) || self.files.iter().any(|file| file.starts_with(&format!("{path}/")))
    }

    /// The same tests, and none of them failed.
    pub fn is_green_with_all_of(&self, before: &TestLog) -> Result<(), String> {
        if self.tests.values().any(|verdict| *verdict == Verdict::Failed) {
            return Err("A test failed".to_owned());
        }
        if !self.tests.keys().eq(before.tests.keys()) {
            return Err("It did not run the same tests before and after".to_owned());
        }
        self.still_runs(before)
    }

    /// Reads what `go test -json` prints, and gives back the text that it would have printed without.
    pub fn from_go(stdout: &str) -> Result<(Self, String), String> {
        go::read(stdout)
    }

    /// The same name twice is two tests.
    fn note(&mut self, name: String, verdict: Verdict) -> Result<(), String> {
        let name: String = name.chars().take(ID_CHARS_MAX).collect();
        if self.tests.len() >= TESTS_MAX {
            return Err(format!("More than {} tests ran", grouped(TESTS_MAX)));
        }
        let mut unique = name.clone();
        let mut n = 1;
        while self.tests.contains_key(&unique) {
            n += 1;
            if n > SAME_NAME_MAX {
                return Err(format!("More than {SAME_NAME_MAX} tests are called {}", short(&name)));
            }
            unique = format!("{name} ({n})");
        }
        self.tests.insert(unique, verdict);
        Ok(())
    }

    pub fn summary(&self, runner: Runner) -> Tests {
        let count = |wanted: Verdict| {
            u32::try_from(self.tests.values().filter(|verdict| **verdict == wanted).count()).unwrap_or(u32::MAX)
        };
        Tests {
            runner,
            passed: count(Verdict::Passed),
            failed: count(Verdict::Failed),
            skipped: count(Verdict::Skipped),
        }
    }

    /// Whether a run that ended with this code is worth a verdict: tests ran, and they agree with the code.
    pub fn agrees_with(&self, exit_code: i32) -> Result<(), String> {
        let count = |wanted: Verdict| self.tests.values().filter(|verdict| **verdict == wanted).count();
        let (passed, failed) = (count(Verdict::Passed), count(Verdict::Failed));
        if passed + failed == 0 {
            return Err("No test ran".to_owned());
        }
        if exit_code == 0 && failed > 0 {
            return Err(format!("Exit code 0, but {failed} of {} tests failed", passed + failed));
        }
        Ok(())
    }

    /// Whether every test that ran before has run again. A test that vanished or is skipped shows nothing.
    pub fn still_runs(&self, before: &TestLog) -> Result<(), String> {
        // `!` marks what failed without being a test, such as a module that could not be loaded.
        let ran = before.tests.iter().filter(|(name, verdict)| **verdict != Verdict::Skipped && !name.starts_with('!'));
        let ran = ran.map(|(name, _)| name);
        let gone: Vec<&String> =
            ran.filter(|name| matches!(self.tests.get(*name), None | Some(Verdict::Skipped))).collect();
        match gone.is_empty() {
            true => Ok(()),
            false => Err(format!("Tests that ran before did not run again: {}", listed(&gone))),
        }
    }

    /// Whether no test is skipped that nobody had heard of before. Where tests could not be loaded, that is how the red one
    /// would be left out: it never had a name.
    pub fn skips_none_unheard_of(&self, before: Option<&TestLog>) -> Result<(), String> {
        let is_known = |name: &String| before.is_some_and(|before| before.tests.contains_key(name));
        let skipped = self.tests.iter().filter(|(name, verdict)| **verdict == Verdict::Skipped && !is_known(name));
        let skipped: Vec<&String> = skipped.map(|(name, _)| name).collect();
        match skipped.is_empty() {
            true => Ok(()),
            false => Err(format!("Tests that could not run before are skipped now: {}", listed(&skipped))),
        }
    }
}

/// The first of these names, and how many more there are.
fn listed(names: &[&String]) -> String {
    let named: Vec<String> = names.iter().take(NAMED_MAX).map(|name| short(name)).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

fn short(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}

impl Tests {
    /// "12 tests passed, 1 skipped".
    pub fn words(&self) -> String {
        let noun = |n: u32| if n == 1 { "1 test".to_owned() } else { format!("{} tests", grouped(n)) };
        let mut parts = vec![format!("{} passed", noun(self.passed))];
        if self.failed > 0 {
            parts.push(format!("{} failed", grouped(self.failed)));
        }
        if self.skipped > 0 {
            parts.push(format!("{} skipped", grouped(self.skipped)));
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests;
