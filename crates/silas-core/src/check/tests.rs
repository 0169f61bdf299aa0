//! When a check has passed.

use super::*;

fn expect(json: &str) -> Expectation {
    serde_json::from_str(json).unwrap()
}

fn exited(code: i32, stdout: &str) -> Observed {
    Observed { ended: Ended::Exited(code), stdout: stdout.as_bytes().to_vec(), file_found: None }
}

#[test]
fn each_predicate() {
    let cases = [
        (r#"{"exit_code":0}"#, exited(0, ""), true),
        (r#"{"exit_code":0}"#, exited(1, ""), false),
        (r#"{"exit_code":2}"#, exited(2, ""), true),
        (r#"{"equals":"ok\n"}"#, exited(0, "ok\n"), true),
        (r#"{"equals":"ok"}"#, exited(0, "ok\n"), false),
        (r#"{"equals":""}"#, exited(0, ""), true),
        (r#"{"contains":"3 passed"}"#, exited(0, "13 passed"), true),
        (r#"{"contains":"x"}"#, exited(0, ""), false),
        (r#"{"regex":"^\\d+ passed$"}"#, exited(0, "13 passed"), true),
        (r#"{"regex":"^\\d+ passed$"}"#, exited(0, "13 passed\n"), false),
        (r#"{"output_lt":"0.5"}"#, exited(0, " 0.49\n"), true),
        (r#"{"output_lt":"0.5"}"#, exited(0, "0.50"), false),
        (r#"{"output_gt":"0.5"}"#, exited(0, "0.50001"), true),
        (r#"{"output_gt":"-1"}"#, exited(0, "-0.9"), true),
        (r#"{"output_gt":"0"}"#, exited(0, "many"), false),
        (r#"{"output_gt":"0"}"#, exited(0, ""), false),
        (r#"{"output_gt":"0"}"#, exited(0, "1e5"), false),
        (r#"{"output_gt":"0"}"#, exited(0, "inf"), false),
        (r#"{"not_empty":true}"#, exited(0, "x"), true),
        (r#"{"not_empty":true}"#, exited(0, " \n"), false),
    ];
    for (expectation, seen, passes) in cases {
        assert_eq!(expect(expectation).judge(&seen).0, passes, "{expectation} {seen:?}");
    }
}

#[test]
fn a_file_must_have_been_looked_for_and_found() {
    let wanted = expect(r#"{"file_exists":"out.txt"}"#);
    for (found, passes) in [(Some(true), true), (Some(false), false), (None, false)] {
        assert_eq!(wanted.judge(&Observed { file_found: found, ..exited(0, "") }).0, passes);
    }
}

#[test]
fn what_did_not_end_by_itself_never_passes() {
    let all = [
        r#"{"exit_code":0}"#,
        r#"{"exit_code":-9}"#,
        r#"{"equals":""}"#,
        r#"{"contains":""}"#,
        r#"{"regex":""}"#,
        r#"{"output_lt":"1"}"#,
        r#"{"file_exists":"a"}"#,
        r#"{"not_empty":true}"#,
    ];
    for expectation in all {
        for ended in [Ended::Signalled(9), Ended::TimedOut { after_secs: 60 }] {
            let seen = Observed { ended, stdout: b"0".to_vec(), file_found: Some(true) };
            assert!(!expect(expectation).judge(&seen).0, "{expectation}");
        }
    }
}

#[test]
fn constructs_of_other_regex_languages_are_named() {
    for (pattern, named) in [("a(?=b)", "(?="), ("(?<!x)y", "(?<!"), ("(?>a)", "(?>"), ("(?(1)a)", "(?(")] {
        assert!(Pattern::parse(pattern).unwrap_err().contains(named), "{pattern}");
    }
    for broken in ["(", "[", "a{2,1}", "\\1", "(?P=x)", "*", "(a{1000}){1000}"] {
        assert!(Pattern::parse(broken).is_err(), "{broken}");
    }
    assert!(Pattern::parse(&"\\pL".repeat(PATTERN_TEXT_MAX / 3 + 1)).unwrap_err().contains("at most 4096 bytes"));
    assert_eq!(Pattern::parse(" a ").unwrap().as_str(), " a ");
}

fn results(passed: &[bool]) -> Vec<CheckResult> {
    let result = |(n, passed): (usize, &bool)| CheckResult {
        name: n.to_string(),
        run: format!("test {n}"),
        passed: *passed,
        reason: String::new(),
        output: String::new(),
        exit_code: Some(0),
        took_ms: 0,
        protected: true,
        tests: None,
        asked: Vec::new(),
        basis: None,
    };
    passed.iter().enumerate().map(result).collect()
}

#[test]
fn what_two_runs_amount_to() {
    let cases: [(&[bool], &[bool], Outcome); 8] = [
        (&[], &[], Outcome::Unproven),
        (&[true], &[], Outcome::Unproven),
        (&[], &[true], Outcome::Failed),
        (&[true], &[true], Outcome::Guarded),
        (&[false], &[true], Outcome::Proved),
        (&[true, false], &[true, true], Outcome::Proved),
        (&[false, false], &[true, false], Outcome::Failed),
        (&[true], &[false], Outcome::Failed),
    ];
    for (before, after, outcome) in cases {
        assert_eq!(Outcome::of(&results(before), &results(after)), outcome, "{before:?} {after:?}");
    }
}

/// Results of earlier versions did not look at what judges a check that was green before, and stay what they were.
#[test]
fn what_stayed_green_by_changed_judges_proves_nothing() {
    let (before, mut after) = (results(&[true, false]), results(&[true, true]));
    let mut basis = Basis { changed: vec!["lint.sh".to_owned()], ..Basis::new(CountedBy::ExitCode) };
    after[0].basis = Some(basis.clone());
    assert_eq!(Outcome::of(&before, &after), Outcome::Proved);
    assert!(!serde_json::to_string(&basis).unwrap().contains("stayed_green"), "as it was written then");
    basis.stayed_green = true;
    after[0].basis = Some(basis);
    assert_eq!(Outcome::of(&before, &after), Outcome::GreenByExitCode);
}

#[test]
fn a_text_is_for_the_shell_and_a_list_is_run_as_it_is() {
    let shell: Command = serde_json::from_str(r#""a | b""#).unwrap();
    assert_eq!(shell.argv(), ["/bin/sh", "-c", "a | b"]);
    let list: Command = serde_json::from_str(r#"["a","| b"]"#).unwrap();
    assert_eq!((list.argv(), list.words()), (vec!["a".to_owned(), "| b".to_owned()], "a '| b'".to_owned()));
    assert!(serde_json::from_str::<Command>(r#"{"sh":"a"}"#).is_err());
}

#[test]
fn lists_that_differ_read_differently() {
    for (list, words) in [
        (r#"["rm","a b"]"#, "rm 'a b'"),
        (r#"["rm","a","b"]"#, "rm a b"),
        (r#"["rm",""]"#, "rm ''"),
        (r#"["echo","it's","'a b'"]"#, r"echo 'it'\''s' ''\''a b'\'''"),
        (r#"["python3","-m","unittest","tests/test_a.py"]"#, "python3 -m unittest tests/test_a.py"),
    ] {
        assert_eq!(serde_json::from_str::<Command>(list).unwrap().words(), words);
    }
}

#[test]
fn what_a_proof_stands_on() {
    let (red, green) = (results(&[false, true]), results(&[true, true]));
    assert_eq!(Standing::of(&red, &green), Standing::Shown);
    let tests = Tests { runner: crate::runner::Runner::Pytest, passed: 2, failed: 0, skipped: 0 };
    let mut counted = green.clone();
    counted[1].tests = Some(tests.clone());
    assert_eq!(Standing::of(&red, &counted), Standing::Shown, "a guard that counts tests proves nothing");
    counted[0].tests = Some(tests.clone());
    assert_eq!(Standing::of(&red, &counted), Standing::Tests(vec![tests]));
    counted[1].protected = false;
    assert_eq!(Standing::of(&red, &counted), Standing::Open);
}

#[test]
fn results_and_plans_of_earlier_versions_read_as_what_they_were() {
    let text = r#"{"name":"a","passed":true,"reason":"","output":"","exit_code":0,"took_ms":1}"#;
    let old: CheckResult = serde_json::from_str(text).unwrap();
    assert!(!old.protected && old.tests.is_none(), "nothing was protected then");
    assert_eq!(serde_json::to_string(&old).unwrap(), text, "and a card that shows it hashes as it did");
    let plan = r#"{"name":"a","run":"true","expect":{"exit_code":0},"timeout":60,"network":false}"#;
    let check: Check = serde_json::from_str(plan).unwrap();
    assert!(check.protected);
    assert_eq!(serde_json::to_string(&check).unwrap(), plan, "and hashes as it did");
    let open = plan.replace("false}", "false,\"protected\":false}");
    let check: Check = serde_json::from_str(&open).unwrap();
    assert!(!check.protected);
    assert_eq!(serde_json::to_string(&check).unwrap(), open);
}
