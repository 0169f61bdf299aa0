//! Who said beforehand that a file may change. What a check opens judges it, except these: they are what the work is about.

use super::{Glob, Leaving, typed};
use crate::changeset::Change;
use crate::check::{Command, DeclaredBy};
use crate::reflex::{self, Decision};
use crate::work::Definition;

/// The plan's own lists, or the owner's words. A model's plan names a file or does not; what a `*` of its stands for could
/// be anything, and excuses nothing. What the check itself runs is excused only by a plan that its owner wrote.
pub fn declared_by(plan: &Definition, change: &Change, is_run: bool) -> Option<DeclaredBy> {
    let spellings = Leaving::file(plan, change).spellings;
    let by = match plan.planned {
        Some(_) => DeclaredBy::Model,
        None if plan.is_of_silas() => DeclaredBy::Silas,
        None => DeclaredBy::Owner,
    };
    let counts = |glob: &&Glob| by != DeclaredBy::Model || !is_run && !glob.is_pattern();
    let flows = plan.flows.iter().map(|flow| &flow.to);
    let mut lists = plan.changes.iter().chain(&plan.exits.paths).chain(flows).filter(counts);
    let is_listed = lists.any(|glob| spellings.iter().any(|value| glob.matches_path(value)));
    let is_typed = |value: &String| plan.exits.is_typed(value, true) || is_in_owners_command(plan, value);
    if !is_run && spellings.iter().any(is_typed) {
        return Some(DeclaredBy::Owner);
    }
    is_listed.then_some(by)
}

/// "run `sed -i s/1/2/ app.sh` and check with `sh check.sh`": who typed the command typed the names in it.
fn is_in_owners_command(plan: &Definition, value: &str) -> bool {
    // Whatever an earlier version of the grammar understood reads the same today.
    let said = plan.planned.is_none().then(|| reflex::decide(&plan.body));
    let Some(Decision::RunAndCheck { run, .. } | Decision::Run { run, .. }) = said else { return false };
    let is_step = matches!(plan.steps.as_slice(), [step] if step.run == Command::Shell(run.clone()));
    // A merge lays down what that command made.
    (is_step || plan.merges.is_some()) && plan.executor.is_none() && typed::contains(&run, value)
}
