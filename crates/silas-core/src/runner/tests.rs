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
fn settings_and_a_limit_may_stand_before_it() {
    check("env python3 -m pytest -q", Runner::Pytest, &["-q"]);
    let set = shell("TZ=UTC env PYTHONPATH=src timeout 60 /usr/bin/env CI=1 go test ./...").unwrap();
    let names: Vec<&str> = set.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        (names, set.within, set.runner),
        (vec!["TZ", "PYTHONPATH", "CI"], vec!["timeout".to_owned(), "60".to_owned()], Runner::Go)
    );
    for script in [
        "env -i pytest",
        "env X=1 pytest",
        "env PATH=. pytest",
        "timeout -s KILL 5 pytest",
        "timeout pytest",
        "./timeout 5 pytest",
    ] {
        assert_eq!(shell(script), None, "{script}");
    }
}

#[test]
fn a_script_says_who_runs_it() {
    assert_eq!(shell("pytest -q").unwrap().script.as_deref(), Some("pytest"));
    assert_eq!(shell("/usr/bin/pytest-3").unwrap().script.as_deref(), Some("/usr/bin/pytest-3"));
    assert_eq!(shell(".venv/bin/pytest").unwrap().script, None);
    assert_eq!(interpreter("#!/usr/bin/python3 -s\nimport sys\n"), Some("/usr/bin/python3"));
    for script in ["#!/usr/bin/env python3\n", "#!/bin/sh\n", "#!python3\n", "import sys\n", ""] {
        assert_eq!(interpreter(script), None, "{script}");
    }
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
        "../venv/bin/python -m pytest",
        ".venv/bin/python check.py",
        "cargo test a*",
        "pytest ~/tests",
        "prove -P Fake t",
        "prove --exec sh t",
        "/srv/bin/python3 -m pytest",
        "/usr/bin/../../srv/python3 -m pytest",
        "python3 -O -m pytest",
        "python3 -c 'import pytest' -m pytest",
        "LD_PRELOAD=./x.so pytest",
        "PYTEST_ADDOPTS=--co pytest",
        "PATH=. pytest",
        "NODE_OPTIONS=--require=./x.js node --test",
        "pytest $ARGS",
        "sh -c pytest",
        "node --require ./x.js --test",
        "node --env-file=.env --require ./x.js --test",
        "node --env-file= --test",
        "node test.js",
        "npm --prefix ../a test",
        "npm --prefix /a test",
        "npm --prefix a --prefix b test",
        "npm test --prefix",
        "npm --script-shell ./x test",
        "npm --prefix a run testing",
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

#[test]
fn environments_and_patterns_are_known() {
    for script in [".venv/bin/python -m unittest -v", "./env/bin/pytest", "cd sub && venv/bin/python3.11 -m pytest a"] {
        let found = shell(script).unwrap_or_else(|| panic!("{script}"));
        let environment = found.environment.unwrap();
        assert!(found.program.starts_with(&format!("{environment}/bin/python")), "{script}");
    }
    let found = shell("node --test checks/*.mjs").unwrap();
    assert_eq!((found.runner, found.has_patterns, found.args), (Runner::Node, true, vec!["checks/*.mjs".to_owned()]));
    check("prove -lr t", Runner::Prove, &["-lr", "t"]);
    check("npx jest --ci", Runner::Jest, &["--ci"]);
    check("mocha", Runner::Mocha, &[]);
    let scripted = |script: &str| npm_script(&format!("{{\"scripts\":{{\"test\":\"{script}\"}}}}"));
    for (script, runner) in [("jest", Runner::Jest), ("vitest run", Runner::Vitest), ("mocha spec", Runner::Mocha)] {
        let found = scripted(script).unwrap();
        assert_eq!((found.runner, found.environment.as_deref()), (runner, Some(NODE_MODULES)));
    }
    assert!(scripted("jest || true").is_none() && scripted("python3 -m pytest").is_none());
}

#[test]
fn files_of_variables_and_directories_of_npm_are_known() {
    let found = shell("node --env-file=.env --no-warnings --test --env-file-if-exists=a/b test/").unwrap();
    assert_eq!((found.runner, found.options.len(), found.args.len()), (Runner::Node, 2, 2));
    assert_eq!(found.env_files().collect::<Vec<_>>(), [".env", "a/b"]);
    let scripted = npm_script(r#"{"scripts":{"test":"node --env-file=.env --test"}}"#).unwrap();
    assert_eq!(scripted.env_files().collect::<Vec<_>>(), [".env"]);
    for (script, cwd, args) in [
        ("npm test --prefix packages/site", "packages/site", &[][..]),
        ("npm --prefix packages/site test", "packages/site", &[]),
        ("npm --prefix=site run test -- --only", "site", &["--only"]),
        ("npm -C site t", "site", &[]),
        ("cd packages && npm --silent --prefix site test", "packages/site", &[]),
    ] {
        let found = shell(script).unwrap_or_else(|| panic!("{script}"));
        assert_eq!((found.runner, found.cwd.as_deref()), (Runner::Npm, Some(cwd)), "{script}");
        assert_eq!(found.args, args, "{script}");
    }
}
