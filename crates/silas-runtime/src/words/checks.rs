//! What a plan's card says about its checks before anything has run: what runs, what is expected, who may change it.

use super::expected;
use silas_core::check::Check;
use silas_core::hidden;
use silas_core::runner;

/// A check as a plan's card lists it: what runs, what is expected, what it will be worth.
pub(crate) fn line(check: &Check) -> String {
    let worth = match (check.protected, runner::known(&check.run)) {
        (false, _) => "the work may change it",
        (true, Some(_)) => "protected, tests are counted",
        (true, None) => "protected, by exit code unless it speaks TAP",
    };
    let network = if check.network { ", with the plan's network" } else { "" };
    let expected = hidden::strict(&expected(&check.expect));
    format!("{}: {expected}{network}; {worth}", hidden::strict(&check.run.words()))
}

/// Who may change what judges.
pub(crate) fn protection(checks: &[Check]) -> String {
    let open: Vec<String> =
        checks.iter().filter(|check| !check.protected).map(|check| hidden::strict(&check.run.words())).collect();
    match (checks.len(), open.len()) {
        (0, _) => "No check: nothing is applied by itself".to_owned(),
        (_, 0) => "Checks use the tests and scripts as they are now; if the work changes those, it is named and nothing is proved"
            .to_owned(),
        (_, _) => format!("The commands may change their own checks: {}", open.join(", ")),
    }
}
