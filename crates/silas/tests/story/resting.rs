//! Time passes: cards are parked, undo windows close, work is stopped, servers come and go.

use crate::harness::{ASKING, FIX, Line, Silas, TestSilas, counted};
use serde_json::json;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::token::{Kind, Verdict};
use std::fs;
use std::time::Duration;

#[test]
fn a_card_that_nobody_answers_is_parked_and_asks_again() {
    let silas = Silas::start_with(&[("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "2")]);
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    let card = line.card(CardKind::Root).unwrap();
    let late = line.token(&card, Verdict::Approved).unwrap();
    line.wait(|line| line.cards.iter().any(|c| c.state == CardState::Parked)).unwrap();
    let (recorded, message) = line.submit(&card, &late).unwrap();
    assert!(!recorded && message.contains("expired"), "{message}");
    line.send(&json!({ "type": "renew", "request_id": card.id })).unwrap();
    let renewed = line.card(CardKind::Root).unwrap();
    assert_eq!(renewed.id, card.id);
    assert_ne!(renewed.offer.as_ref().unwrap().nonce, card.offer.as_ref().unwrap().nonce);
    let (recorded, message) = line.submit(&card, &late).unwrap();
    assert!(!recorded, "the old decision does not fit the new offer: {message}");
    line.approve(CardKind::Root).unwrap();
}

#[test]
fn a_parked_plan_can_ask_for_a_rehearsal_instead() {
    let silas = Silas::start_with(&[("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "4"), ASKING]);
    let original = silas.tree();
    let mut line = silas.line();
    // The directory may park first on a busy machine; it is asked about until somebody is fast enough.
    line.say(&silas.wish()).unwrap();
    let root = line.card(CardKind::Root).unwrap();
    if !line.decide(&root, Verdict::Approved).unwrap().0 {
        renew(&mut line, &root, false);
        line.approve(CardKind::Root).unwrap();
    }
    let plan = line.card(CardKind::Plan).unwrap();
    parked(&mut line, &plan);
    let rehearsal = renew(&mut line, &plan, true);
    assert_eq!(
        (rehearsal.face.state.as_str(), rehearsal.face.intent.as_str()),
        ("Rehearsal", "Rehearse 1 command in repo")
    );
    assert_eq!(rehearsal.offer.as_ref().unwrap().kind, Kind::Rehearsal);
    assert!(rehearsal.show_first.is_none() && rehearsal.payload == plan.payload);
    assert_eq!(rehearsal.face.facts, plan.face.facts, "it reaches what the plan would reach");
    // Nothing that was offered before counts for it, and neither does an approval of the plan itself.
    let late = line.token(&plan, Verdict::Approved).unwrap();
    assert!(!line.submit(&plan, &late).unwrap().0);
    let mut as_plan = rehearsal.clone();
    as_plan.offer.as_mut().unwrap().kind = Kind::Plan;
    let forged = line.token(&as_plan, Verdict::Approved).unwrap();
    assert!(!line.submit(&rehearsal, &forged).unwrap().0);
    parked(&mut line, &rehearsal);
    line.send(&json!({ "type": "renew", "request_id": plan.id, "rehearse": true })).unwrap();
    let refused = line.wait_for("decided").unwrap();
    assert!(refused["message"].as_str().unwrap().contains("nothing that can be rehearsed"), "{refused}");
    let (recorded, message) = loop {
        let again = renew(&mut line, &rehearsal, false);
        assert_eq!(again.face, rehearsal.face);
        let (recorded, message) = line.decide(&again, Verdict::Approved).unwrap();
        if recorded || !message.contains("expired") {
            break (recorded, message);
        }
        parked(&mut line, &rehearsal);
    };
    assert!(recorded && message.contains("shown the result first"), "{message}");
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!((card.offer.unwrap().kind, silas.tree()), (Kind::Apply, original));
    line.send(&json!({ "type": "renew", "request_id": plan.id, "rehearse": true })).unwrap();
    assert_eq!(line.wait_for("decided").unwrap()["recorded"], false, "what was answered is not asked again");
    silas.assert_ledger_holds();
}

fn parked(line: &mut Line, card: &Card) {
    line.wait(|line| line.cards.iter().any(|one| one.id == card.id && one.state == CardState::Parked)).unwrap();
}

/// Has a parked card asked again and gives it back as it is then.
fn renew(line: &mut Line, card: &Card, rehearse: bool) -> Card {
    line.send(&json!({ "type": "renew", "request_id": card.id, "rehearse": rehearse })).unwrap();
    let is_open = |one: &Card| one.id == card.id && one.state == CardState::Open;
    line.wait(|line| line.cards.iter().any(is_open)).unwrap();
    line.cards.iter().find(|one| is_open(one)).unwrap().clone()
}

#[test]
fn the_old_versions_go_when_the_window_closes_also_if_only_the_terminal_is_used() {
    for has_rules in [true, false] {
        let silas = Silas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "2"), ASKING]);
        if has_rules {
            silas.pair();
        }
        let mut line = silas.line();
        line.run(&silas.wish()).unwrap();
        let done = line.card(CardKind::Done).unwrap();
        let changed = silas.tree();
        line.wait(|line| !line.cards.iter().any(|card| card.id == done.id)).unwrap();
        let kept = || {
            let names = fs::read_dir(silas.repo()).unwrap().map(|e| e.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().starts_with(".silas-")).count()
        };
        line.wait(|line| line.snapshot.is_object() && kept() == 0).unwrap();
        let (recorded, _) = line.decide(&done, Verdict::Approved).unwrap();
        assert!(!recorded, "the window is over");
        assert_eq!(silas.tree(), changed);
    }
}

#[test]
fn an_undo_never_overwrites_a_later_edit() {
    let silas = Silas::start();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    fs::write(silas.repo().join("src/b.txt"), "mine\n").unwrap();
    let edited = silas.tree();
    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(!recorded && message.contains("src/b.txt"), "{message}");
    assert_eq!(silas.tree(), edited);
    assert_eq!(line.card(CardKind::Report).unwrap().face.state, "Not undone");
    silas.assert_ledger_holds();
}

#[test]
fn the_owners_own_edit_meanwhile_is_a_conflict_and_stays() {
    let silas = Silas::start();
    let mut line = silas.line();
    // Waits in the copy until the owner has edited the original.
    let wish = format!("run `sleep 3; {FIX}` in `{}` and check with `sh check.sh`", silas.repo().display());
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|w| w["steps"][1]["state"] == "done")).unwrap();
    fs::write(silas.repo().join("src/a.txt"), "mine\n").unwrap();
    let edited = silas.tree();
    line.ended().unwrap();
    let card = line.card(CardKind::Conflict).unwrap();
    let versions = card.face.versions.as_ref().unwrap();
    assert_eq!(versions.says, "Line 1 of `src/a.txt` has two new versions. Yours is in place and safe.");
    // The change is there to be read and saved, though its original is not in its place any more.
    let diff = card.face.diffs.iter().find(|diff| diff.path.to_string() == "src/a.txt").unwrap();
    assert!(diff.is_verbatim && (diff.added, diff.removed) == (1, 1), "{diff:?}");
    assert_eq!(silas.tree(), edited);
}

/// What was asked for last is on its way: "undo" does not take back something older meanwhile.
#[test]
fn undo_waits_for_work_that_is_under_way() {
    let silas = Silas::start_asking();
    silas.pair();
    let mut line = silas.line();
    assert_eq!(line.run(&silas.wish()).unwrap()["outcome"], "proved");
    let applied = silas.tree();
    line.say(&format!("run `sleep 1000` in `{}` and check with `test -f never`", silas.repo().display())).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|w| w["steps"][2]["state"] == "running")).unwrap();
    let (code, text) = silas.command(&["undo"]);
    assert!(code == 1 && text.contains("Work is under way") && text.contains("silas work undo NAME"), "{code} {text}");
    assert_eq!(silas.tree(), applied);
    assert_eq!(silas.command(&["stop", "--all"]).0, 0);
    line.wait(|line| line.work.values().all(|w| w["running"] == false)).unwrap();
    let (code, text) = silas.command(&["undo"]);
    assert!(code == 0 && text.contains("exactly as before"), "{text}");
    assert_ne!(silas.tree(), applied);
}

#[test]
fn stop_ends_everything_at_once() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    let wish = format!("run `sleep 1000` in `{}` and check with `sh check.sh`", silas.repo().display());
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|w| w["steps"][2]["state"] == "running")).unwrap();
    let (code, text) = silas.command(&["stop", "--all"]);
    assert_eq!(code, 0, "{text}");
    line.ended().unwrap();
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "Stopped before it was done");
    // The check was red before, as it should be; that is no verdict about work that the owner ended.
    assert!(
        report.face.evidence.is_none() && report.face.details.iter().any(|d| d.title == "The checks before it began")
    );
    let (_, told) = silas.command(&["work", "show"]);
    assert!(told.contains("ended before its checks ran again") && !told.contains("ran again:"), "{told}");
    assert_eq!(silas.tree(), original);
}

#[test]
fn what_was_open_is_open_after_a_restart() {
    let mut silas = Silas::start();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    silas.terminate();
    silas.up(&[]);
    let mut line = silas.line();
    assert_eq!(line.card(CardKind::Plan).unwrap(), plan);
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    silas.terminate();
    silas.up(&[]);
    let mut line = silas.line();
    let done = line.card(CardKind::Done).unwrap();
    assert!(line.decide(&done, Verdict::Approved).unwrap().0);
    silas.assert_ledger_holds();
}

/// Enough files that an apply takes a while.
fn many_files(silas: &Silas) -> String {
    for n in 0..1500 {
        fs::write(silas.repo().join(format!("many-{n}")), "bad\n").unwrap();
    }
    let dir = silas.repo().display().to_string();
    let check = counted("grep -q good many-1499");
    format!(
        "---\nid: task-many\ntype: task\ntitle: Many files\nexits: {{ paths: [\"many-*\"] }}\nsteps:\n  - run: for f in many-*; do \
         echo good > $f; done\nverify:\n  - name: good\n    run: \"{check}\"\n    expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    \
         - {{ path: {dir}, access: write }}\n---\nMake them good.\n"
    )
}

#[test]
fn a_stop_in_the_middle_of_an_apply_never_claims_that_nothing_was_touched() {
    let silas = Silas::start();
    let wish = many_files(&silas);
    let mut line = silas.line();
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| work["steps"][4]["state"] == "running")).unwrap();
    line.send(&json!({ "type": "stop" })).unwrap();
    let work = line.ended().unwrap();
    let n_good = silas.tree().values().filter(|text| text.as_slice() == b"good\n").count();
    match work["place"].as_str().unwrap() {
        "Applied" => assert_eq!(n_good, 1500),
        _ => assert_eq!(n_good, 0, "{work}"),
    }
}

#[test]
fn work_that_was_interrupted_by_a_shutdown_is_taken_up_again() {
    let mut silas = Silas::start_with(&[ASKING, ("SILAS__BACKPRESSURE__SHUTDOWN_GRACE_SECONDS", "0")]);
    silas.pair();
    let mut line = silas.line();
    let wish = format!("run `sleep 3; {FIX}` in `{}` and check with `sh check.sh`", silas.repo().display());
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    silas.terminate();
    silas.up(&[]);
    let mut line = silas.line();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
}

/// Where no house rules were ever signed, as in a terminal: the decision about the plan is enough.
#[test]
fn approved_work_is_taken_up_again_without_house_rules() {
    let mut silas = TestSilas::start_asking();
    let mut line = silas.line();
    line.say(&format!("run `sleep 3; {FIX}` in `{}` and check with `sh check.sh`", silas.repo().display())).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    let begun = line.work.keys().next().unwrap().clone();
    drop(line);
    silas.restart();
    let ended = silas.line().ended().unwrap();
    assert_eq!((&ended["outcome"], &ended["execution"]), (&json!("proved"), &json!(begun)), "{ended}");
    assert!(silas.command(&["activity"]).1.contains("Began interrupted work again"));
    silas.assert_proof_travels();
    silas.assert_ledger_holds();
}

/// Its time is over, so the approval that it had is used up; one tap does it again.
#[test]
fn interrupted_work_whose_time_is_over_asks_again() {
    let mut silas = TestSilas::start_asking();
    let mut line = silas.line();
    line.say(&format!("run `sleep 3; {FIX}` in `{}` and check with `sh check.sh`", silas.repo().display())).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    drop(line);
    silas.sleep_for(Duration::from_secs(24 * 3600));
    let mut line = silas.line();
    assert_eq!(line.ended().unwrap()["place"], "Nothing applied");
    let told = line.snapshot["entries"].to_string();
    assert!(
        told.contains("Interrupted before it was done. Your files in repo are untouched. Whether to do it again"),
        "{told}"
    );
    line.work.clear();
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
}

#[test]
fn an_undo_that_was_refused_is_offered_again() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    fs::write(silas.repo().join("src/b.txt"), "mine\n").unwrap();
    assert!(!line.decide(&done, Verdict::Approved).unwrap().0);
    fs::write(silas.repo().join("src/b.txt"), "new b\n").unwrap();
    line.wait(|line| line.cards.iter().any(|card| card.face.kind == CardKind::Done && card.id != done.id)).unwrap();
    line.approve(CardKind::Done).unwrap();
    assert_eq!(silas.tree(), original);
}

#[test]
fn an_undo_is_not_thrown_away_by_declining_it() {
    let silas = Silas::start();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    assert!(!line.decide(&done, Verdict::Declined).unwrap().0);
    assert!(line.decide(&done, Verdict::Approved).unwrap().0);
}

#[test]
fn a_result_that_was_put_away_can_still_be_undone_while_its_window_is_open() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    line.send(&json!({ "type": "dismiss", "request_id": done.id })).unwrap();
    line.wait(|line| line.cards.iter().all(|card| card.id != done.id)).unwrap();
    let reply = line.ask("put back the last change");
    assert!(reply.contains("Its card is in Review"), "{reply}");
    let again = line.card(CardKind::Done).unwrap();
    assert_eq!(again.id, done.id);
    assert!(line.decide(&again, Verdict::Approved).unwrap().0);
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

/// What is asked now comes before what was not answered in time, and the newest result before older ones.
#[test]
fn what_nobody_answered_stands_in_nobodys_way() {
    let mut silas = Silas::start_with(&[ASKING, ("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "1")]);
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.wait(|line| line.cards.iter().any(|card| card.state == CardState::Parked)).unwrap();
    let parked = line.cards[0].id.clone();
    silas.terminate();
    silas.up(&[("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "300")]);
    let mut line = silas.line();
    let other = silas.outside().join("other");
    fs::create_dir(&other).unwrap();
    line.say(&format!("run `true` in `{}` and check with `true`", other.display())).unwrap();
    line.wait(|line| line.cards.len() == 2).unwrap();
    assert!(line.cards[0].id != parked && line.cards[0].state == CardState::Open, "{:?}", line.cards);
    assert_eq!(line.cards[1].id, parked);
}

/// However many cards wait, none is out of reach: a door is given a page of them, and asks for the rest.
#[test]
fn every_one_of_very_many_cards_can_be_seen_and_answered() {
    const N: usize = 1205;
    let mut silas = Silas::start();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.card(CardKind::Root).unwrap();
    drop(line);
    silas.terminate();
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let (report, created): (String, i64) =
        db.query_row("SELECT card, created_at FROM cards", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    for n in 0..N {
        let mut card: serde_json::Value = serde_json::from_str(&report).unwrap();
        let at = silas_core::Timestamp::from_micros(created + 1 + n as i64);
        card["id"] = json!(format!("card-{n}"));
        card["created_at"] = json!(at);
        (card["offer"], card["payload"]) = (json!(null), json!(null));
        card["face"]["kind"] = json!("report");
        card["face"]["intent"] = json!(format!("Report {n}"));
        db.execute(
            "INSERT INTO cards (id, state, created_at, subject, card) VALUES (?1, 'open', ?2, 'exec-1', ?3)",
            rusqlite::params![format!("card-{n}"), at.micros(), card.to_string()],
        )
        .unwrap();
    }
    drop(db);
    silas.up(&[]);
    let line = silas.line();
    assert!(line.cards.len() < N, "a page is a page");
    assert_eq!(line.cards.len() + line.snapshot["n_more_cards"].as_u64().unwrap() as usize, N + 1);
    assert_eq!(line.cards[0].face.kind, CardKind::Root, "what asks comes first");
    let (_, text) = silas.command(&["review"]);
    assert_eq!(text.lines().count(), N + 1, "{text}");
    assert!(text.contains(&format!("{}  Report 0", N + 1)), "{text}");
    let (code, text) = silas.command(&["dismiss", "card-0"]);
    assert!(code == 0 && text.contains("Put away."), "{text}");
    let (_, text) = silas.command(&["status"]);
    assert!(text.contains("1 needs review.") && text.contains("1,204 results to look at"), "{text}");
}
