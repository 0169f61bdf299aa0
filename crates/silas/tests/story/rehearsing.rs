//! Rehearse, then ask: the wish is done in a private copy, one card shows what was found, and one tap applies exactly
//! that, or nothing is left of it.

use crate::harness::{FIX, Line, Silas};
use serde_json::json;
use silas_core::card::{CardKind, Press, Risk};
use silas_core::check::Outcome;
use silas_core::token::{Kind, Verdict};
use std::fs;

/// A paired Silas whose directory is allowed and whose wish was rehearsed.
fn rehearsed(silas: &Silas) -> Line {
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Rehearsed).unwrap();
    line
}

fn copies(silas: &Silas) -> usize {
    fs::read_dir(silas.data().join("launcher/work")).unwrap().count()
}

/// The newest proof as a file, which says this to whoever knows only the root key; and not if another result is put in.
fn travels(silas: &Silas, name: &str, said: &[&str]) {
    let file = silas.outside().join(name).to_str().unwrap().to_owned();
    let (code, text) = silas.command(&["work", "proof", "--out", &file]);
    assert_eq!(code, 0, "{text}");
    let (_, root) = silas.command(&["key", "root"]);
    let (code, text) = silas.command(&["verify", &file, "--key", root.trim()]);
    assert!(code == 0 && text.contains("VERIFIED. Proved: red before, green after"), "{text}");
    assert!(text.contains("Exactly these changes by exactly this plan"), "{text}");
    for said in said {
        assert!(text.contains(said), "{said}: {text}");
    }
    let written = fs::read_to_string(&file).unwrap();
    fs::write(&file, written.replacen("\"kind\":\"apply\"", "\"kind\":\"plan\"", 1)).unwrap();
    assert_eq!(silas.command(&["verify", &file]).0, 1);
}

#[test]
fn a_result_whose_directory_is_not_allowed_any_more_waits_until_it_is() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = rehearsed(&silas);
    let card = line.card(CardKind::Rehearsed).unwrap();
    let grants = silas.called("grant");
    assert_eq!(silas.command(&["grant", "revoke", &grants[1]]).0, 0);
    let (recorded, message) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(!recorded && message.contains("not allowed in") && message.contains("silas root add"), "{message}");
    assert_eq!((silas.tree(), copies(&silas)), (original, 1), "nothing is applied, and nothing is lost");
    assert!(silas.command(&["activity"]).1.contains("efused"));

    let repo = silas.repo().to_str().unwrap().to_owned();
    let (code, text) = silas.command(&["root", "add", &repo]);
    assert_eq!(code, 0, "{text}");
    let card = line.card(CardKind::Rehearsed).unwrap();
    let (recorded, message) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    line.card(CardKind::Done).unwrap();
    let (_, text) = silas.command(&["activity"]);
    assert!(text.contains(", 1 proved"), "tried out and applied, it is one thing: {text}");
}

#[test]
fn a_wish_is_tried_out_shown_and_applied_by_one_tap() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = rehearsed(&silas);
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert!(!line.cards.iter().any(|card| card.face.kind == CardKind::Plan), "nobody was asked before");
    assert_eq!(silas.tree(), original, "and nothing was applied");
    assert_eq!((card.face.intent.as_str(), card.face.risk), ("Apply 4 changed files to repo", Some(Risk::Low)));
    assert_eq!(card.face.state, "Rehearsed, not applied");
    let evidence = card.face.evidence.as_ref().unwrap();
    assert_eq!(evidence.outcome, Outcome::Proved);
    assert!(!evidence.before[0].passed && evidence.after[0].passed && card.face.diffs.len() == 4);
    let presses: Vec<Press> = card.face.ctas.iter().map(|cta| cta.press).collect();
    assert_eq!(presses, [Press::Approve, Press::Change, Press::Decline]);
    assert_eq!(card.offer.as_ref().unwrap().kind, Kind::Apply);
    let work = line.ended().unwrap();
    assert_eq!((&work["place"], &work["footer"]), (&json!("Rehearsed"), &json!("Your files are untouched")));

    let (recorded, message) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    let done = line.card(CardKind::Done).unwrap();
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "new a\n");
    assert_eq!(copies(&silas), 0);
    line.send(&json!({ "type": "proof", "execution": work["execution"] })).unwrap();
    let proof = line.wait_for("proof").unwrap()["proof"].clone();
    let titles: Vec<&str> = proof["steps"].as_array().unwrap().iter().map(|s| s["title"].as_str().unwrap()).collect();
    assert!(titles.contains(&"Your house rules allowed to try it out"), "{titles:?}");
    assert!(titles.contains(&"You approved exactly these changes"), "{titles:?}");
    assert_eq!(proof["no_bundle"], json!(null));
    let said = ["The owner's house rules allowed to try it out: Signed on", "The owner approved exactly these changes"];
    travels(&silas, "applied.json", &said);
    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    assert_eq!(silas.tree(), original);
    travels(&silas, "undone.json", &["It was undone"]);
    let told = line.ask("what did you do?");
    for row in ["Proved 4 changed files", "You approved a result", "Proved and applied 4 files"] {
        assert!(told.contains(row), "{row}: {told}");
    }
    silas.assert_ledger_holds();
}

#[test]
fn do_it_show_me_first() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert_eq!(plan.face.ctas[1].label, "Do it, show me first");
    // The other offer knows one answer; and whoever approves it has not approved the plan.
    let other = silas_core::card::Card { offer: plan.show_first.clone(), ..plan.clone() };
    let declined = line.token(&other, Verdict::Declined).unwrap();
    assert!(!line.submit(&plan, &declined).unwrap().0);
    let (recorded, message) = line.show_me_first(&plan).unwrap();
    assert!(recorded && message.contains("shown the result first"), "{message}");
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!(silas.tree(), original);
    let (again, _) = line.decide(&plan, Verdict::Approved).unwrap();
    assert!(!again, "a card is answered once, whichever way");
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    assert_ne!(silas.tree(), original);
    travels(&silas, "proof.json", &["The owner had this plan tried out first: Signed on"]);
    silas.assert_ledger_holds();
}

#[test]
fn what_is_discarded_is_gone() {
    for verdict in [Verdict::Declined, Verdict::EditRequested] {
        let silas = Silas::start();
        let original = silas.tree();
        let mut line = rehearsed(&silas);
        let card = line.card(CardKind::Rehearsed).unwrap();
        assert_eq!(copies(&silas), 1);
        let (recorded, message) = line.decide(&card, verdict).unwrap();
        assert!(recorded && message.contains("discarded"), "{message}");
        assert_eq!((copies(&silas), silas.tree()), (0, original));
        let (again, _) = line.decide(&card, Verdict::Approved).unwrap();
        assert!(!again);
        line.wait(|line| line.cards.is_empty()).unwrap();
        silas.assert_ledger_holds();
    }
}

#[test]
fn without_a_check_the_result_waits_and_says_so() {
    // With rehearsals and without: nothing is applied by itself.
    for first in ["true", "false"] {
        let silas = Silas::start_with(&[("SILAS__APPROVAL__REHEARSE_FIRST", first)]);
        let original = silas.tree();
        silas.pair();
        let mut line = silas.line();
        let dir = silas.repo().display().to_string();
        let plan = format!(
            "---\nid: task-1\ntitle: Fix it\ntype: task\nbudget: {{ max_wall_time_seconds: 300 }}\nsteps:\n  - run: sh fix.sh\nsandbox:\n  directories:\n    - path: {dir}\n      access: write\n---\nFix it.\n"
        );
        line.say(&plan).unwrap();
        line.approve(CardKind::Root).unwrap();
        if first == "false" {
            line.approve(CardKind::Plan).unwrap();
        }
        let card = line.card(CardKind::Rehearsed).unwrap();
        assert_eq!(card.face.ctas[0].label, "Apply 4 files, unproven");
        assert_eq!(card.face.evidence.as_ref().unwrap().outcome, Outcome::Unproven);
        assert_eq!((silas.tree(), card.face.risk), (original.clone(), Some(Risk::Medium)));
        assert!(line.decide(&card, Verdict::Approved).unwrap().0);
        line.card(CardKind::Done).unwrap();
        assert_ne!(silas.tree(), original);
        silas.assert_ledger_holds();
        // The file of it says no more than that.
        let file = silas.outside().join("unproven").to_str().unwrap().to_owned();
        let (code, text) = silas.command(&["work", "proof", "--out", &file]);
        assert_eq!(code, 0, "{text}");
        let (_, root) = silas.command(&["key", "root"]);
        let (code, text) = silas.command(&["verify", &file, "--key", root.trim()]);
        assert!(code == 0 && text.contains("VERIFIED. Unproven") && !text.contains("Proved"), "{text}");
    }
}

#[test]
fn what_needs_no_decision_ends_as_ever() {
    for (run, check, intent) in
        [("true", "true", "Already passes, nothing to do"), ("true", "sh check.sh", "The check is still red")]
    {
        let silas = Silas::start();
        let original = silas.tree();
        silas.pair();
        let mut line = silas.line();
        line.say(&format!("run `{run}` in `{}` and check with `{check}`", silas.repo().display())).unwrap();
        line.approve(CardKind::Root).unwrap();
        let card = line.card(CardKind::Report).unwrap();
        assert_eq!(card.face.intent, intent);
        assert_eq!((copies(&silas), silas.tree()), (0, original));
        silas.assert_ledger_holds();
    }
}

#[test]
fn what_is_not_rehearsed_is_asked_about() {
    // A host is a way out; so is a commit. And an owner may want every plan first.
    let check = |silas: &Silas, wish: &str| {
        silas.pair();
        let mut line = silas.line();
        line.say(wish).unwrap();
        line.approve(CardKind::Root).unwrap();
        line.card(CardKind::Plan).unwrap();
        assert!(line.work.is_empty(), "{wish}");
    };
    let silas = Silas::start();
    let dir = silas.repo().display().to_string();
    check(&silas, &format!("run `{FIX}` in `{dir}` reaching `example.com:443` and check with `sh check.sh`"));
    let silas = Silas::start_with(&[("SILAS__APPROVAL__REHEARSE_FIRST", "false")]);
    check(&silas, &silas.wish());
}

#[test]
fn revoked_house_rules_rehearse_nothing() {
    let silas = Silas::start();
    let mut line = rehearsed(&silas);
    let grants = line.snapshot["grants"].as_array().unwrap();
    let rules = grants.iter().find(|grant| grant["title"] == "House rules").unwrap();
    assert!(rules["text"].as_str().unwrap().contains("at most 100 times a day"), "{rules}");
    let (code, text) = silas.command(&["grant", "revoke", rules["token"].as_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    line.say("run `echo x > x` and check with `test -f x`").unwrap();
    line.card(CardKind::Plan).unwrap();
    // What was rehearsed under them still waits: it is applied by a decision of its own.
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    silas.assert_ledger_holds();
}

#[test]
fn a_result_survives_a_restart() {
    let mut silas = Silas::start();
    let original = silas.tree();
    let line = rehearsed(&silas);
    drop(line);
    silas.terminate();
    silas.up(&[]);
    let mut line = silas.line();
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!((copies(&silas), silas.tree()), (1, original.clone()));
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    assert_ne!(silas.tree(), original);
    silas.assert_ledger_holds();
}

#[test]
fn an_edit_while_it_waits_is_never_overwritten() {
    let silas = Silas::start();
    let mut line = rehearsed(&silas);
    let card = line.card(CardKind::Rehearsed).unwrap();
    fs::write(silas.repo().join("src/a.txt"), "mine\n").unwrap();
    let edited = silas.tree();
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    let conflict = line.card(CardKind::Conflict).unwrap();
    assert_eq!(conflict.face.intent, "The same file was changed meanwhile");
    assert_eq!((silas.tree(), copies(&silas)), (edited, 0));
    silas.assert_ledger_holds();
}

#[test]
fn the_commands_of_the_terminal_decide_about_a_result() {
    let silas = Silas::start();
    let original = silas.tree();
    let (code, text) = silas.command(&["grant", "house-rules"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(silas.command(&["approve"]).0, 0);
    let (code, text) = silas.command(&["say", &silas.wish()]);
    assert!(code == 0 && text.contains("Let plans work in repo"), "{text}");
    assert_eq!(silas.command(&["approve"]).0, 0);
    silas.line().card(CardKind::Rehearsed).unwrap();
    let (code, text) = silas.command(&["review"]);
    assert!(
        code == 0 && text.contains("1  Apply 4 changed files to repo, made by ‘sh fix.sh…ore/c.txt’  (● Low risk)"),
        "{text}"
    );
    let (code, text) = silas.command(&["show"]);
    assert!(code == 0 && text.contains("+ new a") && text.contains("− old a"), "{text}");
    assert!(text.contains("silas decline  Discard the copy"), "{text}");
    assert_eq!(silas.tree(), original);
    let (code, text) = silas.command(&["approve"]);
    assert!(code == 0 && text.contains("Applied 4 files") && text.contains("4 files changed in repo"), "{text}");
    assert_eq!(silas.command(&["undo"]).0, 0);

    let wish = silas.wish().replace("fix.sh", "fix.sh; true");
    silas.command(&["say", &wish]);
    silas.line().card(CardKind::Rehearsed).unwrap();
    let (code, text) = silas.command(&["decline"]);
    assert!(code == 0 && text.contains("The copy is discarded"), "{text}");
    assert_eq!((silas.tree(), copies(&silas)), (original, 0));
    silas.assert_ledger_holds();
}

#[test]
fn a_result_that_waits_is_put_in_place_by_its_name() {
    let silas = Silas::start();
    let (code, text) = silas.command(&["work", "apply"]);
    assert!(code == 1 && text.contains("no such work"), "{text}");
    let original = silas.tree();
    rehearsed(&silas);
    let name = silas.called("work").remove(0);
    let (code, text) = silas.command(&["work", "apply", &name, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(code == 0 && told["recorded"] == true && told["work"]["place"] == "Applied", "{text}");
    assert_ne!(silas.tree(), original);
    let (code, text) = silas.command(&["work", "apply", &name]);
    assert!(code == 1 && text.contains("it is in place already"), "{text}");
    assert_eq!(silas.command(&["work", "undo", &name]).0, 0);
    assert_eq!(silas.tree(), original);
    let (code, text) = silas.command(&["work", "apply", &name]);
    assert!(code == 1 && text.contains("undone"), "{text}");
    silas.assert_ledger_holds();
}

#[test]
fn a_plan_is_shown_first_from_the_terminal() {
    let silas = Silas::start();
    silas.command(&["say", &silas.wish()]);
    silas.command(&["approve"]);
    let (code, text) = silas.command(&["rehearse"]);
    assert!(
        code == 0 && text.contains("Kept the result for you") && text.contains("silas approve  Apply 4 files"),
        "{text}"
    );
    let (code, text) = silas.command(&["rehearse"]);
    assert!(code != 0 && text.contains("does not offer that"), "{text}");
    let (code, text) = silas.command(&["approve"]);
    assert!(code == 0 && text.contains("4 files changed in repo"), "{text}");
}
