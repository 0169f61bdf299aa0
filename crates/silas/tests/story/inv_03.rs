//! INV-03: done is what checks outside the work show. Nothing that a command says or does to look done counts.

use crate::harness::Silas;
use silas_core::card::CardKind;
use silas_core::token::{Kind, Verdict};

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
    applies_nothing("true", "true", "Already passes, nothing to do");
    // It guards nothing, so what was changed waits and is never called proved.
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    let work = line.run(&format!("run `sh fix.sh` in `{}` and check with `true`", silas.repo().display())).unwrap();
    assert_eq!((&work["outcome"], &work["place"]), (&"guarded".into(), &"Rehearsed".into()));
    assert_eq!(silas.tree(), original);
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

/// Two results that wait, in one installation.
fn two_that_wait() -> (Silas, crate::harness::Line, silas_core::card::Card, silas_core::card::Card) {
    let silas = Silas::start();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Rehearsed).unwrap();
    line.say("run `echo evil > evil.txt` and check with `test -f evil.txt`").unwrap();
    let waiting = |line: &crate::harness::Line| -> Vec<silas_core::card::Card> {
        line.cards.iter().filter(|card| card.face.kind == CardKind::Rehearsed).cloned().collect()
    };
    line.wait(|line| waiting(line).len() == 2).unwrap();
    let mut both = waiting(&line);
    both.sort_by_key(|card| card.created_at);
    let (second, first) = (both.pop().unwrap(), both.pop().unwrap());
    (silas, line, first, second)
}

#[test]
fn a_decision_about_one_result_does_not_apply_another() {
    let (silas, mut line, first, second) = two_that_wait();
    let original = silas.tree();
    let token = line.token(&first, Verdict::Approved).unwrap();
    let (recorded, message) = line.submit(&second, &token).unwrap();
    assert!(!recorded && message.contains("not about this card"), "{message}");
    // Nor does an offer that somebody made up: for the changes of the other, for a run that never was, for a plan.
    for (kind, from, to) in [
        (Kind::Apply, first.payload.clone().unwrap(), second.payload.clone().unwrap()),
        (Kind::Plan, first.payload.clone().unwrap(), first.payload.clone().unwrap()),
    ] {
        let mut made_up = first.clone();
        let offer = made_up.offer.as_mut().unwrap();
        offer.kind = kind;
        offer.scope = kind.scope();
        offer.plan_hash = silas_core::Digest::of(to.replace(&from, &to).as_bytes());
        let token = line.token(&made_up, Verdict::Approved).unwrap();
        let (recorded, message) = line.submit(&first, &token).unwrap();
        assert!(!recorded, "{message}");
    }
    assert_eq!(silas.tree(), original);
}

#[test]
fn a_copy_that_was_changed_while_it_waited_is_not_applied() {
    let (silas, mut line, first, _) = two_that_wait();
    let original = silas.tree();
    let payload: serde_json::Value = serde_json::from_str(first.payload.as_ref().unwrap()).unwrap();
    let copy = silas.data().join("launcher/work").join(payload["execution"].as_str().unwrap()).join("copy-0");
    let layer = copy.join("upper");
    let changed = if layer.is_dir() { layer } else { copy }.join("src/a.txt");
    assert_eq!(std::fs::read_to_string(&changed).unwrap(), "new a\n");
    std::fs::write(&changed, "new, but evil\n").unwrap();
    let (recorded, message) = line.decide(&first, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    let report = line.card(CardKind::Report).unwrap();
    let why = format!("{:?}", report.face.details);
    assert!(why.contains("not what was approved"), "{why}");
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

/// What a front that was taken over, or a database that was tampered with, makes of a card between rehearsal and decision.
#[test]
fn a_card_that_was_made_to_lie_is_not_decided() {
    for lie in [
        (|card: &mut serde_json::Value| card["face"]["evidence"]["outcome"] = "guarded".into())
            as fn(&mut serde_json::Value),
        |card| card["face"]["evidence"]["before"] = serde_json::json!([]),
        |card| card["face"]["diffs"] = serde_json::json!([]),
    ] {
        let mut silas = Silas::start();
        let original = silas.tree();
        silas.pair();
        let mut line = silas.line();
        line.say(&silas.wish()).unwrap();
        line.approve(CardKind::Root).unwrap();
        let card = line.card(CardKind::Rehearsed).unwrap();
        drop(line);
        silas.terminate();
        let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
        let id = card.id.as_str();
        let kept: String = db.query_row("SELECT card FROM cards WHERE id = ?1", [id], |row| row.get(0)).unwrap();
        let mut kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
        lie(&mut kept);
        // With hashes that fit, so that only what the launcher found can tell.
        let face: silas_core::card::Face = serde_json::from_value(kept["face"].clone()).unwrap();
        kept["offer"]["shown"] = serde_json::to_value(face.hash().unwrap()).unwrap();
        db.execute("UPDATE cards SET card = ?2 WHERE id = ?1", (id, kept.to_string())).unwrap();
        drop(db);
        silas.up(&[]);
        let mut line = silas.line();
        let lying = line.card(CardKind::Rehearsed).unwrap();
        let (recorded, message) = line.decide(&lying, Verdict::Approved).unwrap();
        assert!(!recorded && message.contains("Nothing ran"), "{message}");
        let (code, text) = silas.command(&["approve"]);
        assert!(code != 0 && text.contains("differ. Nothing was signed"), "{text}");
        assert_eq!(silas.tree(), original);
    }
}
