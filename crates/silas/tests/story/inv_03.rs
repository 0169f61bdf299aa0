//! INV-03: done is what checks outside the work show. Nothing that a command says or does to look done counts.

use crate::harness::Silas;
use silas_core::card::CardKind;

#[track_caller]
fn applies_nothing(run: &str, check: &str, intent: &str) {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    let wish = format!("run `{run}` in `{}` and check with `{check}`", silas.repo().display());
    let work = line.run(&wish).unwrap();
    assert_ne!(work["outcome"], "proved", "{run} / {check}");
    let card = line.card(CardKind::Report).unwrap();
    assert_eq!(card.face.intent, intent, "{run} / {check}");
    assert_eq!(silas.tree(), original);
}

#[test]
fn a_command_that_only_says_it_is_done() {
    applies_nothing("echo all tests passed; exit 0", "sh check.sh", "The check is still red");
}

#[test]
fn a_check_that_can_only_be_green() {
    applies_nothing("sh fix.sh", "true", "Already passes, nothing to do");
}

#[test]
fn a_check_that_can_only_be_red() {
    applies_nothing("sh fix.sh", "false", "The check is still red");
}

#[test]
fn a_check_that_remembers_having_run() {
    // Red the first time, green the second, whatever the work did: but every run of a check starts from scratch.
    let check = "test -e ran-before || { touch ran-before; exit 1; }";
    applies_nothing("true", check, "The check is still red");
}

#[test]
fn a_check_that_leaves_a_trace_outside_the_copy() {
    let check = "test -e /tmp/ran-before || { touch /tmp/ran-before; exit 1; }";
    applies_nothing("touch /tmp/ran-before", check, "The check is still red");
}

#[test]
fn a_check_sees_only_what_would_be_put_in_place() {
    // Directories without files are not applied, so a check that wants one stays red.
    applies_nothing("mkdir made; touch x", "test -d made && test -f x", "The check is still red");
    // And a directory that the command removed stays where it is, empty.
    applies_nothing("rm -r src; touch x", "test ! -e src && test -f x", "The check is still red");
}
