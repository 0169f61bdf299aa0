//! A card is named, shown and then signed: no number answers another card than the one that was meant.

use crate::harness::{Place, TestSilas};
use crate::typist::at_terminal;
use serde_json::Value;
use silas_core::card::CardKind;
use std::fs;
use std::time::Duration;

/// Asks about so many directories, and gives what `silas review` calls their cards.
fn asked_about(silas: &Place, dirs: &[&str]) -> Vec<String> {
    for dir in dirs {
        fs::create_dir(silas.outside().join(dir)).unwrap();
        let wish = format!("run `touch x` in `{}` and check with `test -e x`", silas.outside().join(dir).display());
        let (code, text) = silas.command(&["say", &wish]);
        assert_eq!(code, 0, "{text}");
    }
    names(silas)
}

fn names(silas: &Place) -> Vec<String> {
    let (code, text) = silas.command(&["review"]);
    assert_eq!(code, 0, "{text}");
    text.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
}

fn intents(silas: &Place) -> Vec<String> {
    let cards: Vec<Value> = serde_json::from_str(&silas.command(&["review", "--json"]).1).unwrap();
    cards.iter().map(|card| card["face"]["intent"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn names_stay_and_places_do_not_sign() {
    let silas = TestSilas::start();
    let names = asked_about(&silas, &["one", "two", "three"]);
    let before = intents(&silas);
    for verb in ["approve", "decline"] {
        let (code, text) = silas.command(&[verb, "1"]);
        assert!(code == 2 && text.contains("Nothing was signed") && text.contains(&names[0]), "{text}");
    }
    let (code, text) = silas.command(&["decline", &names[0]]);
    assert_eq!(code, 0, "{text}");
    // What was second is still called what it was called.
    let (code, text) = silas.command(&["decline", &names[1]]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(intents(&silas), before[2..], "{text}");
    let (code, text) = silas.command(&["decline", &names[0]]);
    assert!(code == 1 && text.contains("answered meanwhile"), "{text}");
    let (code, text) = silas.command(&["approve", "nonsense"]);
    assert!(code == 2 && text.contains("names no card"), "{text}");
    let (code, text) = silas.command(&["show", &names[2]]);
    assert!(code == 0 && text.contains(&before[2]), "{text}");
    let (code, text) = silas.command(&["decline", "1"]);
    assert!(code == 0, "the only one: {text}");
    silas.assert_ledger_holds();
}

/// Whoever has to name a card is shown the command that was typed, and no other.
#[test]
fn the_command_that_was_typed_is_the_one_that_is_shown() {
    let silas = TestSilas::start();
    asked_about(&silas, &["one", "two"]);
    let told = |args: &[&str]| {
        let (code, text) = silas.command(args);
        assert_eq!(code, 1, "{text}");
        text
    };
    for verb in ["approve", "decline", "rehearse", "show"] {
        assert!(told(&[verb]).contains(&format!("as in `silas {verb} ")), "{verb}");
    }
    silas.advance(Duration::from_secs(3600));
    for verb in ["dismiss", "renew"] {
        assert!(told(&[verb]).contains(&format!("as in `silas {verb} ")), "{verb}");
    }
}

#[test]
fn at_a_terminal_the_card_is_named_before_it_is_signed() {
    let silas = TestSilas::start();
    let names = asked_about(&silas, &["one", "two"]);
    let intent = intents(&silas)[1].clone();
    let (code, shown) = at_terminal(&silas, &["approve", "2"], &[("leaves it:", "n\n")]);
    assert!(code == 1 && shown.contains("Not confirmed. Nothing was signed."), "{shown}");
    assert!(shown.contains(&format!("“{intent}” ({})?", names[1])), "{shown}");
    assert_eq!(intents(&silas).len(), 2);
    // A decline by its place is asked about too.
    let (code, shown) = at_terminal(&silas, &["decline", "1"], &[("leaves it:", "n\n")]);
    assert_eq!((code, intents(&silas).len()), (1, 2), "{shown}");
    let (code, shown) = at_terminal(&silas, &["approve", &names[1]], &[("leaves it:", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert!(silas.command(&["grant", "list"]).1.contains("two"), "{shown}");
    let (code, shown) = at_terminal(&silas, &["decline", &names[0], "--yes"], &[]);
    assert_eq!(code, 0, "{shown}");
}

/// Whoever names a card in a script has answered. No help may promise a question that is not asked there.
#[test]
fn a_pipe_is_not_asked_and_every_command_says_so() {
    let silas = TestSilas::start();
    let names = asked_about(&silas, &["one", "two", "three"]);
    // A directory is of medium risk, about which a terminal is asked.
    let (code, text) = silas.command(&["approve", &names[0]]);
    assert!(code == 0 && !text.contains("to confirm"), "{text}");
    let (code, text) = silas.command(&["approve", &names[1], "--json"]);
    assert_eq!(code, 0, "{text}");
    // What stands in the pipe is nobody's answer.
    let (code, text) = silas.command_with(&["approve", &names[2]], &[], "n\n");
    assert_eq!(code, 0, "{text}");
    let (_, grants) = silas.command(&["grant", "list"]);
    assert!(["one", "two", "three"].iter().all(|dir| grants.contains(dir)), "{grants}");

    let says = |command: &[&str], words: &str| {
        let (code, help) = silas.command(&[command, &["--help"]].concat());
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 0 && help.contains(words), "{command:?}: {help}");
    };
    let pipe = "where input or output is a pipe, and with --json, it is signed at once, also without this";
    for verb in ["approve", "rehearse", "redo", "change", "decline"] {
        says(&[verb], pipe);
    }
    for command in [["work", "apply"], ["work", "undo"], ["root", "add"]] {
        says(&command, pipe);
    }
    says(&["undo"], "Signed at once, at a terminal too");
    for command in [["work", "undo"], ["grant", "revoke"], ["device", "revoke"], ["root", "remove"]] {
        says(&command, "at once");
    }
    for command in [&["model", "add"][..], &["eval"]] {
        says(command, "from a terminal or a pipe: anything but y or yes is a no");
    }
}

/// Every text in a face, line by line; words for programs are not among them.
fn texts(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if !["kind", "risk", "press", "outcome", "runner", "by"].contains(&key) => {
            found.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
        }
        Value::Array(all) => all.iter().for_each(|one| texts(one, key, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, one)| texts(one, key, found)),
        _ => {}
    }
}

#[track_caller]
fn assert_shows_all(silas: &Place, kind: &str) {
    let cards: Vec<Value> = serde_json::from_str(&silas.command(&["review", "--json"]).1).unwrap();
    let card = cards.iter().find(|card| card["face"]["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {cards:#?}"));
    let (code, shown) = silas.command(&["show", card["id"].as_str().unwrap()]);
    assert_eq!(code, 0, "{shown}");
    let mut found = Vec::new();
    texts(&card["face"], "", &mut found);
    assert!(found.len() > 3, "{card:#}");
    for text in found {
        assert!(shown.contains(&text), "{kind}: `{text}` is signed and not shown:\n{shown}");
    }
}

#[test]
fn everything_that_is_signed_is_shown() {
    let silas = TestSilas::start();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.card(CardKind::Root).unwrap();
    assert_shows_all(&silas, "root");
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert_shows_all(&silas, "plan");
    assert!(line.show_me_first(&plan).unwrap().0);
    line.card(CardKind::Rehearsed).unwrap();
    assert_shows_all(&silas, "rehearsed");
    line.approve(CardKind::Rehearsed).unwrap();
    line.card(CardKind::Done).unwrap();
    assert_shows_all(&silas, "done");
    // One that only tells is shown too, without being named.
    let (code, text) = silas.command(&["show"]);
    assert!(code == 0 && text.contains("silas undo"), "{text}");
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains("All quiet.") && text.contains("1 result to look at"), "{text}");
}

#[test]
fn a_change_that_is_too_long_for_the_screen_is_approved_by_its_name() {
    let silas = TestSilas::start();
    let mut line = silas.line();
    let write = "for f in a b c; do seq -f \"$f line %g\" 1 200 > $f.txt; done";
    line.say(&format!("run `{write}` in `{}` and check with `test -e c.txt`", silas.repo().display())).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(line.show_me_first(&plan).unwrap().0);
    let card = line.card(CardKind::Rehearsed).unwrap();
    let (code, text) = silas.command(&["approve"]);
    assert!(code == 1 && text.contains("400 of 600 lines") && text.contains("nothing was signed"), "{text}");
    assert!(!silas.repo().join("c.txt").exists());
    let name = names(&silas)[0].clone();
    let (code, text) = silas.command(&["show", &name]);
    assert!(code == 0 && text.contains("+ c line 200"), "{text}");
    let (code, text) = silas.command(&["approve", &name]);
    assert!(code == 0 && silas.repo().join("c.txt").exists(), "{}: {text}", card.id);
}

/// Results of one directory are not alike: the list says which file each is about, or which command.
#[test]
fn results_of_one_directory_are_told_apart() {
    let silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    let dir = silas.repo().display().to_string();
    for (n, file) in ["one.txt", "two.txt"].iter().enumerate() {
        line.say(&format!("run `echo {n} > {file}` in `{dir}` and check with `test -e {file}`")).unwrap();
        if n == 0 {
            line.approve(CardKind::Root).unwrap();
        }
        let is_result = |card: &&silas_core::card::Card| card.face.kind == CardKind::Rehearsed;
        line.wait(|line| line.cards.iter().filter(is_result).count() == n + 1).unwrap();
    }
    let (_, review) = silas.command(&["review"]);
    let (_, work) = silas.command(&["work", "list"]);
    for file in ["one.txt", "two.txt"] {
        let intent = format!("Apply 1 changed file to repo: {file}");
        assert_eq!(review.matches(&intent).count(), 1, "{review}");
        assert_eq!(work.lines().filter(|line| line.contains(file)).count(), 1, "{work}");
    }
}
