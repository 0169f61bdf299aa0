//! What runners' reports are worth.

use super::*;

fn log(tests: &[(&str, Verdict)]) -> TestLog {
    let tests = tests.iter().map(|(name, verdict)| ((*name).to_owned(), *verdict)).collect();
    TestLog { tests, ..TestLog::default() }
}

const CARGO: &str = "
running 3 tests
test tests::adds ... ok
test tests::later ... ignored
test tests::subtracts - should panic ... FAILED

failures:

---- tests::subtracts stdout ----
test deceives ... ok

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests calc

running 1 test
test src/lib.rs - add (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s
";

#[test]
fn cargo_is_read_section_by_section() {
    // A line among the failures that looks like a test is one too many, and that is noticed.
    assert!(TestLog::from_cargo(CARGO, "").unwrap_err().contains("More tests"));
    let honest = CARGO.replace("test deceives ... ok\n", "");
    let expect = [
        ("src/lib.rs - add", Verdict::Passed),
        ("tests::adds", Verdict::Passed),
        ("tests::later", Verdict::Skipped),
        ("tests::subtracts - should panic", Verdict::Failed),
    ];
    assert_eq!(TestLog::from_cargo(&honest, ""), Ok(log(&expect)));
}

#[test]
fn cargo_that_left_early_is_no_evidence() {
    for cut in ["running 1 test\n", "running 2 tests\ntest a ... ok\n", "running 1 test\nrunning 1 test\n"] {
        assert!(TestLog::from_cargo(cut, "").unwrap_err().contains("before they were through"), "{cut}");
    }
    let lies = "running 2 tests\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n";
    assert!(TestLog::from_cargo(lies, "").unwrap_err().contains("announced"));
    assert!(TestLog::from_cargo("test result: ok. 5 passed; 0 failed;\n", "").is_err());
    assert_eq!(TestLog::from_cargo("ok\n", ""), Ok(TestLog::default()));
}

#[test]
fn terse_output_is_counted_without_names() {
    let terse = "running 2 tests\n.F\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let read = TestLog::from_cargo(terse, "").unwrap().summary(Runner::Cargo);
    assert_eq!((read.passed, read.failed, read.skipped), (1, 1, 0));
}

#[test]
fn go_events_are_tests_and_text() {
    let events = r#"{"Action":"start","Package":"ex/calc"}
{"Action":"run","Package":"ex/calc","Test":"TestAdd"}
{"Action":"output","Package":"ex/calc","Test":"TestAdd","Output":"=== RUN   TestAdd\n"}
{"Action":"pass","Package":"ex/calc","Test":"TestAdd","Elapsed":0}
{"Action":"run","Package":"ex/calc","Test":"TestLater"}
{"Action":"skip","Package":"ex/calc","Test":"TestLater","Elapsed":0}
{"Action":"output","Package":"ex/calc","Output":"ok  \tex/calc\t0.002s\n"}
{"Action":"pass","Package":"ex/calc","Elapsed":0.002}
"#;
    let (read, text) = TestLog::from_go(events).unwrap();
    assert_eq!(read, log(&[("ex/calc.TestAdd", Verdict::Passed), ("ex/calc.TestLater", Verdict::Skipped)]));
    assert_eq!(text, "=== RUN   TestAdd\nok  \tex/calc\t0.002s\n");
    // A TestMain that ends at once: the package passes, and no test ran.
    let (empty, _) = TestLog::from_go("{\"Action\":\"pass\",\"Package\":\"ex/calc\"}\n").unwrap();
    assert_eq!(empty.agrees_with(0), Err("No test ran".to_owned()));
    let cut = "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"pass\",\"Package\":\"p\"}\n";
    assert!(TestLog::from_go(cut).is_err());
}

#[test]
fn a_report_needs_its_key_and_its_exit_code() {
    let report =
        |key: &str, exit: i32| format!(r#"{{"key":"{key}","exit":{exit},"tests":[["a","passed"],["a","failed"]]}}"#);
    let read = TestLog::from_report(&report("k", 1), "k", 1).unwrap();
    assert_eq!(read, log(&[("a", Verdict::Passed), ("a (2)", Verdict::Failed)]));
    assert!(TestLog::from_report(&report("other", 1), "k", 1).unwrap_err().contains("not written by the runner"));
    assert!(TestLog::from_report(&report("k", 1), "k", 0).unwrap_err().contains("exit code 0"));
    assert!(TestLog::from_report("", "k", 0).is_err());
    assert!(TestLog::from_report(r#"{"key":"k","problem":"No."}"#, "k", 0).unwrap_err().contains("No."));
}

#[test]
fn a_verdict_needs_tests_that_agree_with_it() {
    let ran = log(&[("a", Verdict::Passed), ("b", Verdict::Failed)]);
    assert!(ran.agrees_with(1).is_ok());
    assert!(ran.agrees_with(0).is_err());
    assert!(log(&[("a", Verdict::Skipped)]).agrees_with(0).is_err());
    assert!(log(&[]).agrees_with(0).is_err());
}

#[test]
fn no_test_may_vanish() {
    let before = log(&[("a", Verdict::Passed), ("b", Verdict::Failed), ("c", Verdict::Skipped)]);
    assert!(log(&[("a", Verdict::Passed), ("b", Verdict::Passed), ("d", Verdict::Passed)]).still_runs(&before).is_ok());
    let skipped = log(&[("a", Verdict::Passed), ("b", Verdict::Skipped)]).still_runs(&before);
    assert_eq!(skipped, Err("Tests that ran before did not run again: b".to_owned()));
    assert!(log(&[("b", Verdict::Passed)]).still_runs(&before).unwrap_err().ends_with(": a"));
    let broken = log(&[("!unittest.loader._FailedTest.a", Verdict::Failed)]);
    assert!(log(&[("a", Verdict::Passed)]).still_runs(&broken).is_ok(), "what could not be loaded was no test");
}

#[test]
fn no_test_may_be_skipped_before_anybody_has_heard_of_it() {
    let unloadable = log(&[("!unittest.loader._FailedTest.a", Verdict::Failed)]);
    let after = log(&[("a", Verdict::Passed), ("b", Verdict::Skipped)]);
    let because = Err("Tests that could not run before are skipped now: b".to_owned());
    assert_eq!(after.skips_none_unheard_of(Some(&unloadable)), because);
    assert_eq!(after.skips_none_unheard_of(None), because);
    let known = log(&[("a", Verdict::Failed), ("b", Verdict::Skipped)]);
    assert_eq!(after.skips_none_unheard_of(Some(&known)), Ok(()));
}

#[test]
fn what_speaks_tap_is_counted() {
    let log = |text: &str| TestLog::from_tap(text).expect("TAP").expect("it adds up");
    let before =
        log("TAP version 13\n1..3\nok 1 - zero\nnot ok 2 - adds\n  ---\n  got: -1\n  ...\nok 3 - rounds # SKIP no\n");
    let after = log("ok 1 - zero\n# a remark\nok 2 - adds\nok 3 - rounds # skip no\n1..3\n");
    let count = |log: &TestLog| (log.summary(Runner::Tap).passed, log.summary(Runner::Tap).failed);
    assert_eq!((count(&before), count(&after)), ((1, 1), (2, 0)));
    assert_eq!(after.is_green_with_all_of(&before), Ok(()));
    assert!(log("1..2\nok 1 - zero\nok 2 - subtracts\n").is_green_with_all_of(&before).is_err(), "other tests");
    for (text, because) in [
        ("1..2\nok 1 - zero\n", "2 tests were announced and 1 ran"),
        ("1..1\nok 1\n1..1\n", "more than once"),
        ("1..2\nok 1\nok 3\n", "numbered in order"),
        ("1..2\nok 1\nBail out! no disk\n", "It gave up: no disk"),
    ] {
        assert!(TestLog::from_tap(text).unwrap().unwrap_err().contains(because), "{text}");
    }
    for text in ["", "all good\n", "1..3\n", "ok then\n", "okay 1\n1..1\n"] {
        assert!(TestLog::from_tap(text).is_none(), "{text}");
    }
}

#[test]
fn what_was_collected_is_known_by_its_path() {
    let stderr = "   Compiling calc v0.1.0\n     Running unittests src/lib.rs (target/debug/deps/calc-1)\n     Running checks/adds.rs (target/debug/deps/adds-1)\n";
    let log =
        TestLog::from_cargo("\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", stderr).unwrap();
    assert!(log.collected("/w/checks/adds.rs") && log.collected("/w/checks/common.rs"));
    assert!(!log.collected("/w/src/lib.rs") && !log.collected("/w/adds.rs"));
}

/// What is printed without an end of line swallows the line that somebody else prints next.
#[test]
fn a_failure_inside_another_line_is_seen() {
    let read = |text: &str| TestLog::from_tap(text).unwrap();
    for hidden in [
        "1..1\nok 1 - greets\n# not ok 1 - greets\n",
        "1..1\nok 1 - greets # not ok 1 - greets\n",
        "1..1\nok 1 - greets\nsomethingnot ok 1 - greets\n",
        "1..1\nok 1 - greets\n    not ok 1 - greets\n",
        "1..1\nok 1 - greets\n\0\0\0not ok 1 - greets\n",
    ] {
        assert_eq!(read(hidden).unwrap_err(), "A test that failed is hidden in a line", "{hidden:?}");
    }
    for told in [
        "1..1\nok 1 - greets\n    not ok 1 - later # TODO\n",
        "1..2\nok 1 - greets\nnot ok 2 - later # TODO is not done\n",
        "1..1\nnot ok 1 - greets\n# it was not ok at all\n    not ok 1 - a part\n",
    ] {
        assert!(read(told).is_ok(), "{told:?}");
    }
}

/// A sub-test that comes from the code under test can be taken away with it.
#[test]
fn sub_tests_have_names() {
    let log = |text: &str| TestLog::from_tap(text).expect("TAP").expect("it adds up");
    let whole =
        "1..2\n    # Subtest: all\n        ok 1 - deep\n    ok 1 - five\n    ok 2 - six\n    1..2\nok 1 - all\nok 2\n";
    let before = log(&whole.replace("ok 2 - six", "not ok 2 - six").replace("ok 1 - all", "not ok 1 - all"));
    assert_eq!(log(whole).is_green_with_all_of(&before), Ok(()));
    let names: Vec<&str> = before.tests.keys().map(String::as_str).collect();
    assert_eq!(names, ["1 all", "1 all > 1 five", "1 all > 1 five > 1 deep", "1 all > 2 six", "2 "]);
    let fewer = log(&whole.replace("    ok 2 - six\n", ""));
    assert!(fewer.is_green_with_all_of(&before).is_err());
    let prose = log("1..1\n  ok in 3 ms\nok 1 - all\n    ok - last\n");
    assert_eq!(prose.tests.keys().map(String::as_str).collect::<Vec<_>>(), ["1 all", "> last"]);
}
