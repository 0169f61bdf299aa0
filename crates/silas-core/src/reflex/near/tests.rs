//! What is missing, and how the whole sentence would read. What is understood is never near, and what is near does nothing.

use super::Missing::*;
use super::*;

#[track_caller]
fn check(said: &str, missing: &[Missing], sentence: &str) {
    assert_eq!(decide(said), Decision::NotUnderstood, "{said}");
    let near = near(said).unwrap_or_else(|| panic!("not near: {said}"));
    assert_eq!((near.missing.as_slice(), near.sentence.as_str()), (missing, sentence), "{said}");
}

#[test]
fn a_check_that_was_begun_and_not_named() {
    check("run `make` in `x` and check with", &[Check], "run `make` in `x` and check with `COMMAND`");
    check("run make in ~/x and check", &[Check], "run make in ~/x and check with COMMAND");
    check("run `a` in `b` with commits", &[Check], "run `a` in `b` with commits and check with `COMMAND`");
}

#[test]
fn a_directory_that_was_not_named_is_all_that_is_missing() {
    check("run make test", &[Directory], "run make test in ~/DIRECTORY");
    check("Please run `make`.", &[Directory], "run make in ~/DIRECTORY");
    check("run `` echo `date` ``", &[Directory], "run `` echo `date` `` in `~/DIRECTORY`");
    let near = near("run make test").unwrap();
    assert_eq!(near.completed_with("~/code/app").unwrap(), "run make test in ~/code/app");
    assert_eq!(near.completed_with("~/my code").unwrap(), "run make test in `~/my code`");
    assert_eq!(super::near("run").unwrap().completed_with("~/x"), None, "the command is missing too");
}

#[test]
fn backticks_that_were_not_typed_where_something_else_could_be_meant() {
    let whole = "run `make` in `x` and check with `make test`";
    for said in [
        "run make in x and check with make test",
        "run make in x, then check with make test.",
        "run \"make\" in \"x\" and check with \"make test\"",
        "run ‘make’ in ‘x’ and check with ‘make test’",
        "run `make in x and check with make test",
    ] {
        check(said, &[Backticks], whole);
    }
    check(
        "run echo `date` in /p and check with true",
        &[Backticks],
        "run `` echo `date` `` in `/p` and check with `true`",
    );
    check("run make in x", &[Backticks], "run `make` in `x`");
    check(
        "run a in my dir, b and /c and check with d",
        &[Backticks],
        "run `a` in `my dir` and `b` and `/c` and check with `d`",
    );
}

#[test]
fn parts_without_a_name() {
    check("run", &[Command, Directory], "run COMMAND in ~/DIRECTORY");
    check("run `a` in and check with `b`", &[Directory], "run `a` in `~/DIRECTORY` and check with `b`");
    check("run in `x` and check with `b`", &[Command], "run `COMMAND` in `x` and check with `b`");
    check("run b reaching and check with `b`", &[Host], "run b reaching HOST:443 and check with b");
}

#[test]
fn what_is_in_the_wrong_place_or_too_much() {
    check("run `a` and check with `b` in /c", &[Order], "run `a` in `/c` and check with `b`");
    check("run `make` and check with `b` in /c", &[Order], "run make in /c and check with b");
    check(
        "run make in /x and check with `b` and then some",
        &[TooMuch("and then some".to_owned())],
        "run make in /x and check with b",
    );
    check(
        "run `a` quickly in `x` and check with `b`",
        &[TooMuch("quickly".to_owned())],
        "run `a` in `x` and check with `b`",
    );
}

#[test]
fn what_is_understood_is_never_near_and_other_words_are_not_either() {
    for said in [
        "run `a` and check with `b`",
        "run `a` in `b` and check openly with `c`",
        "run `a` in `b`",
        "run make test in ~/x",
        "help",
        "what did you do?",
        "running late",
        "run-of-the-mill",
        "don't run `a`",
        "if it rains run `a` and check with `b`",
        "how do I run make in x and check with make test",
        "",
    ] {
        assert_eq!(near(said), None, "{said}");
    }
    assert_eq!(near(&format!("run {}", "x".repeat(2_000))), None);
}

/// Whatever is proposed is understood, and says back every part that was named.
#[test]
fn no_piece_of_a_sentence_panics_and_every_proposal_is_understood() {
    let sentences = [
        "run ``é`` in ~/ö and `q`, reading r with commits reaching h:1 and check it with `ü` in b!",
        "please run \"a in b\" inside my dir, then check openly with ‘c’",
        "run `a` `b` ``` in ` and check with ``",
    ];
    for sentence in sentences {
        let all: Vec<char> = sentence.chars().collect();
        for from in 0..all.len() {
            for to in from..=all.len() {
                let said = format!("run {}", String::from_iter(&all[from..to]));
                for said in [&said[4..], said.as_str()] {
                    if let Some(near) = near(said) {
                        let read = decide(&near.sentence);
                        let is_run = matches!(read, Decision::RunAndCheck { .. } | Decision::Run { .. });
                        assert!(is_run, "{said}: {near:?}");
                    }
                }
            }
        }
    }
}
