//! Which commands are one run of a known runner.

use super::*;

fn shell(script: &str) -> Option<Invocation> {
    known(&Command::Shell(script.to_owned()))
}

#[track_caller]
fn check(script: &str, runner: Runner, args: &[&str]) {
    let found = shell(script).unwrap_or_else(|| panic!("{script}"));
    assert_eq!((found.runner, found.args.iter().map(String::as_str).collect::<Vec<_>>()), (runner, args.to_vec()));
    assert!(!found.program.contains('/'));
}

#[test]
fn plain_runs_are_known() {
    check("pytest", Runner::Pytest, &[]);
    check("pytest -q tests/a.py::test_b", Runner::Pytest, &["-q", "tests/a.py::test_b"]);
    check("python3 -m pytest -k 'a or b'", Runner::Pytest, &["-k", "a or b"]);
    check("python3.11 -B -m unittest discover", Runner::Unittest, &["discover"]);
    check("cargo test --workspace -- --nocapture", Runner::Cargo, &["--workspace", "--", "--nocapture"]);
    check("go test ./...", Runner::Go, &["./..."]);
    check("node --test test/", Runner::Node, &["test/"]);
    check("npm test", Runner::Npm, &[]);
    check("npm run test -- --only", Runner::Npm, &["--only"]);
    let there = shell("cd a && cd b && PYTHONPATH=src TZ=UTC pytest").unwrap();
    assert_eq!(there.cwd.as_deref(), Some("a/b"));
    assert_eq!(there.env, [("PYTHONPATH".to_owned(), "src".to_owned()), ("TZ".to_owned(), "UTC".to_owned())]);
    assert_eq!(shell("/usr/bin/python3 -m pytest").unwrap().program, "/usr/bin/python3");
    assert_eq!(shell("/usr/bin/pytest-3 -q").unwrap().program, "/usr/bin/python3");
    let listed = known(&Command::Argv(vec!["python3".to_owned(), "-m".to_owned(), "pytest".to_owned()])).unwrap();
    assert!(listed.is_module && !shell("pytest").unwrap().is_module);
}

#[test]
fn whatever_could_come_between_is_not() {
    for script in [
        "pytest || true",
        "pytest; true",
        "pytest | tail -1",
        "pytest > log",
        "true && pytest",
        "cd .. && pytest",
        "cd /tmp && pytest",
        "./pytest",
        ".venv/bin/python -m pytest",
        "/srv/bin/python3 -m pytest",
        ".venv/bin/python3 -m pytest",
        "/usr/bin/../../srv/python3 -m pytest",
        "python3 -O -m pytest",
        "python3 -c 'import pytest' -m pytest",
        "LD_PRELOAD=./x.so pytest",
        "PYTEST_ADDOPTS=--co pytest",
        "PATH=. pytest",
        "NODE_OPTIONS=--require=./x.js node --test",
        "pytest $ARGS",
        "pytest tests/*",
        "sh -c pytest",
        "node --require ./x.js --test",
        "npm run testing",
        "cargo run",
        "make test",
        "python3 tests/run.py",
    ] {
        assert_eq!(shell(script), None, "{script}");
    }
}

#[test]
fn npm_counts_tests_only_where_node_does() {
    let script = |text: &str| npm_script(&format!(r#"{{"scripts":{text}}}"#)).map(|found| found.args);
    assert_eq!(script(r#"{"test":"node --test test"}"#), Some(vec!["test".to_owned()]));
    for other in [
        r#"{"test":"jest"}"#,
        r#"{"test":"true"}"#,
        r#"{"test":"node --test || true"}"#,
        r#"{"test":"node --test","pretest":"sh evil.sh"}"#,
        r#"{"test":"node --test","posttest":"true"}"#,
        r#"{"test":7}"#,
        "{}",
    ] {
        assert_eq!(script(other), None, "{other}");
    }
    assert_eq!(npm_script("no json"), None);
}
