//! Results that are not put in place: what the card says of them, and why.

use super::ending::Ending;
use super::job::Job;
use super::planning_again::Wants;
use crate::words::{self, basis, count};
use silas_core::check::{CheckResult, Outcome};
use silas_core::hidden;
use silas_sandbox::{LeftOut, Workshop};

/// Undeclared files that a report names.
const UNDECLARED_TOLD_MAX: usize = 20;

impl Job {
    pub(super) fn still_red(&self) -> Ending {
        let n_red = self.record.after.iter().filter(|result| !result.passed).count();
        let pairs = self.record.before.iter().zip(&self.record.after);
        let n_turned = pairs.filter(|(before, after)| before.passed && !after.passed).count();
        let intent = match (self.record.view.outcome, n_red) {
            (_, n) if n > 0 && n == n_turned => format!("{} turned red", count(n, "check")),
            (_, n) if n_turned > 0 => format!("{n} checks are red, {n_turned} of them were green"),
            (Some(Outcome::Unproven), _) => "Unproven: there was no check".to_owned(),
            (Some(Outcome::Guarded), _) => "The checks stayed green, and commits cannot wait".to_owned(),
            (_, 1) => "The check is still red".to_owned(),
            (_, n) => format!("{n} checks are still red"),
        };
        let gave_up = self.record.gave_up.as_deref().map_or_else(String::new, |why| format!("{why}\n"));
        Ending::Untouched { intent, reason: format!("{gave_up}{}", first_red(&self.record.after)) }
    }

    /// Nothing is done only where the owner said how that is seen: what a model chose and was green at first shows nothing.
    pub(super) fn nothing_changed(&mut self, shop: Workshop) -> Ending {
        shop.discard();
        let is_chosen_by_model = self.record.is_checked_by_a_models_choice();
        if let Some(ran) = self.record.ran() {
            let reason = format!("{ran}. It changed no file, so there is nothing to apply.");
            return Ending::Untouched { intent: "It ran and changed nothing".to_owned(), reason };
        }
        let (intent, reason) = match self.record.view.outcome {
            Some(Outcome::Proved | Outcome::GreenByExitCode) => (
                "The check turned green, nothing changed",
                "The commands changed no file, so there is nothing to apply.",
            ),
            Some(Outcome::Guarded) if is_chosen_by_model => {
                self.wants_other = Some(Wants::Check);
                (
                    "Nothing changed, and nothing is shown",
                    "A model chose the check, and it passed before anything was done. So it does not show whether what you \
                     asked is done.",
                )
            }
            Some(Outcome::Guarded) => (
                "Already passes, nothing to do",
                "Every check passed before anything was done, and the commands changed no file.",
            ),
            Some(Outcome::Failed | Outcome::Unproven) | None => {
                ("Nothing changed", "The commands changed no file, so there is nothing to apply.")
            }
        };
        Ending::Untouched { intent: intent.to_owned(), reason: reason.to_owned() }
    }

    /// Green, but with changes that the plan does not name, in work that cannot wait to be looked at.
    pub(super) fn undeclared_commits(&mut self, shop: Workshop) -> Ending {
        shop.discard();
        let intent = format!("Changed {} that the plan does not name", count(self.record.undeclared.len(), "file"));
        let lines = self.record.undeclared.iter().take(UNDECLARED_TOLD_MAX).map(words::exits::line).collect::<Vec<_>>();
        let what_to_do = "Name them in the wish, or leave the commits to yourself: then the result waits for you.";
        Ending::Untouched { intent, reason: format!("{}\n{what_to_do}", lines.join("\n")) }
    }
}

/// Green, but no proof, in work that cannot wait to be looked at.
pub(super) fn unproved_commits(shop: Workshop, after: &[CheckResult]) -> Ending {
    shop.discard();
    let leave = "leave the commits to yourself: then the result waits for you.";
    if let Some(other) = basis::committed_otherwise(after) {
        return Ending::Untouched {
            intent: "The commits hold something else than was checked".to_owned(),
            reason: format!("{other}\nLet the work commit what the checks see, or {leave}"),
        };
    }
    let reason = match basis::changed_judges(after) {
        Some(changed) => format!("{changed}\nName it in the plan if the work is about it, or {leave}"),
        None => format!(
            "What is green by exit code alone is never applied by itself. Let a check count its tests, or {leave}"
        ),
    };
    Ending::Untouched { intent: "Green by exit code, and commits cannot wait for you".to_owned(), reason }
}

fn first_red(results: &[CheckResult]) -> String {
    results.iter().find(|result| !result.passed).map_or_else(String::new, |result| {
        format!("{}: {}{}", hidden::name(&result.shown()), result.reason, printed(result))
    })
}

/// What it printed is nobody's word for what happened, so it stands behind a mark of its own.
fn printed(result: &CheckResult) -> String {
    result.output.lines().map(|line| format!("\n| {line}")).collect()
}

/// What the result leaves out, and what the checks saw of that all the same.
pub(super) fn left_out(left: &LeftOut, beside: &[String]) -> Vec<String> {
    let beside = (!beside.is_empty()).then(|| format!("Beside the change, not applied: {}.", beside.join(", ")));
    left.sentence().map(|sentence| format!("{sentence}.")).into_iter().chain(beside).collect()
}

/// Commits cannot wait to be looked at.
pub(super) fn opened_commits() -> Ending {
    let reason = "The work would leave a file that anybody on this machine may write to, and commits cannot wait for you \
                  to look at it.\nLeave the mode of the file as it is, or leave the commits to yourself: then the result \
                  waits for you.";
    Ending::Untouched { intent: "A file would be open to everybody".to_owned(), reason: reason.to_owned() }
}
