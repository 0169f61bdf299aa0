//! What may be claimed about a result, and what that does not rule out. The badge says no more than this.

use silas_core::check::{CheckResult, Outcome, Standing};

/// One line. A proof says what it stands on.
pub(crate) fn claim(outcome: Outcome, before: &[CheckResult], after: &[CheckResult]) -> String {
    match outcome {
        Outcome::Proved => {
            let stands_on = match Standing::of(before, after) {
                Standing::Tests(tests) => match tests.iter().map(|tests| tests.passed).sum::<u32>() {
                    1 => "1 test ran".to_owned(),
                    n => format!("{n} tests ran"),
                },
                Standing::Shown => "by exit code".to_owned(),
                Standing::Open => "checks not protected".to_owned(),
            };
            format!("Proved: red before, green after, {stands_on}")
        }
        Outcome::Guarded => "Guarded, unproven: green before and after".to_owned(),
        Outcome::Failed if after.is_empty() => "Not done: it ended before its checks ran again".to_owned(),
        Outcome::Failed => "Not done: a check is red".to_owned(),
        Outcome::Unproven => "Unproven: there was no check".to_owned(),
    }
}

/// What could still deceive, given what the proof stands on.
pub(crate) fn caveats(outcome: Outcome, before: &[CheckResult], after: &[CheckResult]) -> Vec<String> {
    if outcome != Outcome::Proved {
        return Vec::new();
    }
    let mut found: Vec<&str> = Vec::new();
    match Standing::of(before, after) {
        Standing::Tests(tests) => {
            // Every runner has its tests in one process with the code that they test.
            found.push("Not ruled out: code that forges its test runner inside its own process.");
            if tests.iter().any(|tests| tests.runner.tests_live_in_sources()) {
                found.push("Not ruled out: unit tests inside changed source files.");
            }
        }
        Standing::Shown => found.push("Not ruled out: code that ends early with success. No tests were counted."),
        Standing::Open => found.push("The commands could change their own checks."),
    }
    found.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
