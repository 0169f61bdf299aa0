//! `silas audit forget`: the text goes from everywhere, the entry stays, and only the terminal can have it so.

use crate::harness::{Device, Silas};
use crate::inquiries::{QUESTION, WISH, World, asks, next_question, plans};
use serde_json::json;
use silas_core::card::CardKind;
use silas_core::token::Verdict;
use std::path::Path;

const SECRET: &str = "combination-of-the-safe-4711";

/// The number of the entry that has this text, as `silas audit list` tells it.
fn number_of(silas: &Silas, event: &str, text: &str) -> String {
    let (code, listed) = silas.command(&["audit", "list"]);
    assert_eq!(code, 0, "{listed}");
    let line = listed.lines().find(|line| line.contains(event) && line.contains(text));
    line.unwrap_or_else(|| panic!("{event} {text}: {listed}")).split_whitespace().next().unwrap().to_owned()
}

/// Whether any file below has it; sockets and what goes meanwhile have nothing.
fn is_in(dir: &Path, needle: &str) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_in(&path, needle);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
    })
}

#[test]
fn what_the_owner_wants_forgotten_is_gone_and_the_ledger_says_that_it_was() {
    let mut silas = Silas::start();
    silas.line().ask(&format!("remember the {SECRET}"));
    silas.line().ask("something else");
    assert!(is_in(&silas.data().join("store"), SECRET));
    let number = number_of(&silas, "message_received", SECRET);
    let (code, text) = silas.command(&["audit", "forget", &number]);
    assert!(code == 0 && text.contains(SECRET) && text.contains("--yes"), "{text}");
    assert!(is_in(&silas.data().join("store"), SECRET), "looking is not forgetting");
    let (code, text) = silas.command(&["audit", "forget", &number, "--yes"]);
    assert!(code == 0 && text.contains("Forgotten."), "{text}");
    assert!(!is_in(&silas.data().join("store"), SECRET));
    let entries = silas.line().snapshot["entries"].to_string();
    assert!(entries.contains("(forgotten)") && entries.contains("something else"), "{entries}");
    let (_, text) = silas.command(&["activity"]);
    assert!(text.contains(&format!("You had the text of entry {number} forgotten. Signed on ")), "{text}");
    let (code, text) = silas.command(&["audit", "verify"]);
    assert!(code == 0 && text.contains("1 text was forgotten, as the ledger says."), "{text}");
    let (code, text) = silas.command(&["audit", "forget", &number, "--yes"]);
    assert!(code == 1 && text.contains("has no text, or it is forgotten already"), "{text}");
    let (code, text) = silas.command(&["audit", "forget", "99999"]);
    assert!(code == 1 && text.contains("The ledger has no entry 99999."), "{text}");
    silas.kill();
    silas.up(&[]);
    drop(silas.line());
    silas.assert_ledger_holds();
}

#[test]
fn what_a_plan_says_is_kept_while_its_card_is_open_and_goes_with_it() {
    let silas = Silas::start();
    let mut line = silas.line();
    let wish = format!("run `echo {SECRET}` in `{}` and check with `true`", silas.repo().display());
    line.ask(&wish);
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    let number = number_of(&silas, "message_received", SECRET);
    let (code, text) = silas.command(&["audit", "forget", &number, "--yes"]);
    assert!(code == 1 && text.contains("a card about it is in Review"), "{text}");
    assert!(line.decide(&plan, Verdict::Declined).unwrap().0);
    let (code, text) = silas.command(&["audit", "forget", &number, "--yes"]);
    assert!(code == 0, "{text}");
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let n: i64 = db.query_row("SELECT count(*) FROM work_items", [], |row| row.get(0)).unwrap();
    assert_eq!(n, 0, "the plan is gone");
    silas.assert_ledger_holds();
}

/// What a model proposes as an answer, and what the owner writes instead.
const OPTION: &str = "hidden-under-the-stairs-4712";
const ANSWER: &str = "buried-by-the-oak-4713";

/// Has an entry forgotten; or gives what is said instead.
fn forget(silas: &Silas, number: &str) -> Result<(), String> {
    let (code, text) = silas.command(&["audit", "forget", number, "--yes"]);
    if code == 0 && text.contains("Forgotten.") { Ok(()) } else { Err(text) }
}

#[test]
fn what_a_model_asked_and_what_was_answered_is_forgotten_once_nothing_needs_it() {
    let world = World::new(&[]);
    let (silas, repo) = (&world.silas, world.silas.repo());
    let then = vec![asks(&[OPTION, "d"]), plans(&repo, ""), plans(&repo, "")];
    let (mut line, first) = world.asked_and(&[OPTION, "b"], then);
    let needed = |numbers: &[&String], why: &str| {
        for number in numbers {
            let refused = forget(silas, number).unwrap_err();
            assert!(refused.contains(why), "{number}: {refused}");
        }
    };
    let wish = number_of(silas, "message_received", WISH);
    let question = number_of(silas, "question_asked", QUESTION);
    needed(&[&wish, &question], "a card about it is in Review");

    // The second question repeats what was answered to the first.
    assert!(line.answer(&first, ANSWER).unwrap().0);
    let second = next_question(&mut line, &[&first]);
    assert!(second.face.asked.as_ref().unwrap().contains(ANSWER));
    let answer = number_of(silas, "message_received", ANSWER);
    needed(&[&wish, &question, &answer], "a card about it is in Review");

    // Held up by a directory, the wish waits with everything that was said about it.
    assert!(line.answer(&second, OPTION).unwrap().0);
    let root = line.card(CardKind::Root).unwrap();
    needed(&[&wish, &question, &answer], "Silas is still at what this asks for");
    assert!(line.decide(&root, Verdict::Approved).unwrap().0);

    // The plan repeats what was typed; the question is on its own card only.
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(plan.face.asked.as_ref().unwrap().contains(ANSWER));
    needed(&[&wish, &answer], "a card about it is in Review");
    forget(silas, &question).unwrap();
    assert!(line.decide(&plan, Verdict::Declined).unwrap().0);
    assert!(is_in(&silas.data(), ANSWER));
    forget(silas, &answer).unwrap();
    assert!(!is_in(&silas.data(), ANSWER));

    // Whatever else repeats one of them has an entry of its own.
    let (_, listed) = silas.command(&["audit", "list", "--last", "200"]);
    let said = ["message_received", "reply_sent", "question_asked", "card_offered"];
    for entry in listed.lines().filter(|line| [WISH, QUESTION, OPTION].iter().any(|text| line.contains(text))) {
        assert!(said.iter().any(|event| entry.contains(event)), "{entry}");
        forget(silas, entry.split_whitespace().next().unwrap()).unwrap();
    }
    for text in [WISH, QUESTION, OPTION, ANSWER] {
        assert!(!is_in(&silas.data(), text), "{text}");
    }
    silas.assert_ledger_holds();
}

#[test]
fn an_answer_that_led_to_work_goes_with_the_work_once_that_cannot_be_undone() {
    let world = World::new(&[]);
    let (silas, repo) = (&world.silas, world.silas.repo());
    let (mut line, question) = world.asked_and(&[OPTION, "b"], vec![plans(&repo, ""), plans(&repo, "")]);
    assert!(line.answer(&question, ANSWER).unwrap().0);
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.card(CardKind::Done).unwrap();
    let answer = number_of(silas, "message_received", ANSWER);
    let refused = forget(silas, &answer).unwrap_err();
    assert!(refused.contains("what came of it can still be undone"), "{refused}");
    let (code, said) = silas.command(&["undo"]);
    assert_eq!(code, 0, "{said}");
    forget(silas, &answer).unwrap();
    assert!(!is_in(&silas.data(), ANSWER));
    silas.assert_ledger_holds();
}

#[test]
fn only_the_terminal_can_have_something_forgotten() {
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    line.ask(&format!("remember the {SECRET}"));
    let number: u64 = number_of(&silas, "message_received", SECRET).parse().unwrap();
    let installation = line.installation();
    let words = format!("forget the text of ledger entry {number}");
    let body = |text: &str| silas_core::message::MessageBody {
        text: text.to_owned(),
        timestamp: crate::harness::now(),
        nonce: silas_core::Nonce::new(&crate::harness::OsRandom),
        installation: installation.clone(),
        scope: "owner".to_owned(),
    };
    let by_terminal = |text: &str| {
        let body = body(text);
        let asked = silas_core::key_service::SignBody::Message(body.clone());
        let signature = silas_sandbox::terminal_sign(&silas.data(), &asked, &mut || None).unwrap();
        silas_core::message::SignedMessage { body, signature }
    };
    let attempts = [
        device.message(&words, &installation),
        Device::new().message(&words, &installation),
        by_terminal("forget the text of ledger entry 1"),
        by_terminal(&format!("please {words}")),
    ];
    for message in attempts {
        line.send(&json!({ "type": "forget", "seq": number, "message": message })).unwrap();
        let refused = line.wait_for("error").unwrap();
        assert_eq!(refused["code"], "E_APPROVAL_FORGET", "{refused}");
    }
    // The same words twice are once too often.
    let good = by_terminal(&words);
    line.send(&json!({ "type": "forget", "seq": number, "message": good })).unwrap();
    line.wait_for("done").unwrap();
    line.send(&json!({ "type": "forget", "seq": number, "message": good })).unwrap();
    assert_eq!(line.wait_for("error").unwrap()["code"], "E_APPROVAL_FORGET");
}
