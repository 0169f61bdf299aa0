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

#[test]
fn tests_in_sources_are_told_from_the_rest() {
    let source = "//! Adds.\n\n/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(1, 2), 3);\n/// ```\npub fn add(a: i32, b: i32) -> i32 {\n    a - b // {\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3, \"}}\");\n    }\n}\n";
    let tests = rust_tests(source);
    assert_eq!(rust_tests(&source.replace("a - b", "a + b")), tests, "only what is tested changed");
    let longer =
        source.replace("pub fn add", "/// More words.\nfn other<'a>(x: &'a str) -> char { '{' }\n\npub fn add");
    assert_eq!(rust_tests(&longer), tests.replace(" ```\n# [cfg", " ```\n More words.\n# [cfg"));
    for cheat in [
        ("assert_eq!(super::add(1, 2), 3, \"}}\");", ""),
        ("assert_eq!(calc::add(1, 2), 3);", ""),
        ("#[test]\n", "#[test]\n    #[ignore]\n"),
        ("#[cfg(test)]", "#[cfg(never)]"),
        ("pub fn add", "#[cfg(not(test))]\npub fn add"),
        ("a - b", "if cfg!(test) { 3 } else { a - b }"),
    ] {
        assert!(source.contains(cheat.0), "{cheat:?}");
        assert_ne!(rust_tests(&source.replace(cheat.0, cheat.1)), tests, "{cheat:?}");
    }
}

/// Brackets, semicolons and macros are where the language has them, not where a line ends.
#[test]
fn what_tests_are_made_of_is_told_from_the_rest() {
    let code = "pub fn double(a: i32) -> i32 { a + 1 }\nimpl Of<{ 3 }> for [i32; 3] { fn of() {} }\nstruct S<T = i32> { t: T }\n";
    for (tests, from, to) in [
        ("t!(adds, add(1, 2) == 3);", "add(1, 2) == 3", "1 < 2"),
        ("macro_rules! t { () => { #[test] fn a() { b() } } }", "b()", "c()"),
        ("#[cfg(test)]\nconst WANT: [i32; 3] = [2, 4, 6];", "4, 6", "3, 4"),
        ("#[cfg(test)]\nstatic CASES: &[Case] = &[Case { n: 1 }, Case { n: 2 }];", "n: 2", "n: 3"),
        ("#[cfg(test)]\nconst CASE: Case = Case { n: 1 };", "n: 1", "n: 2"),
        ("#[cfg(test)]\nimpl Of<{ 3 }> for X { fn want() -> i32 { 4 } }", "4", "3"),
        ("mod inner { t!(adds, 4); }", "4", "3"),
        ("crate::t!(adds, 4);", "4", "3"),
        ("#[cfg(test)]\npub(crate) const fn want() -> i32 { 4 }", "4", "3"),
        ("fn f() {}", "fn", "macro_rules! assert_eq { () => {} }\nfn"),
        ("fn f() {}", "fn", "use crate::mine as assert_eq;\nfn"),
        ("fn f() -> i32 { 4 }", "4", "if cfg!(test) { 4 } else { 5 }"),
        ("fn f() -> i32 { 4 }", "4", "#[cfg(test)] return 3; 4"),
        ("fn f() {}", "fn", "/// ```\n/// f();\n/// ```\nfn"),
        ("#![cfg_attr(test, no_main)]", "no_main", "no_std"),
    ] {
        let source = format!("{tests}\n{code}");
        assert!(tests.contains(from), "{tests}");
        let changed = format!("{}\n{code}", tests.replacen(from, to, 1));
        assert_ne!(rust_tests(&source), rust_tests(&changed), "{tests}");
        assert_eq!(rust_tests(&source), rust_tests(&source.replace("a + 1", "a * 2 /* ; } */")), "{tests}");
    }
    let macros = "macro_rules! twice { () => { 2 } }\nfn f() { println!(\"{}\", 1) }\n";
    assert_eq!(rust_tests(macros), rust_tests(&macros.replace('2', "3").replace('1', "4")), "no test is near");
}

/// A source is somebody else's text.
#[test]
fn a_source_of_nothing_but_brackets_is_all_of_it() {
    let deep = format!("#[test] fn f() {{ {}{} }}", "(".repeat(200_000), ")".repeat(200_000));
    assert_eq!(rust_tests(&deep), deep);
    let long = format!("#[test] fn f() {{ {}1 }}", "!".repeat(200_000));
    assert!(rust_tests(&long).len() > 200_000);
}

#[test]
fn runners_and_tests_judge_wherever_they_lie() {
    let role = |text: &str| role_of(&path(text));
    for file in ["src/unittest.py", "lib/deep/pytest/__init__.py", "lib/Test/More.pm"] {
        assert_eq!(role(file), Some(Role::ImportHook), "{file}");
    }
    for file in ["Tests/AddTests.c", "t/basic.t", "src/CalcTest.java"] {
        assert_eq!(role(file), Some(Role::Test), "{file}");
    }
    assert_eq!(role(".proverc"), Some(Role::Configuration));
    for file in ["src/shop/types.py", "src/latest.py", "src/contest.c"] {
        assert_eq!(role(file), None, "{file}");
    }
}

/// What a model chose counts only if a file of the project speaks.
#[test]
fn a_command_says_which_file_it_runs() {
    let shell = |text: &str| scripts_run(&Command::Shell(text.to_owned()), "/p");
    for (text, file) in [
        ("sh check.sh", "check.sh"),
        ("/bin/sh -e ./t/check.sh", "t/check.sh"),
        ("python3 /p/tools/run.py --fast", "tools/run.py"),
        ("./run-tests", "run-tests"),
        ("/p/bin/check all", "bin/check"),
        ("perl -Ilib t/basic.t", "t/basic.t"),
    ] {
        assert_eq!(shell(text), [file], "{text}");
    }
    assert_eq!(shell("make -s test").last().map(String::as_str), Some("Makefile"));
    for text in [
        "echo 1..1; echo ok 1",
        "echo check.sh",
        "printf ok",
        "cat check.sh",
        "sh check.sh | cat",
        "sh check.sh > out",
        "sh $f",
        "sh ../check.sh",
        "sh /elsewhere/check.sh",
        "sh c*.sh",
        "sh check.sh\necho ok 1 - a",
        "make --eval=test:;@echo",
        "f=check.sh sh",
        "sh -c 'echo ok'",
        "",
    ] {
        assert_eq!(shell(text), [""; 0], "{text}");
    }
    let argv = |words: &[&str]| scripts_run(&Command::Argv(words.iter().map(|w| (*w).to_owned()).collect()), "/p");
    assert_eq!(argv(&["sh", "check.sh"]), ["check.sh"]);
    assert_eq!(argv(&["sh", "-c", "echo ok 1; exit 0"]), [""; 0]);
    assert_eq!(argv(&["python3", "-c", "print(1)"]), [""; 0]);
}

#[test]
fn what_a_script_reads_into_itself_is_known_by_its_name() {
    let names = |script: &str| sourced(script).join(" ");
    assert_eq!(names("set -e\n. ./lib.sh\nrun\n"), "lib.sh");
    assert_eq!(
        names("source \"${here}/verify/assert.sh\"; [ -f x ] && . lib/more.sh || (. 'last.sh')\n"),
        "assert.sh more.sh last.sh"
    );
    assert_eq!(names("./lib.sh\nsh ./lib.sh\ncat ./lib.sh\n"), "");
}
