//! Work, grants, directories, devices, tasks and messages that were put aside are named as cards are: a name stays with its
//! thing, is refused once the thing is gone, and no place in a list is ever taken for one.

use crate::harness::{Line, Place, TestSilas};
use crate::typist::at_terminal;
use serde_json::Value;
use silas_core::card::CardKind;
use std::fs;

impl Place {
    /// What a list calls its things, in its own order.
    #[track_caller]
    pub(crate) fn called(&self, list: &str) -> Vec<String> {
        let (code, text) = self.command(&[list, "list", "--json"]);
        assert_eq!(code, 0, "{text}");
        let told: Value = serde_json::from_str(&text).unwrap();
        let things = told.as_array().or(told["work"].as_array()).unwrap();
        let names: Vec<String> = things.iter().map(|thing| thing["called"].as_str().unwrap().to_owned()).collect();
        // People are shown the same names; of tasks, those that are open.
        let (_, shown) = self.command(&[list, "list"]);
        for (name, thing) in names.iter().zip(things) {
            assert!(thing["state"] == "done" || shown.lines().any(|line| line.starts_with(name)), "{name}: {shown}");
        }
        names
    }
}

/// A place is refused whatever stands there, and nothing happens.
#[track_caller]
fn assert_no_place_counts(silas: &Place, commands: &[&[&str]]) {
    for command in commands {
        for place in ["1", "0", "2", "99"] {
            let mut command = command.to_vec();
            command.push(place);
            let (code, text) = silas.command(&command);
            assert!(code == 2 && text.contains("places move") && text.contains("five letters"), "{command:?}: {text}");
        }
    }
}

#[test]
fn grants_and_directories_keep_their_names_when_others_go() {
    let silas = TestSilas::start();
    for dir in ["one", "two", "three"] {
        let dir = silas.outside().join(dir);
        fs::create_dir(&dir).unwrap();
        let (code, text) = silas.command(&["root", "add", dir.to_str().unwrap()]);
        assert!(code == 0 && text.contains("Allowed. Nothing there changes without your yes."), "{text}");
    }
    let names = silas.called("grant");
    assert_eq!(silas.called("root"), names);
    assert_no_place_counts(&silas, &[&["grant", "show"], &["grant", "revoke"], &["root", "remove"]]);
    assert_eq!(silas.called("grant"), names);
    let (code, text) = silas.command(&["grant", "revoke", &names[0]]);
    assert!(code == 0 && text.contains("Work in one"), "{text}");
    // What was second is still called what it was called, also in capitals.
    let (code, text) = silas.command(&["grant", "show", &names[1].to_uppercase()]);
    assert!(code == 0 && text.contains("Work in two"), "{text}");
    let (code, text) = silas.command(&["grant", "revoke", &names[0]]);
    assert!(code == 1 && text.contains("gone meanwhile"), "{text}");
    let (code, text) = silas.command(&["root", "remove", &names[1]]);
    assert!(code == 0 && text.contains("Work in two"), "{text}");
    assert_eq!(silas.called("root"), names[2..]);
    silas.assert_ledger_holds();
}

#[test]
fn a_directory_is_allowed_before_any_wish_and_taken_back_by_its_own_name() {
    let silas = TestSilas::start_asking();
    let (code, text) = silas.command(&["root", "list"]);
    assert!(code == 0 && text.contains("in no directory yet"), "{text}");
    let repo = silas.repo().display().to_string();
    let file = silas.repo().join("fix.sh").display().to_string();
    for (bad, why) in [("/no/such/place", "there is no such directory"), (&file, "a file"), ("/", "cannot be granted")]
    {
        let (code, text) = silas.command(&["root", "add", bad]);
        assert!(code == 1 && text.contains(why) && text.contains("E_WORK_DIRECTORY"), "{bad}: {text}");
    }
    assert!(silas.line().cards.is_empty(), "nothing was asked about what cannot be");
    let (code, text) = silas.command(&["root", "add", &repo]);
    assert!(code == 0 && text.contains("Let plans work in repo") && text.contains(&repo), "{text}");
    let (code, text) = silas.command(&["root", "add", &format!("{repo}/src")]);
    assert!(code == 1 && text.contains("already, because it lies in") && text.contains("E_WORK_ALLOWED"), "{text}");
    // The wish needs no other answer than its own.
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let (code, text) = silas.command(&["root", "list"]);
    assert!(code == 0 && text.contains(&repo), "{text}");
    let (code, text) = silas.command(&["root", "remove", &repo]);
    assert!(code == 0 && text.contains("holds from now on"), "{text}");
    let (code, text) = silas.command(&["root", "remove", &repo]);
    assert!(code == 2 && text.contains("names no directory"), "{text}");
    line.say(&silas.wish()).unwrap();
    line.card(CardKind::Root).unwrap();
    silas.assert_ledger_holds();
}

#[test]
fn at_a_terminal_a_directory_is_asked_about_before_it_is_signed() {
    let silas = TestSilas::start();
    let repo = silas.repo().display().to_string();
    let (code, shown) = at_terminal(&silas, &["root", "add", &repo], &[("leaves it:", "n\n")]);
    assert!(code == 1 && shown.contains("Not confirmed. Nothing was signed."), "{shown}");
    assert!(silas.called("root").is_empty());
    let (code, shown) = at_terminal(&silas, &["root", "add", &repo], &[("leaves it:", "y\n")]);
    assert_eq!((code, silas.called("root").len()), (0, 1), "{shown}");
}

#[test]
fn devices_keep_their_names() {
    let silas = TestSilas::start();
    let (first, second) = (silas.pair(), silas.pair());
    let names = silas.called("device");
    assert_eq!(names.len(), 3, "the terminal is one of them");
    assert_no_place_counts(&silas, &[&["device", "revoke"]]);
    let keys: Vec<String> = silas.line().snapshot["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| device["key"].as_str().unwrap().to_owned())
        .collect();
    let name_of = |key: &str| names[keys.iter().position(|other| other == key).unwrap()].clone();
    let (code, text) = silas.command(&["device", "revoke", &name_of(first.id().as_str())]);
    assert!(code == 0 && text.contains("holds from now on"), "{text}");
    assert_eq!(silas.called("device"), names);
    let (code, text) = silas.command(&["device", "revoke", &name_of(second.id().as_str())]);
    assert!(code == 0 && text.contains("holds from now on"), "{text}");
    let (code, text) = silas.command(&["device", "revoke", &name_of(first.id().as_str())]);
    assert!(code == 1 && text.contains("revoked already"), "{text}");
}

#[test]
fn of_several_results_none_is_signed_for_without_its_name() {
    let silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Rehearsed).unwrap();
    let (code, text) = silas.command(&["say", &silas.planned("echo hi > note.txt", &["note.txt"], "test -e note.txt")]);
    assert_eq!(code, 0, "{text}");
    let is_both = |line: &Line| line.cards.iter().filter(|card| card.face.kind == CardKind::Rehearsed).count() == 2;
    line.wait(is_both).unwrap();
    let names = silas.called("work");
    assert_no_place_counts(&silas, &[&["work", "show"], &["work", "apply"], &["work", "undo"], &["work", "diff"]]);
    let original = silas.tree();
    let (code, text) = silas.command(&["work", "apply"]);
    assert!(code == 1 && text.contains("nothing was signed") && text.contains(&names[0]), "{text}");
    assert_eq!(silas.tree(), original);
    // The older one, though the newer one would come first.
    let (code, text) = silas.command(&["work", "apply", &names[1]]);
    assert!(code == 0 && !silas.repo().join("note.txt").exists(), "{text}");
    let (code, text) = silas.command(&["work", "apply"]);
    assert!(code == 0 && silas.repo().join("note.txt").exists(), "the only one that is left: {text}");
    let (code, text) = silas.command(&["work", "undo"]);
    assert!(code == 1 && text.contains("nothing was signed") && text.contains(&names[0]), "{text}");
    for name in [&names[1], &names[0]] {
        let (code, text) = silas.command(&["work", "undo", name]);
        assert_eq!(code, 0, "{text}");
    }
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

/// How many has separators everywhere; which one has none, and is understood with them too.
#[test]
fn numbers_have_separators_where_they_count() {
    let silas = TestSilas::start();
    silas.pair();
    let (_, list) = silas.command(&["grant", "list"]);
    assert!(list.contains(" of 1,000 left") && !list.contains("1000"), "{list}");
    let (code, text) = silas.command(&["activity", "1,284"]);
    assert!(code == 1 && text.contains("The ledger has no entry 1284."), "{text}");
}
