//! What the verdict of checks stands on, in sentences: what judged, what was only seen beside it, and what somebody had
//! declared beforehand as what may change.

use super::Reader;
use silas_core::card::Detail;
use silas_core::check::{Basis, CheckResult, DeclaredBy};
use silas_core::hidden;
use silas_core::number::grouped;
use silas_core::runner::Runner;
use std::collections::BTreeSet;

/// Files that a sentence names; the changes below name all.
const NAMED_MAX: usize = 5;
const TESTED: &str = "Taken for the code under test";

/// Whether the work changed what judged it.
pub(crate) fn has_changed_judges(after: &[CheckResult]) -> bool {
    of(after).any(|basis| !basis.changed.is_empty())
}

/// "The work changed what judged it: verify.sh." What is only new or gone was changed by nobody, and nobody may have looked.
pub(crate) fn changed_judges(after: &[CheckResult]) -> Option<String> {
    let is_among = |file: &String, list: fn(&Basis) -> &Vec<String>| of(after).any(|basis| list(basis).contains(file));
    let state = |file: &String| match (is_among(file, |basis| &basis.new), is_among(file, |basis| &basis.gone)) {
        (true, _) => " (new)",
        (false, true) => " (gone)",
        (false, false) => "",
    };
    let changed = || of(after).flat_map(|basis| &basis.changed);
    let is_only_there_or_not = changed().all(|file| !state(file).is_empty());
    let says =
        if is_only_there_or_not { "What may have judged it is new or gone" } else { "The work changed what judged it" };
    sentence_with(says, changed(), state)
}

/// "Committed otherwise than it was checked: tests/test_calc.py."
pub(crate) fn committed_otherwise(after: &[CheckResult]) -> Option<String> {
    sentence("Committed otherwise than it was checked", of(after).flat_map(|basis| &basis.committed_otherwise))
}

/// Everything that whoever reads the badge has to know besides. Nothing where it is as everybody would expect.
pub(crate) fn sentences(after: &[CheckResult], reader: Reader) -> Vec<String> {
    let declared = |by: DeclaredBy| {
        let by = move |basis: &'_ Basis| basis.declared.clone().filter(|declared| declared.by == by);
        of(after).filter_map(by).flat_map(|declared| declared.files).collect::<Vec<_>>()
    };
    let why_not: BTreeSet<&String> = of(after).filter_map(|basis| basis.why_not.as_ref()).collect();
    let mut found: Vec<String> = changed_judges(after).into_iter().chain(committed_otherwise(after)).collect();
    found.extend(why_not.into_iter().map(|why| format!("{}.", hidden::strict(why.trim_end_matches('.')))));
    found.extend(sentence(
        "Judged with these as they were, and as changed",
        of(after).flat_map(|basis| &basis.as_approved),
    ));
    let owners = match reader {
        Reader::Owner => "By your own words the work is about",
        Reader::Anybody => "By the owner's own words the work is about",
    };
    found.extend(sentence(owners, &declared(DeclaredBy::Owner)));
    found.extend(sentence("By the model's plan the work is about", &declared(DeclaredBy::Model)));
    found.extend(sentence("By Silas's own plan the work is about", &declared(DeclaredBy::Silas)));
    found.extend(beside(after));
    found
}

/// How code under test is told from what judges it: of a command that is no known runner nobody can tell.
pub(crate) fn to_be_declared(after: &[CheckResult]) -> Option<Detail> {
    let is_watched = |result: &CheckResult| result.tests.as_ref().is_none_or(|tests| tests.runner == Runner::Tap);
    let is_changed = |result: &CheckResult| result.basis.as_ref().is_some_and(|basis| !basis.changed.is_empty());
    let says = [
        "If what was changed is what the work is about, declare it before the work: in a plan's `changes`, by its name in the \
         command that you ask for (run `sed -i s/1/2/ app.sh` and check with `sh check.sh`), or, where a model plans, by its \
         name in your words.",
        "What the check itself names or opens first is declared only by the `changes` of a plan that you wrote.",
    ];
    after
        .iter()
        .any(|result| is_watched(result) && is_changed(result))
        .then(|| Detail { title: "Changed judges".to_owned(), lines: Vec::from(says.map(str::to_owned)) })
}

/// What the tests loaded as code and the work changed: helpers of the tests cannot be told apart from it.
pub(crate) fn tested(after: &[CheckResult]) -> Option<Detail> {
    let files: BTreeSet<&String> = of(after).flat_map(|basis| &basis.tested).collect();
    let lines: Vec<String> = files.into_iter().map(|file| hidden::named(file)).collect();
    (!lines.is_empty()).then(|| Detail { title: TESTED.to_owned(), lines })
}

/// The same in a sentence: "Taken for the code under test: calc.py."
pub(crate) fn tested_said(after: &[CheckResult]) -> Option<String> {
    sentence(TESTED, of(after).flat_map(|basis| &basis.tested))
}

/// "They saw as the work left it: tides.sh." Who declares that a file may change has it judged as it became.
pub(crate) fn seen_as_changed(after: &[CheckResult]) -> Option<String> {
    let declared = of(after).filter_map(|basis| basis.declared.as_ref());
    sentence("They saw as the work left it", declared.flat_map(|declared| &declared.files))
}

/// "Beside the change, not applied: build."
pub(crate) fn beside(after: &[CheckResult]) -> Option<String> {
    sentence("Beside the change, not applied", of(after).flat_map(|basis| &basis.beside))
}

fn of(after: &[CheckResult]) -> impl Iterator<Item = &Basis> {
    after.iter().filter_map(|result| result.basis.as_ref())
}

fn sentence<'f>(says: &str, files: impl IntoIterator<Item = &'f String>) -> Option<String> {
    sentence_with(says, files, |_| "")
}

/// Files each once, by names that cannot be taken for more of the sentence, and with what is said of each.
fn sentence_with<'f>(
    says: &str,
    files: impl IntoIterator<Item = &'f String>,
    state: impl Fn(&String) -> &'static str,
) -> Option<String> {
    let files: BTreeSet<&String> = files.into_iter().collect();
    let mut names: Vec<String> =
        files.iter().take(NAMED_MAX).map(|file| format!("{}{}", hidden::named(file), state(file))).collect();
    if files.len() > NAMED_MAX {
        names.push(format!("{} more", grouped(files.len() - NAMED_MAX)));
    }
    (!names.is_empty()).then(|| format!("{says}: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests;
