//! A row that cannot be read takes no door away: what can be read is shown, what cannot is named, and stop, revoke and status
//! are heard whatever the store holds.

use crate::harness::{ASKING, Line, Place, Silas, TestSilas};
use crate::page::Page;
use rusqlite::Connection;
use serde_json::json;
use silas_core::card::CardKind;
use std::time::Duration;

/// Begins something that does not end by itself, with another plan that waits in Review.
fn with_work(silas: &Place) -> Line {
    let mut line = silas.line();
    line.say(&silas.planned("sleep 600", &[], "false")).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    line.say(&silas.planned("true", &[], "false")).unwrap();
    line.card(CardKind::Plan).unwrap();
    line
}

/// As somebody with an editor for databases would.
fn damage(silas: &Place, sql: &str) {
    let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.busy_timeout(Duration::from_secs(10)).unwrap();
    assert!(db.execute(sql, []).unwrap() > 0, "{sql}");
}

const ENTRY: &str = "UPDATE chronicle SET sender = 'zz' WHERE seq = (SELECT max(seq) FROM chronicle)";
const CARD: &str = "UPDATE cards SET card = '{' WHERE state = 'open'";
const BYTES: &str = "UPDATE chronicle SET text = CAST(x'ff' AS TEXT) WHERE seq = (SELECT min(seq) FROM chronicle)";

#[test]
fn a_stop_is_done_whatever_cannot_be_read() {
    let silas = TestSilas::start_asking();
    let mut line = with_work(&silas);
    [ENTRY, BYTES, CARD].iter().for_each(|sql| damage(&silas, sql));
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains("1 active"), "{text}");
    let named = "A card of Review and an entry of the conversation cannot be read";
    assert_eq!(text.matches(named).count(), 1, "{text}");
    assert!(text.contains("`silas restore FILE --replace`") && text.contains("(E_DB_DAMAGED)"), "{text}");
    let (code, text) = silas.command(&["stop", "--all"]);
    assert!(code == 0 && text.contains("Everything is stopped. What was being put in place"), "{text}");
    assert_eq!(text.matches(named).count(), 1, "{text}");
    assert_eq!(line.ended().unwrap()["place"], "Nothing applied");
    // The rest is there: what was said before and after, and the cards that can be read.
    assert!(line.ask("help").contains("run COMMAND"));
    assert!(line.cards.iter().any(|card| card.face.kind == CardKind::Report));
}

#[test]
fn grants_are_taken_back_whatever_cannot_be_read() {
    let silas = TestSilas::start_asking();
    let mut line = with_work(&silas);
    [ENTRY, CARD].iter().for_each(|sql| damage(&silas, sql));
    let (code, text) = silas.command(&["stop", "--all", "--revoke"]);
    assert!(code == 0 && text.contains("1 grant revoked"), "{text}");
    assert_eq!(line.ended().unwrap()["place"], "Nothing applied");
    assert!(silas.command(&["grant", "list"]).1.contains("Nothing is granted"));
}

#[test]
fn a_page_is_let_in_and_stops_whatever_cannot_be_read() {
    let silas = TestSilas::start_asking();
    let device = silas.pair();
    let mut line = with_work(&silas);
    [ENTRY, CARD].iter().for_each(|sql| damage(&silas, sql));
    let mut page = Page::open(&silas, &device, None);
    let trouble = &page.welcome["snapshot"]["trouble"];
    assert_eq!(trouble["code"], "E_DB_DAMAGED", "{trouble}");
    page.send(&json!({ "type": "stop" }));
    assert_eq!(page.next_of(&["stopped"])["n_works"], 1);
    assert_eq!(line.ended().unwrap()["place"], "Nothing applied");
}

#[test]
fn the_server_is_ended_whatever_cannot_be_read() {
    let silas = Silas::start_with(&[ASKING, ("SILAS__BACKPRESSURE__SHUTDOWN_GRACE_SECONDS", "0")]);
    let line = with_work(&silas);
    [ENTRY, CARD].iter().for_each(|sql| damage(&silas, sql));
    let (code, text) = silas.command(&["stop", "--server"]);
    assert!(code == 0 && text.contains("Silas has ended."), "{text}");
    drop(line);
}

#[test]
fn a_refused_start_says_what_is_damaged_and_gives_the_code() {
    let mut silas = Silas::start_with(&[ASKING]);
    let mut line = silas.line();
    line.say(&silas.planned("true", &[], "false")).unwrap();
    line.card(CardKind::Root).unwrap();
    silas.terminate();
    damage(&silas, CARD);
    let (code, text) = silas.command(&["start", "--port", "0"]);
    assert!(code == 1 && text.contains("A card of Review cannot be read"), "{text}");
    assert!(text.contains("`silas restore FILE --replace`") && text.contains("(E_DB_DAMAGED)"), "{text}");
}

#[test]
fn a_decision_that_cannot_be_taken_says_what_is_damaged_and_gives_the_code() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    line.say(&silas.planned("true", &[], "false")).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    damage(&silas, "UPDATE tokens SET token = '{'");
    let (code, text) = silas.command(&["approve"]);
    assert!(code == 1 && text.contains("A decision that you signed cannot be read"), "{text}");
    assert!(text.contains("(E_DB_DAMAGED)"), "{text}");
}
