//! Time is moved: what is granted, offered and kept ends when it should, and nothing else does.

use crate::harness::{ASKING, TestSilas};
use silas_core::card::CardKind;
use silas_core::token::Verdict;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);

#[test]
fn a_wish_is_carried_out_and_undone_in_this_process() {
    let silas = TestSilas::start_with(&[ASKING]);
    let original = silas.tree();
    let mut line = silas.line();
    let work = line.run(&silas.wish()).unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");
    let done = line.card(CardKind::Done).unwrap();
    assert_ne!(silas.tree(), original);
    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

#[test]
fn what_was_granted_for_a_year_is_over_after_one() {
    let mut silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Rehearsed).unwrap();
    // The copy is kept for a day; nobody applies it later.
    silas.advance(2 * DAY);
    let (recorded, message) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(!recorded, "{message}");
    silas.advance(YEAR);
    silas.restart();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    // Without house rules nothing is tried out unasked; the directory was named for good.
    line.card(CardKind::Plan).unwrap();
    silas.assert_ledger_holds();
}

#[test]
fn an_undo_window_closes_by_the_clock_and_not_before() {
    let silas = TestSilas::start_with(&[ASKING]);
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    let changed = silas.tree();
    silas.advance(Duration::from_secs(6 * 60));
    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(!recorded, "{message}");
    assert_eq!(silas.tree(), changed);
    silas.assert_ledger_holds();
}
