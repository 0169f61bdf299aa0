//! A terminal of 40 columns: lines end between words, and nothing that is printed goes over the edge but a word that is wider
//! than the screen. A pipe gets its lines whole.

use crate::harness::TestSilas;
use crate::typist::{SCREEN_COLUMNS, at_terminal_with};
use silas_core::card::CardKind;
use std::collections::BTreeSet;

const NARROW: (&str, &str) = (SCREEN_COLUMNS, "40");
const COLUMNS: usize = 40;

/// Words of letters; paths, hashes and numbers may be wider than any screen.
fn words(text: &str) -> BTreeSet<String> {
    let is_word = |word: &&str| word.len() > 2 && word.chars().all(|c| c.is_ascii_alphabetic());
    let trimmed = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    text.split_whitespace().map(trimmed).filter(|word| is_word(&word.as_str())).collect()
}

/// Nothing is wider than the screen that could be narrower, and no word is on it that was not said whole.
#[track_caller]
fn assert_fits(command: &[&str], shown: &str, piped: &str) {
    for line in shown.split(['\n', '\r']) {
        let text = line.trim_start_matches([' ', '│', '┊']);
        let is_one_word = !text.trim_end().contains(' ');
        assert!(line.chars().count() <= COLUMNS || is_one_word, "{command:?}: {line:?} in {shown}");
    }
    let broken: Vec<String> = words(shown).difference(&words(piped)).cloned().collect();
    assert!(broken.is_empty(), "{command:?}: {broken:?} in {shown}\n\n{piped}");
}

#[test]
fn lines_end_between_words_and_a_pipe_gets_them_whole() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    line.ask("run make in the-northern-harbours and check with make test");
    let commands: [&[&str]; 11] = [
        &["doctor"],
        &["activity"],
        &["activity", "1"],
        &["status"],
        &["review"],
        &["show"],
        &["grant", "list"],
        &["work", "list"],
        &["approve", "nothing-of-that-name"],
        &["activity", "abc"],
        &["--help"],
    ];
    for command in commands {
        let (code, piped) = silas.command(command);
        let (narrow_code, narrow) = at_terminal_with(&silas, command, &[], &[NARROW]);
        assert_eq!(code, narrow_code, "{command:?}: {narrow}");
        assert_fits(command, &narrow, &piped);
        let (_, wide) = at_terminal_with(&silas, command, &[], &[(SCREEN_COLUMNS, "400")]);
        assert!(piped.lines().count() <= narrow.lines().count(), "{command:?}: {piped}");
        assert_eq!(wide.lines().count(), piped.lines().count(), "{command:?} needs no further line: {wide}");
        // What the shell says counts where it is narrower.
        let told = [(SCREEN_COLUMNS, "400"), ("COLUMNS", "40")];
        assert_fits(command, &at_terminal_with(&silas, command, &[], &told).1, &piped);
        assert_eq!(silas.command_with(command, &[("COLUMNS", "40")], "").1.lines().count(), piped.lines().count());
    }
    // What programs read is never broken.
    let (_, document) = at_terminal_with(&silas, &["review", "--json"], &[], &[NARROW]);
    assert!(serde_json::from_str::<serde_json::Value>(&document).is_ok(), "{document}");
}

#[test]
fn a_talk_fits_too() {
    let silas = TestSilas::start();
    let said = "run make in the-northern-harbours and check with make test";
    let steps = [("or /help.", format!("{said}\n")), ("lists", "/help\n".to_owned()), ("less.", "quit\n".to_owned())];
    let steps: Vec<(&str, &str)> = steps.iter().map(|(wait, say)| (*wait, say.as_str())).collect();
    let (code, shown) = at_terminal_with(&silas, &["chat"], &steps, &[NARROW]);
    assert_eq!(code, 0, "{shown}");
    let shown = shown.replace("\x1b[K", "");
    let (_, piped) = silas.command_with(&["chat"], &[], &format!("{said}\n/help\nquit\n"));
    // What the owner types is the terminal's to break.
    let printed: Vec<&str> = shown.split(['\n', '\r']).filter(|line| !line.contains(said)).collect();
    let greeting = "New here? Say: try it on a sample project";
    assert_fits(&["chat"], &printed.join("\n"), &format!("{piped}{greeting}"));
}
