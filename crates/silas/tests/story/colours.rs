//! What a terminal shows beyond words: colours where a person looks and wants them, and how far some work is.

use crate::harness::TestSilas;
use crate::typist::at_terminal_with;
use silas_core::card::{Card, CardKind, CardState};

const COLOURS: (&str, &str) = ("TERM", "xterm-256color");

/// Whether anything is painted: sequences that begin so and end with `m`.
fn is_painted(shown: &str) -> bool {
    shown
        .split("\x1b[")
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

/// A plan that waits, and the same words everywhere.
#[test]
fn colours_are_for_a_terminal_that_has_them_and_a_person_who_wants_them() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    for command in ["review", "show"] {
        let at_terminal = |env: &[(&str, &str)]| {
            let (code, shown) = at_terminal_with(&silas, &[command], &[], env);
            assert_eq!(code, 0, "{command} {env:?}: {shown}");
            shown
        };
        let painted = at_terminal(&[COLOURS]);
        assert!(is_painted(&painted), "{command}: {painted:?}");
        // Set to nothing it says nothing.
        assert!(is_painted(&at_terminal(&[COLOURS, ("NO_COLOR", "")])), "{command}");
        let plain = at_terminal(&[COLOURS, ("NO_COLOR", "1")]);
        let dumb = at_terminal(&[("TERM", "dumb")]);
        let (code, piped) = silas.command_with(&[command], &[COLOURS], "");
        assert_eq!(code, 0, "{piped}");
        for shown in [&plain, &dumb, &piped] {
            assert!(!shown.contains('\x1b'), "{command}: {shown:?}");
            assert!(shown.contains("risk") && shown.contains("repo"), "{command}: {shown:?}");
        }
    }
    // What a terminal says about itself makes no colours in what programs read.
    let (_, status) = silas.command_with(&["status"], &[COLOURS], "");
    assert!(!status.contains('\x1b') && status.contains("Vault"), "{status:?}");
}

#[test]
fn a_person_sees_how_far_the_work_is_and_a_pipe_gets_a_line_for_each_step() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let first = line.card(CardKind::Plan).unwrap().id;
    let confirming = [("leaves it:", "y\n")];
    let (code, shown) = at_terminal_with(&silas, &["approve"], &confirming, &[COLOURS]);
    assert_eq!(code, 0, "{shown}");
    // The bar moves on with each step, and it names how many there are.
    let bars: Vec<(u32, u32)> = shown.split(['\r', '\n']).filter_map(how_far).collect();
    let n_steps = bars.iter().map(|(_, of)| *of).max().unwrap_or_default();
    assert!(n_steps > 1 && bars.contains(&(1, n_steps)), "{bars:?} {shown:?}");
    assert!(bars.iter().all(|(done, of)| done <= of), "{bars:?}");
    // The same again, where nobody looks.
    line.say(&silas.wish().replace("check.sh", "fix.sh")).unwrap();
    let is_next = |card: &Card| card.face.kind == CardKind::Plan && card.state == CardState::Open && card.id != first;
    line.wait(|line| line.cards.iter().any(is_next)).unwrap();
    let (_, piped) = silas.command_with(&["approve"], &[COLOURS], "");
    assert!(!piped.contains('\x1b') && piped.split('\n').filter_map(how_far).next().is_none(), "{piped:?}");
    assert!(piped.contains("sh fix.sh"), "{piped:?}");
}

/// "… 1 of 3  …", behind a bar.
fn how_far(line: &str) -> Option<(u32, u32)> {
    let (before, after) = line.split_once(" of ")?;
    let done = before.rsplit(' ').next()?.parse().ok()?;
    Some((done, after.split_whitespace().next()?.parse().ok()?))
}
