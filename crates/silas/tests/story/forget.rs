//! `silas audit forget`: the text goes from everywhere, the entry stays, and only the terminal can have it so.

use crate::harness::{Device, Silas};
use serde_json::json;
use std::path::Path;

const SECRET: &str = "combination-of-the-safe-4711";

/// The number of the entry that has this text, as `silas audit list` tells it.
fn number_of(silas: &Silas, event: &str, text: &str) -> String {
    let (code, listed) = silas.command(&["audit", "list"]);
    assert_eq!(code, 0, "{listed}");
    let line = listed.lines().find(|line| line.contains(event) && line.contains(text));
    line.unwrap_or_else(|| panic!("{event} {text}: {listed}")).split_whitespace().next().unwrap().to_owned()
}

fn is_in(dir: &Path, needle: &str) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
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
    line.approve(silas_core::card::CardKind::Root).unwrap();
    let plan = line.card(silas_core::card::CardKind::Plan).unwrap();
    let number = number_of(&silas, "message_received", SECRET);
    let (code, text) = silas.command(&["audit", "forget", &number, "--yes"]);
    assert!(code == 1 && text.contains("a card about it is in Review"), "{text}");
    assert!(line.decide(&plan, silas_core::token::Verdict::Declined).unwrap().0);
    let (code, text) = silas.command(&["audit", "forget", &number, "--yes"]);
    assert!(code == 0, "{text}");
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let n: i64 = db.query_row("SELECT count(*) FROM work_items", [], |row| row.get(0)).unwrap();
    assert_eq!(n, 0, "the plan is gone");
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
