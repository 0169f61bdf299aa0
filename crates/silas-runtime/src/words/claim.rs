//! What may be claimed about a result, and what that does not rule out. The badge says no more than this.

use super::basis;
use silas_core::check::{CheckResult, Outcome, Standing};

/// One line. How many tests ran is in the lines of the checks, what a proof leaves open in its caveats; that the work could
/// change its own checks is in the claim itself.
pub(crate) fn claim(outcome: Outcome, before: &[CheckResult], after: &[CheckResult]) -> String {
    match outcome {
        Outcome::Proved => match Standing::of(before, after) {
            Standing::Tests(_) | Standing::Shown => "Proved: red before, green after".to_owned(),
            Standing::Open => "Proved: red before, green after, checks not protected".to_owned(),
        },
        Outcome::GreenByExitCode if after.iter().any(|result| !result.protected) => {
            "Green by exit code, checks not protected".to_owned()
        }
        Outcome::GreenByExitCode if basis::has_changed_judges(after) => "Green by exit code, judges changed".to_owned(),
        Outcome::GreenByExitCode if basis::committed_otherwise(after).is_some() => {
            "Green, but committed otherwise than it was checked".to_owned()
        }
        Outcome::GreenByExitCode => "Green by exit code, not counted".to_owned(),
        Outcome::Guarded if after.iter().any(|result| !result.protected) => {
            "Stayed green, checks not protected".to_owned()
        }
        Outcome::Guarded if basis::has_changed_judges(after) => "Stayed green, judges changed".to_owned(),
        Outcome::Guarded => "Stayed green: green before and after".to_owned(),
        Outcome::Failed if after.is_empty() => "Not done: it ended before its checks ran again".to_owned(),
        Outcome::Failed => "Not done: a check is red".to_owned(),
        Outcome::Unproven => "Unproven: there was no check".to_owned(),
    }
}

/// Who reads it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Owner,
    /// A proof is read on other machines too.
    Anybody,
}

/// What the owner has to know besides the claim.
pub(crate) fn caveats(outcome: Outcome, before: &[CheckResult], after: &[CheckResult]) -> Vec<String> {
    [not_ruled_out(outcome, before, after), known(outcome, before, after, Reader::Owner)].concat()
}

/// What could still deceive, given what the proof stands on.
pub(crate) fn not_ruled_out(outcome: Outcome, before: &[CheckResult], after: &[CheckResult]) -> Vec<String> {
    if outcome != Outcome::Proved {
        return Vec::new();
    }
    let mut found: Vec<&str> = Vec::new();
    match Standing::of(before, after) {
        Standing::Tests(tests) => {
            // Every runner has its tests in one process with the code that they test.
            found.push("Faked test results would go unnoticed.");
            if tests.iter().any(|tests| tests.runner.tests_live_in_sources()) {
                found.push("Changed files may contain their own tests.");
            }
        }
        Standing::Shown => found.push("A check that ends too early looks green too."),
        Standing::Open => {}
    }
    found.into_iter().map(str::to_owned).collect()
}

/// What is known of the checks and what judged, and was not to be expected. Facts, which may speak for it or against.
pub(crate) fn known(outcome: Outcome, before: &[CheckResult], after: &[CheckResult], reader: Reader) -> Vec<String> {
    let open = || "The commands could change their own checks.".to_owned();
    let is_open = || matches!(Standing::of(before, after), Standing::Open);
    match outcome {
        Outcome::Proved => is_open().then(open).into_iter().chain(basis::sentences(after, reader)).collect(),
        Outcome::GreenByExitCode => basis::sentences(after, reader),
        // Nothing turned green, so how it would have been counted says nothing.
        Outcome::Guarded => {
            let guards = "That nothing broke is what they show; they passed before, too.".to_owned();
            [guards].into_iter().chain(basis::changed_judges(after)).collect()
        }
        Outcome::Failed | Outcome::Unproven => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
