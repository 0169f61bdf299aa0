//! What a plan's card says about its checks before anything has run: what runs, what is expected, who may change it.

use super::expected;
use silas_core::check::Check;
use silas_core::hidden;
use silas_core::runner;
use silas_gates::scrub;

/// A check as a plan's card lists it: what runs, what is expected, what it will be worth.
pub(super) fn line(check: &Check) -> String {
    let worth = match (check.protected, runner::known(&check.run)) {
        (false, _) => "the work may change it",
        (true, Some(_)) => "protected, tests are counted",
        (true, None) => "protected",
    };
    let network = if check.network { ", with the plan's network" } else { "" };
    let expected = hidden::strict(&expected(&check.expect));
    format!("{}: {expected}{network}; {worth}", hidden::strict(&check.run.words()))
}

/// Who may change what judges.
pub(super) fn protection(checks: &[Check]) -> String {
    let open: Vec<String> = checks.iter().filter(|check| !check.protected).map(|c| scrub::visible(&c.name)).collect();
    match (checks.len(), open.len()) {
        (0, _) => "No check: nothing is applied by itself".to_owned(),
        (_, 0) => "Checks see tests, build scripts and the files that they name as they are now".to_owned(),
        (_, _) => format!("The commands may change their own checks: {}", open.join(", ")),
    }
}
