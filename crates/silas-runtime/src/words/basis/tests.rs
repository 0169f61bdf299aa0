//! What a badge tells of its judges.

use super::*;
use crate::words::{caveats, claim, known, not_ruled_out};
use silas_core::check::{CountedBy, Declaration, Outcome};
use silas_core::runner::Runner;
use silas_core::testlog::Tests;

fn result(passed: bool, basis: Option<Basis>) -> CheckResult {
    CheckResult {
        name: "All 214 project tests".to_owned(),
        run: "sh verify.sh".to_owned(),
        passed,
        reason: String::new(),
        output: String::new(),
        exit_code: Some(i32::from(!passed)),
        took_ms: 0,
        protected: true,
        tests: (basis.as_ref().is_some_and(|basis| basis.by == CountedBy::Tests)).then_some(Tests {
            runner: Runner::Pytest,
            passed: 3,
            failed: 0,
            skipped: 0,
        }),
        asked: Vec::new(),
        basis,
    }
}

fn basis(by: CountedBy) -> Basis {
    Basis::new(by)
}

fn files(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[track_caller]
fn check(basis: Basis, outcome: Outcome, says: &str, besides: &[&str]) {
    let (before, after) = ([result(false, None)], [result(true, Some(basis))]);
    assert_eq!(Outcome::of(&before, &after), outcome);
    assert_eq!(claim(outcome, &before, &after), says);
    assert_eq!(caveats(outcome, &before, &after), besides);
}

const RUNNER: &str = "Faked test results would go unnoticed.";

#[test]
fn an_exit_code_is_called_an_exit_code() {
    let green = Outcome::GreenByExitCode;
    check(basis(CountedBy::ExitCode), green, "Green by exit code, not counted", &[]);
    let why_not = Some("Its tests cannot be counted".to_owned());
    check(
        Basis { why_not, ..basis(CountedBy::ExitCode) },
        green,
        "Green by exit code, not counted",
        &["Its tests cannot be counted."],
    );
}

#[test]
fn what_is_committed_otherwise_is_named() {
    check(
        Basis { committed_otherwise: files(&["tests/test_calc.py"]), ..basis(CountedBy::Tests) },
        Outcome::GreenByExitCode,
        "Green, but committed otherwise than it was checked",
        &["Committed otherwise than it was checked: tests/test_calc.py."],
    );
}

#[test]
fn a_judge_that_the_work_changed_is_named() {
    let changed = files(&["verify.sh", "lib/assert.sh", "ok. Proved"]);
    check(
        Basis { changed, ..basis(CountedBy::Tests) },
        Outcome::GreenByExitCode,
        "Green by exit code, judges changed",
        &["The work changed what judged it: lib/assert.sh, “ok. Proved”, verify.sh."],
    );
}

#[test]
fn a_judge_that_is_only_new_or_gone_is_called_that() {
    let (new, gone) = (files(&["dd/.gitignore"]), files(&[".gitignore"]));
    let changed = files(&[".gitignore", "dd/.gitignore"]);
    let said = |changed: Vec<String>| {
        let basis = Basis { changed, new: new.clone(), gone: gone.clone(), ..basis(CountedBy::Tests) };
        changed_judges(&[result(true, Some(basis))]).unwrap()
    };
    assert_eq!(
        said(changed.clone()),
        "What may have judged it is new or gone: .gitignore (gone), dd/.gitignore (new)."
    );
    let with_another = [changed, files(&["run.sh"])].concat();
    assert_eq!(said(with_another), "The work changed what judged it: .gitignore (gone), dd/.gitignore (new), run.sh.");
}

#[test]
fn who_watched_a_command_says_how_to_declare_what_it_is_about() {
    let changed = Basis { changed: files(&["calc.py"]), ..basis(CountedBy::ExitCode) };
    check(
        changed.clone(),
        Outcome::GreenByExitCode,
        "Green by exit code, judges changed",
        &["The work changed what judged it: calc.py."],
    );
    let says = |basis: Basis| super::to_be_declared(&[result(true, Some(basis))]).map(|detail| detail.lines.join(" "));
    let said = says(changed).unwrap();
    // Each as `exits::declared_by` has it: words alone declare only what a model plans.
    for way in [
        "in a plan's `changes`,",
        "by its name in the command that you ask for (run `",
        "where a model plans, by its name in your words",
        "What the check itself names or opens first is declared only by the `changes` of a plan that you wrote.",
    ] {
        assert!(said.contains(way), "{said}");
    }
    assert_eq!(says(Basis { changed: files(&["calc.py"]), ..basis(CountedBy::Tests) }), None);
    assert_eq!(says(basis(CountedBy::ExitCode)), None);
}

#[test]
fn what_was_taken_for_the_code_under_test_is_named() {
    let basis = Basis { tested: files(&["src/calc.py", "lib/support.py"]), ..basis(CountedBy::Tests) };
    let after = [result(true, Some(basis))];
    assert_eq!(super::tested(&after).unwrap().lines, ["lib/support.py", "src/calc.py"]);
    assert_eq!(super::tested_said(&after).unwrap(), "Taken for the code under test: lib/support.py, src/calc.py.");
}

#[test]
fn what_stood_beside_and_who_declared_what_is_said_of_a_proof_too() {
    let declared = |by| Some(Declaration { by, files: files(&["tides.sh"]) });
    let proved = "Proved: red before, green after";
    check(
        Basis { declared: declared(DeclaredBy::Owner), beside: files(&["node_modules"]), ..basis(CountedBy::Tests) },
        Outcome::Proved,
        proved,
        &[RUNNER, "By your own words the work is about: tides.sh.", "Beside the change, not applied: node_modules."],
    );
    check(
        Basis { declared: declared(DeclaredBy::Model), ..basis(CountedBy::Tests) },
        Outcome::Proved,
        proved,
        &[RUNNER, "By the model's plan the work is about: tides.sh."],
    );
    check(
        Basis { declared: declared(DeclaredBy::Silas), ..basis(CountedBy::Tests) },
        Outcome::Proved,
        proved,
        &[RUNNER, "By Silas's own plan the work is about: tides.sh."],
    );
}

/// A proof is read elsewhere too, by somebody whose words they are not.
#[test]
fn whose_words_they_are_depends_on_who_reads() {
    let declared = |by| Some(Declaration { by, files: files(&["tides.sh"]) });
    let after = |by| [result(true, Some(Basis { declared: declared(by), ..basis(CountedBy::Tests) }))];
    let said = |reader, by| super::sentences(&after(by), reader);
    assert_eq!(said(Reader::Owner, DeclaredBy::Owner), ["By your own words the work is about: tides.sh."]);
    assert_eq!(said(Reader::Anybody, DeclaredBy::Owner), ["By the owner's own words the work is about: tides.sh."]);
    assert_eq!(said(Reader::Anybody, DeclaredBy::Model), ["By the model's plan the work is about: tides.sh."]);
    let seen = super::seen_as_changed(&after(DeclaredBy::Owner));
    assert_eq!(seen.as_deref(), Some("They saw as the work left it: tides.sh."));
    assert_eq!(super::seen_as_changed(&[result(true, Some(basis(CountedBy::Tests)))]), None);
}

/// What is known of the checks stands apart from what is not ruled out.
#[test]
fn a_fact_is_not_something_that_is_not_ruled_out() {
    let declared = Some(Declaration { by: DeclaredBy::Owner, files: files(&["tides.sh"]) });
    let (before, after) = ([result(false, None)], [result(true, Some(Basis { declared, ..basis(CountedBy::Tests) }))]);
    assert_eq!(not_ruled_out(Outcome::Proved, &before, &after), [RUNNER]);
    let known = known(Outcome::Proved, &before, &after, Reader::Anybody);
    assert_eq!(known, ["By the owner's own words the work is about: tides.sh."]);
}

#[test]
fn more_files_than_a_sentence_holds_are_counted() {
    let many: Vec<String> = (1..=9).map(|n| format!("t/{n}.t")).collect();
    let after = [result(true, Some(Basis { changed: many, ..basis(CountedBy::Tests) }))];
    let said = changed_judges(&after).unwrap();
    assert_eq!(said, "The work changed what judged it: t/1.t, t/2.t, t/3.t, t/4.t, t/5.t, 4 more.");
}
