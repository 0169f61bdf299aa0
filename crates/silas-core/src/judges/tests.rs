//! Which files judge.

use super::*;
use crate::check::Expectation;

fn path(text: &str) -> RelPath {
    RelPath::from_bytes(text.as_bytes()).unwrap()
}

fn judges(script: &str) -> Judges {
    let check = Check {
        name: "c".to_owned(),
        run: Command::Shell(script.to_owned()),
        expect: Expectation::ExitCode(0),
        timeout: 60,
        network: false,
        protected: true,
    };
    Judges::of(&check, "/home/me/p")
}

#[track_caller]
fn check(script: &str, judged: &[&str], free: &[&str]) {
    let judges = judges(script);
    for name in judged {
        assert_eq!(judges.role_of(&path(name), false), Some(Role::Named), "{script}: {name}");
    }
    for name in free {
        assert_eq!(judges.role_of(&path(name), false), None, "{script}: {name}");
    }
}

#[test]
fn names_that_everybody_knows() {
    let cases: [(&str, Option<Role>); 50] = [
        ("tests/test_a.py", Some(Role::Test)),
        ("tests/helpers.py", Some(Role::Test)),
        ("pkg/test_a.py", Some(Role::Test)),
        ("pkg/a_test.go", Some(Role::Test)),
        ("src/foo/tests.rs", Some(Role::Test)),
        ("src/a.test.tsx", Some(Role::Test)),
        ("src/a.spec.js", Some(Role::Test)),
        ("a-test.mjs", Some(Role::Test)),
        ("test.js", Some(Role::Test)),
        ("src/main/java/FooTest.java", Some(Role::Test)),
        ("src/__snapshots__/a.txt", Some(Role::Test)),
        ("tests", Some(Role::Test)),
        ("conftest.py", Some(Role::Configuration)),
        ("a/b/conftest.py", Some(Role::Configuration)),
        ("pytest.ini", Some(Role::Configuration)),
        ("setup.cfg", Some(Role::Configuration)),
        ("tox.ini", Some(Role::Configuration)),
        ("pyproject.toml", Some(Role::Configuration)),
        (".cargo/config.toml", Some(Role::Configuration)),
        (".npmrc", Some(Role::Configuration)),
        ("jest.config.ts", Some(Role::Configuration)),
        ("Cargo.toml", Some(Role::BuildScript)),
        ("sub/build.rs", Some(Role::BuildScript)),
        ("rust-toolchain.toml", Some(Role::BuildScript)),
        ("package.json", Some(Role::BuildScript)),
        ("Makefile", Some(Role::BuildScript)),
        ("node_modules/jest/bin.js", Some(Role::Built)),
        ("target/debug/deps/a-1", Some(Role::Built)),
        ("pkg/__pycache__/a.cpython-311.pyc", Some(Role::Built)),
        ("calc.pyc", Some(Role::Built)),
        ("main.o", Some(Role::Built)),
        ("sitecustomize.py", Some(Role::ImportHook)),
        ("usercustomize/__init__.py", Some(Role::ImportHook)),
        ("evil.pth", Some(Role::ImportHook)),
        ("evil.egg-info/entry_points.txt", Some(Role::ImportHook)),
        ("pytest.py", Some(Role::ImportHook)),
        ("_pytest/__init__.py", Some(Role::ImportHook)),
        ("unittest/case.py", Some(Role::ImportHook)),
        ("argparse.py", Some(Role::ImportHook)),
        ("json.cpython-311-x86_64-linux-gnu.so", Some(Role::ImportHook)),
        ("src/calc.py", None),
        ("src/lib.rs", None),
        ("pkg/types.py", None),
        ("types.ts", None),
        ("contest.py", None),
        ("latest.py", None),
        ("attest/a.py", None),
        ("README.md", None),
        ("os/kernel.c", None),
        ("out.txt", None),
    ];
    for (name, role) in cases {
        assert_eq!(role_of(&path(name)), role, "{name}");
    }
}

#[test]
fn what_a_command_runs_judges() {
    check("sh check.sh", &["check.sh", "sub/check.sh"], &["app.sh", "xcheck.sh"]);
    check("./verify --fast", &["verify"], &["app.txt"]);
    check("sh /home/me/p/ci/go.sh", &["ci/go.sh"], &["go.txt"]);
    check("cd ci && sh ../tools/./x.sh", &["tools/x.sh"], &[]);
    check("python3 -m checks.verify", &["checks/verify.py", "checks/__init__.py"], &["app.py"]);
    check("python3 -m unittest rules.Case", &["rules.py"], &["app.py"]);
    check("python3 -c \"exec(open('check.py').read())\"", &["check.py"], &["app.py"]);
    check("pytest a.py::test_x -c my.ini -p plug", &["a.py", "my.ini", "plug.py"], &["app.py"]);
    check("X=settings.toml app-check", &["settings.toml"], &["a.toml"]);
    check("if true; then sh check.sh; fi", &["check.sh"], &[]);
    check("PATH=.:$PATH pytest", &["pytest"], &[]);
    check("pytest @words.txt --config=other.ini", &["words.txt", "other.ini"], &[]);
    check("touch ran || sh x.sh", &["ran", "x.sh"], &[]);
}

#[test]
fn what_a_command_looks_at_does_not() {
    check("test -f out.txt && grep -q new app.txt", &[], &["out.txt", "app.txt"]);
    check("cat out.txt | sh check.sh", &["check.sh"], &["out.txt"]);
    check("[ \"$(cat out.txt)\" = ok ]", &[], &["out.txt"]);
    check("grep -f rules.txt out.txt", &["rules.txt", "out.txt"], &[]);
    check("./grep -q new app.txt", &["grep", "app.txt"], &[]);
}

#[test]
fn of_two_files_that_are_compared_the_new_one_is_free() {
    let judges = judges("diff expected.txt out.txt");
    assert_eq!(judges.role_of(&path("expected.txt"), false), Some(Role::Named));
    assert_eq!(judges.role_of(&path("out.txt"), true), None);
    assert_eq!(judges.role_of(&path("out.txt"), false), Some(Role::Named), "which of the two is meant is unknown");
}

#[test]
fn a_new_file_judges_like_an_old_one() {
    assert_eq!(judges("pytest").role_of(&path("conftest.py"), true), Some(Role::Configuration));
    assert_eq!(judges("sh check.sh").role_of(&path("check.sh"), true), Some(Role::Named));
}
