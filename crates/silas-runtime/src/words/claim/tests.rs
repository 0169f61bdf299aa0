//! What a badge says.

use super::*;
use silas_core::runner::Runner;
use silas_core::testlog::Tests;

fn result(passed: bool, protected: bool, runner: Option<Runner>) -> CheckResult {
    CheckResult {
        name: "a".to_owned(),
        run: "make a".to_owned(),
        passed,
        reason: String::new(),
        output: String::new(),
        exit_code: Some(0),
        took_ms: 0,
        protected,
        tests: runner.map(|runner| Tests { runner, passed: 3, failed: 0, skipped: 0 }),
        asked: Vec::new(),
        basis: None,
    }
}

#[track_caller]
fn check(protected: bool, runner: Option<Runner>, says: &str, caveat: &[&str]) {
    let (before, after) = ([result(false, protected, None)], [result(true, protected, runner)]);
    assert_eq!(claim(Outcome::Proved, &before, &after), format!("Proved: red before, green after{says}"));
    let found = caveats(Outcome::Proved, &before, &after);
    assert_eq!(found.len(), caveat.len(), "{found:?}");
    for (found, part) in found.iter().zip(caveat) {
        assert!(found.contains(part), "{found}");
    }
}

#[test]
fn a_proof_is_one_line_and_says_what_it_leaves_open() {
    check(true, Some(Runner::Pytest), "", &["Faked test results"]);
    check(true, Some(Runner::Cargo), "", &["Faked test results", "contain their own tests"]);
    check(true, Some(Runner::Node), "", &["Faked test results"]);
    check(true, None, "", &["ends too early"]);
    check(false, Some(Runner::Pytest), ", checks not protected", &["change their own checks"]);
}

#[test]
fn what_is_no_proof_says_so() {
    let green = [result(true, true, Some(Runner::Pytest))];
    assert_eq!(claim(Outcome::Guarded, &green, &green), "Stayed green: green before and after");
    let open = [result(true, false, None)];
    assert_eq!(claim(Outcome::Guarded, &open, &open), "Stayed green, checks not protected");
    assert_eq!(claim(Outcome::Unproven, &[], &[]), "Unproven: there was no check");
    let caveats = caveats(Outcome::Guarded, &green, &green);
    assert_eq!(caveats, ["That nothing broke is what they show; they passed before, too."]);
}
