//! What may be claimed about a result, and what that does not rule out. The badge says no more than this.

use silas_core::check::{CheckResult, Outcome, Standing};

/// One line. How many tests ran is in the lines of the checks, what a proof leaves open in its caveats; that the work could
/// change its own checks is in the claim itself.
pub(crate) fn claim(outcome: Outcome, before: &[CheckResult], after: &[CheckResult]) -> String {
    match outcome {
        Outcome::Proved => match Standing::of(before, after) {
            Standing::Tests(_) | Standing::Shown => "Proved: red before, green after".to_owned(),
            Standing::Open => "Proved: red before, green after, checks not protected".to_owned(),
        },
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
            found.push("Not ruled out: a forged test runner.");
            if tests.iter().any(|tests| tests.runner.tests_live_in_sources()) {
                found.push("Not ruled out: tests in changed sources.");
            }
        }
        Standing::Shown => found.push("Not ruled out: an early success."),
        Standing::Open => found.push("The commands could change their own checks."),
    }
    found.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
