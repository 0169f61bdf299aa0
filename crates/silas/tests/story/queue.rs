//! Messages and work travel through the durable queue: how often that is written to disk, what waits in it across a
//! restart, and what happens to a message that can never be dealt with.

use crate::harness::{Line, Silas};
use silas_core::card::CardKind;
use silas_core::token::Verdict;

fn n_durable_commits(silas: &Silas) -> u64 {
    silas.line().snapshot["n_durable_commits"].as_u64().unwrap()
}

#[test]
fn a_direct_answer_makes_two_durable_commits() {
    let silas = Silas::start();
    let mut line = silas.line();
    for text in ["what did you do?", "please write me a poem", "what did you do?"] {
        let before = n_durable_commits(&silas);
        line.ask(text);
        assert_eq!(n_durable_commits(&silas) - before, 2, "{text}: one to accept it, one to answer it");
    }
}

/// A second message that comes while a first one is being answered is on disk at once and waits its turn in the queue.
#[test]
fn messages_that_come_at_once_are_all_answered_once() {
    const LINES: usize = 4;
    const EACH: usize = 5;
    let silas = Silas::start();
    let mut watching = silas.line();
    let mut lines: Vec<Line> = (0..LINES).map(|_| silas.line()).collect();
    for n in 0..EACH {
        for (m, line) in lines.iter_mut().enumerate() {
            line.say(&format!("poem {m}-{n}")).unwrap();
        }
    }
    let mut n_replies = 0;
    while n_replies < LINES * EACH {
        n_replies += usize::from(watching.next().unwrap()["entry"]["sender"] == "silas");
    }
    // This answer comes after all that were asked before it, so nothing is left to be said twice.
    watching.ask("what did you do?");
    let line = silas.line();
    let entries = line.snapshot["entries"].as_array().unwrap();
    let n_of = |sender: &str| entries.iter().filter(|entry| entry["sender"] == sender).count();
    assert_eq!((n_of("owner"), n_of("silas")), (LINES * EACH + 1, LINES * EACH + 1));
    assert_eq!(line.snapshot["dead_letters"].as_array().unwrap().len(), 0);
}

#[test]
fn a_wish_waits_for_its_directory_across_restarts() {
    let mut silas = Silas::start();
    silas.line().ask(&silas.wish());
    silas.terminate();
    silas.up(&[]);
    let mut line = silas.line();
    assert_eq!(line.cards.len(), 1, "it is not asked again");
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    silas.kill();
    silas.up(&[]);
    let mut line = silas.line();
    assert_eq!(line.cards.len(), 1, "one wish, one plan: {:?}", line.cards);
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
}

/// As after going back to a version that does not know what a later one has written down.
#[test]
fn a_wish_that_cannot_be_read_does_not_hold_up_the_decision_that_it_waits_for() {
    let silas = Silas::start();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    let card = line.card(CardKind::Root).unwrap();
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    assert_eq!(db.execute("UPDATE queue SET body = '{\"from\":\"later\"}' WHERE queue = 'waiting'", []).unwrap(), 1);
    let (recorded, said) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(recorded, "{said}");
    let waits = || db.query_row("SELECT count(*) FROM queue WHERE queue = 'waiting'", [], |row| row.get::<_, i64>(0));
    assert_eq!(waits().unwrap(), 0);
}

#[test]
fn a_declined_directory_ends_the_wishes_that_waited_for_it() {
    let silas = Silas::start();
    let mut line = silas.line();
    line.ask(&silas.wish());
    let card = line.card(CardKind::Root).unwrap();
    assert!(line.decide(&card, Verdict::Declined).unwrap().0);
    line.wait(|line| line.cards.is_empty()).unwrap();
    let second = silas.planned("touch two", &["two"], "test -e two");
    line.ask(&second);
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    // A further message is answered after everything that the directory set free.
    line.ask("what did you do?");
    let plans: Vec<_> = line.cards.iter().filter(|card| card.face.kind == CardKind::Plan).collect();
    assert_eq!(plans.len(), 1, "only what was asked since: {plans:?}");
}

/// A message as earlier lives of Silas left it.
fn leave_behind(silas: &Silas, body: &str, attempts: u32) {
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.execute(
        "INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, lease_holder,
             lease_until, fence)
         VALUES ('msg-left', 'turns', 'owner', 'user_message', ?1, 'msg-left', 'leased', ?2, 0, 'front', 0, ?2)",
        rusqlite::params![body, attempts],
    )
    .unwrap();
}

/// Puts a message into the queue that has this piece of work taken up again.
pub(crate) fn leave_work_behind(db: &rusqlite::Connection, execution: &str) {
    db.execute(
        "INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, lease_holder,
             lease_until, fence)
         VALUES (?1, 'work', ?2, 'execution_status', ?3, ?1, 'leased', 1, 0, 'front', 0, 1)",
        rusqlite::params![
            format!("msg-{execution}"),
            execution,
            serde_json::json!({ "execution": execution, "status": "running" }).to_string()
        ],
    )
    .unwrap();
}

fn sentences(line: &Line) -> Vec<String> {
    let entries = line.snapshot["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
}

/// Five lives ended while they were at it. The sixth does not try again, and comes up.
#[test]
fn a_message_that_ends_silas_every_time_is_put_aside() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    let body = r#"{"id":"msg-left","channel":"cli","text":"the end of me","at":"2026-01-01T00:00:00.000000Z","taint":"owner"}"#;
    leave_behind(&silas, body, 5);
    silas.up(&[]);
    let mut line = silas.line();
    let told = sentences(&line);
    let expected = "Put aside after 5 attempts: “the end of me”. Each time, Silas ended before it was done. \
                    Say it again, or have it tried again with `silas queue revive`.";
    assert_eq!(told.iter().filter(|text| *text == expected).count(), 1, "{told:?}");
    assert!(line.ask("please write me a poem").contains("needs a model"), "it holds up nobody");
    silas.terminate();
    silas.up(&[]);
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains("Put aside after 5 attempts: “the end of me”"), "{text}");
    let told = sentences(&silas.line());
    assert_eq!(told.iter().filter(|text| text.starts_with("Put aside")).count(), 1, "it is told once: {told:?}");
    silas.assert_ledger_holds();
}

#[test]
fn what_was_put_aside_is_listed_and_can_be_tried_again() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    let body = r#"{"id":"msg-left","channel":"cli","text":"write me a poem","at":"2026-01-01T00:00:00.000000Z","taint":"owner"}"#;
    leave_behind(&silas, body, 5);
    silas.up(&[]);
    let mut line = silas.line();
    let (code, text) = silas.command(&["queue", "list"]);
    assert!(code == 0 && text.contains("  “write me a poem”  (5 attempts, msg-left)"), "{text}");
    let (_, text) = silas.command(&["doctor"]);
    assert!(text.contains("put aside: msg-left.") && text.contains("`silas queue revive NAME`"), "{text}");
    for bad in ["0", "1", "2", "msg-other", "-"] {
        let (code, text) = silas.command(&["queue", "revive", bad]);
        assert!(code == 2 && text.contains("`silas queue list` shows"), "{bad}: {text}");
    }
    let name = silas.called("queue").remove(0);
    let (code, text) = silas.command(&["queue", "revive", &name]);
    assert!(code == 0 && text.contains("It is tried again."), "{text}");
    let reply = loop {
        let message = line.next().unwrap();
        if message["type"] == "message" {
            break message["entry"]["text"].as_str().unwrap().to_owned();
        }
    };
    assert!(reply.contains("needs a model"), "{reply}");
    let (_, text) = silas.command(&["queue", "list"]);
    assert!(text.contains("Nothing was put aside."), "{text}");
    let (code, text) = silas.command(&["queue", "revive", &name]);
    assert!(code == 1 && text.contains("gone meanwhile"), "{text}");
    let (_, text) = silas.command(&["activity"]);
    assert!(
        text.contains("Put a message aside after 5 attempts") && text.contains("You had a message tried again"),
        "{text}"
    );
    silas.assert_ledger_holds();
}

#[test]
fn a_message_that_cannot_be_read_is_tried_again_and_then_put_aside() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    leave_behind(&silas, r#"{"words":"from another version"}"#, 3);
    silas.up(&[]);
    let mut line = silas.line();
    // The first failure came before the door opened; the last one follows after the pause between them.
    let told =
        |line: &Line| sentences(line).iter().any(|text| text.starts_with("Put aside after 5 attempts: a message."));
    if !told(&line) {
        loop {
            let message = line.next().unwrap();
            if message["entry"]["text"].as_str().is_some_and(|text| text.starts_with("Put aside after 5 attempts")) {
                break;
            }
        }
    }
    let letters = silas.line().snapshot["dead_letters"].clone();
    assert_eq!(letters.as_array().unwrap().len(), 1, "{letters}");
    assert!(line.ask("please write me a poem").contains("needs a model"));
}
