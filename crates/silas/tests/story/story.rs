//! The story that a new user lives: ask, approve, watch, see the proof, undo.

use crate::harness::{FIX, Silas, counted};
use serde_json::json;
use silas_core::card::{CardKind, Press};
use silas_core::check::Outcome;
use silas_core::token::Verdict;
use std::fs;

#[test]
fn a_wish_becomes_a_proof_and_can_be_taken_back() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();

    line.say(&silas.wish()).unwrap();
    let root = line.approve(CardKind::Root).unwrap();
    assert_eq!(root.face.intent, "Let plans work in repo");
    let plan = line.card(CardKind::Plan).unwrap();
    assert_eq!(plan.face.intent, "Run 1 command in repo");
    assert_eq!(silas.tree(), original, "nothing runs before the approval");
    line.approve(CardKind::Plan).unwrap();
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved");
    let labels: Vec<&str> = work["steps"].as_array().unwrap().iter().map(|s| s["label"].as_str().unwrap()).collect();
    assert_eq!(
        labels,
        [
            "Copied 5 files",
            "Ran the checks first: 1 red",
            "Ran `sh fix.sh src/a.txt src/b.txt gone.txt more/c.txt`",
            "Ran the checks again: all green",
            "Applied 4 files"
        ]
    );

    let done = line.card(CardKind::Done).unwrap();
    let evidence = done.face.evidence.as_ref().unwrap();
    assert_eq!(evidence.outcome, Outcome::Proved);
    assert!(!evidence.before[0].passed && evidence.after[0].passed);
    assert_eq!(done.face.ctas[0].label, "Undo, put 4 files back");
    assert_eq!(
        done.face.ctas.iter().map(|cta| cta.press).collect::<Vec<_>>(),
        [Press::Approve, Press::Proof, Press::Dismiss]
    );
    let changed = silas.tree();
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "new a\n");
    assert!(!silas.repo().join("gone.txt").exists() && silas.repo().join("more/c.txt").exists());

    line.send(&json!({ "type": "proof", "execution": work["execution"] })).unwrap();
    let proof = line.wait_for("proof").unwrap()["proof"].clone();
    assert_eq!(proof["outcome"], "proved");
    let titles: Vec<&str> = proof["steps"].as_array().unwrap().iter().map(|s| s["title"].as_str().unwrap()).collect();
    assert_eq!(titles[0], "You asked");
    assert!(titles.contains(&"4 files applied, all or none"), "{titles:?}");
    assert_ne!(changed, original);

    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    assert_eq!(silas.tree(), original);
    assert!(!silas.repo().join("more").exists(), "a directory that the apply made goes with it");
    let leftovers: Vec<_> = fs::read_dir(silas.repo()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!leftovers.iter().any(|name| name.to_string_lossy().starts_with(".silas-")), "{leftovers:?}");

    let told = line.ask("what did you do?");
    assert!(told.contains("Proved and applied 4 files") && told.contains("Put 4 files back"), "{told}");
    silas.assert_ledger_holds();
}

#[test]
fn a_paired_browser_decides_like_the_terminal() {
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    let message = device.message(&silas.wish(), &line.installation());
    line.send(&json!({ "type": "message", "message": message })).unwrap();
    for kind in [CardKind::Root, CardKind::Rehearsed] {
        let card = line.card(kind).unwrap();
        let token = device.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
        let (recorded, message) = line.submit(&card, &token).unwrap();
        assert!(recorded, "{message}");
    }
    line.card(CardKind::Done).unwrap();
    let told = line.ask("what did you do?");
    assert!(told.contains("Signed on test browser"), "{told}");
    assert!(told.contains("You signed the house rules"), "{told}");
}

#[test]
fn a_declined_plan_runs_nothing() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    let (recorded, message) = line.decide(&plan, Verdict::Declined).unwrap();
    assert!(recorded && message.contains("Nothing ran"), "{message}");
    assert_eq!(silas.tree(), original);
    assert!(line.work.is_empty());
    let (again, _) = line.decide(&plan, Verdict::Approved).unwrap();
    assert!(!again, "a card is answered once");
    assert_eq!(silas.tree(), original);
}

#[test]
fn what_is_not_understood_gets_the_list_of_what_is() {
    let silas = Silas::start();
    let mut line = silas.line();
    let reply = line.ask("please write me a poem");
    assert!(reply.contains("needs a model") && reply.contains("run COMMAND"), "{reply}");
    assert!(line.cards.is_empty());
}

#[test]
fn a_second_wish_in_an_allowed_directory_needs_only_its_plan() {
    let silas = Silas::start();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    line.say(&format!("run `echo done > done.txt` and check with `{}`", counted("test -f done.txt"))).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(plan.face.facts.iter().any(|fact| fact.label == "Done when"), "{:?}", plan.face.facts);
}

#[test]
fn the_commands_of_the_terminal_tell_the_same_story() {
    let silas = Silas::start();
    let original = silas.tree();
    let (code, text) = silas.command(&["say", &silas.wish()]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Let plans work in repo"), "{text}");
    assert_eq!(silas.command(&["approve"]).0, 0);
    let (code, text) = silas.command(&["review"]);
    assert!(code == 0 && text.contains("1  Run 1 command in repo  (◆ Medium risk)"), "{text}");
    let (code, text) = silas.command(&["approve", "1"]);
    assert!(code == 0 && text.contains("Applied 4 files") && text.contains("4 files changed in repo"), "{text}");
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains("protected by file permissions only"), "{text}");
    let (code, text) = silas.command(&["undo"]);
    assert!(code == 0 && text.contains("exactly as before"), "{text}");
    assert_eq!(silas.tree(), original);
    let (code, text) = silas.command(&["activity"]);
    assert!(code == 0 && text.contains("Put 4 files back"), "{text}");
    let (code, text) = silas.command(&["undo"]);
    assert!(code != 0 && text.contains("no undo window is open"), "{text}");
    silas.assert_ledger_holds();
}

#[test]
fn wishes_for_one_directory_wait_for_one_card() {
    let silas = Silas::start();
    let mut line = silas.line();
    let dir = silas.repo().display().to_string();
    line.ask(&silas.wish());
    line.ask(&format!("run `touch two` in `{dir}` and check with `{}`", counted("test -e two")));
    assert_eq!(line.cards.len(), 1, "{:?}", line.cards);
    line.approve(CardKind::Root).unwrap();
    line.wait(|line| line.cards.iter().filter(|card| card.face.kind == CardKind::Plan).count() == 2).unwrap();
}

#[test]
fn a_relative_directory_means_the_same_before_and_after_it_was_allowed() {
    let silas = Silas::start_in_its_place();
    std::fs::create_dir(silas.repo().join("repo")).unwrap();
    let mut line = silas.line();
    line.ask(&format!("run `{FIX}` in `repo` and check with `sh check.sh`"));
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    let payload = plan.payload.unwrap();
    assert!(payload.contains(&format!("\"path\":\"{}\"", silas.repo().display())), "{payload}");
}
