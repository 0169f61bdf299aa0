//! What is clear without backticks is understood, and what only looks like it is left alone.

use crate::reflex::{Decision, decide, decide_by};

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn run(run: &str, directories: &[&str]) -> Decision {
    Decision::Run { run: run.to_owned(), directories: owned(directories), reads: Vec::new(), hosts: Vec::new() }
}

fn checked(run: &str, directories: &[&str], hosts: &[&str], check: &str) -> Decision {
    Decision::RunAndCheck {
        run: run.to_owned(),
        directories: owned(directories),
        reads: Vec::new(),
        commits: false,
        hosts: owned(hosts),
        check: check.to_owned(),
        protected: true,
    }
}

#[test]
fn a_command_as_it_is_typed() {
    let cases = [
        ("run make test in ~/x", run("make test", &["~/x"])),
        ("Run make test in ~/x.", run("make test", &["~/x"])),
        ("please run ./build.sh --all inside /srv/app!", run("./build.sh --all", &["/srv/app"])),
        ("run `pytest` in `~/x`", run("pytest", &["~/x"])),
        ("run `pytest -q` in src", run("pytest -q", &["src"])),
        ("run cargo fmt in .", run("cargo fmt", &["."])),
        ("run sed -i 's/a b/c/' *.md in /p and /q", run("sed -i 's/a b/c/' *.md", &["/p", "/q"])),
        ("run `a` in `p`, `q` and in ~/r", run("a", &["p", "q", "~/r"])),
        ("run make in ~/x and check with make test", checked("make", &["~/x"], &[], "make test")),
        ("run make in ~/x, then check with make test.", checked("make", &["~/x"], &[], "make test")),
        ("run make in ~/x and check with pytest .", checked("make", &["~/x"], &[], "pytest .")),
        ("run make and check with `b`", checked("make", &[], &[], "b")),
        (
            "run ./get.sh in ~/x reaching localhost:8080 and check with test -s out",
            checked("./get.sh", &["~/x"], &["localhost:8080"], "test -s out"),
        ),
        ("run `c` reaching a.org:1 and `b:2` and check with `k`", checked("c", &[], &["a.org:1", "b:2"], "k")),
    ];
    for (text, expected) in cases {
        assert_eq!(decide(text), expected, "{text}");
        assert_eq!(decide_by(1, text), Ok(Decision::NotUnderstood), "{text}");
    }
    let Decision::Run { reads, hosts, .. } = decide("run make in /p reading /q reaching h:1") else { panic!() };
    assert_eq!((reads, hosts), (owned(&["/q"]), owned(&["h:1"])));
}

#[test]
fn what_is_not_clear_is_not_a_command() {
    let others = [
        "run the tests in ~/x",
        "run all tests in ~/x",
        "run it again in ~/x",
        "run make",
        "run tests in parallel",
        "run make in x",
        "run grep -r foo in src in ~/x",
        "run make in ~/x?",
        "could you run make in ~/x",
        "run make in ~/x and tell me what you see",
        "run make in ~/x and check that it works",
        "run make in ~/x and check with",
        "run make in ~/x with commits",
        "run make in ~/x and check with the tests",
        "run make in ~/x reaching everything",
        "run make in ~/x reaching localhost",
        "run “make” in ~/x",
        "run make\nrm x in ~/x",
        "run -x in ~/x",
        "running make in ~/x",
        "run make check with make in ~/x",
    ];
    for text in others {
        assert_eq!(decide(text), Decision::NotUnderstood, "{text:?}");
    }
    assert_eq!(decide(&format!("run {} in ~/x", "x".repeat(2_000))), Decision::NotUnderstood);
}

#[test]
fn a_task_by_its_title_as_it_is_typed() {
    let done = |task: &str| Decision::CompleteTask { task: task.to_owned() };
    let cases = [
        ("done with buy milk", done("buy milk")),
        ("Done with: buy milk!", done("buy milk")),
        ("I'm done with buy milk.", done("buy milk")),
        ("reopen buy milk", Decision::ReopenTask { task: "buy milk".to_owned() }),
    ];
    for (text, expected) in cases {
        assert_eq!(decide(text), expected, "{text}");
        assert_eq!(decide_by(1, text), Ok(Decision::NotUnderstood), "{text}");
    }
    for text in
        ["done with", "reopen", "done with buy milk?", "done with `a` `b`", "done with\nmilk\nand", "done without it"]
    {
        assert_eq!(decide(text), Decision::NotUnderstood, "{text:?}");
    }
    assert_eq!(decide(&format!("done with {}", "x".repeat(201))), Decision::NotUnderstood);
}

/// Whatever the first version understood, the second understands as it did.
#[test]
fn nothing_that_was_understood_means_anything_else() {
    let sentences = [
        "please run ``é`` in ~/ö, and check it with `ü`!",
        "run `a` in `b` and /c reading `d` with commits reaching `e:1` and check openly with `f`",
        "done with `call the dentist`!",
        "add a task to call the dentist",
    ];
    for sentence in sentences {
        let all: Vec<char> = sentence.chars().collect();
        for from in 0..all.len() {
            for to in from..=all.len() {
                let text = String::from_iter(&all[from..to]);
                let before = decide_by(1, &text).unwrap();
                if before != Decision::NotUnderstood {
                    assert_eq!(decide(&text), before, "{text}");
                }
            }
        }
    }
}
