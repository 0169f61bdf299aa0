//! Stop, revoke and status wait for nobody; a model that says nothing is waited for in sight, and reflex passes it; and a
//! Silas that goes away lets what runs finish.

use crate::harness::{FIX, Line, Silas};
use crate::scripted::{direct, next_reply, to_planner, with_a_model};
use rusqlite::Connection;
use scripted_model::{Act, Part, Server};
use serde_json::{Value, json};
use silas_core::card::CardKind;
use silas_core::token::Verdict;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

const GRACE: &str = "SILAS__BACKPRESSURE__SHUTDOWN_GRACE_SECONDS";

/// Applies a change and begins to take it back, which stands still for as long as the lock is held.
fn with_an_undo_that_stands_still(silas: &Silas) -> (Line, File) {
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    let held = File::create(silas.data().join("launcher/locks/apply")).unwrap();
    held.lock().unwrap();
    let token = line.token(&done, Verdict::Approved).unwrap();
    line.send(&json!({ "type": "approval_response", "request_id": done.id, "token": token })).unwrap();
    let begun = |silas: &Silas| {
        let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
        db.query_row("SELECT count(*) FROM ledger WHERE event = 'token_spent'", [], |row| row.get::<_, u32>(0)).unwrap()
    };
    while begun(silas) < 3 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    (line, held)
}

#[test]
fn stop_revoke_and_status_pass_an_undo_that_takes_long() {
    let silas = Silas::start_asking();
    let (mut line, held) = with_an_undo_that_stands_still(&silas);
    let (code, text) = silas.command(&["status"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = silas.command(&["stop", "--all", "--revoke"]);
    assert!(code == 0 && text.contains("1 grant revoked"), "{text}");
    // The very connection that asked for the undo can stop too.
    line.send(&json!({ "type": "stop" })).unwrap();
    assert_eq!(line.wait_for("stopped").unwrap()["n_works"], 0);
    drop(held);
    line.wait_for("decided").unwrap();
    silas.assert_ledger_holds();
}

/// What a model is waited for, as a connection that comes now is told.
fn waited_for(silas: &Silas) -> Vec<Value> {
    silas.line().snapshot["waiting_for"].as_array().unwrap().clone()
}

fn a_model_that_does_not_answer(act: Act) {
    let (server, silas) = with_a_model(&[]);
    let mut line = silas.line();
    line.ask("tell me something");
    server.now_says(vec![act]);
    line.approve(CardKind::Model).unwrap();
    while line.wait_for("waiting_for").unwrap()["waiting_for"].as_array().unwrap().is_empty() {}
    let asked = waited_for(&silas);
    let model = asked[0]["model"].as_str().unwrap().to_owned();
    assert!(asked.len() == 1 && model.starts_with("compatible:test@"), "{asked:?}");
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains(&format!("Waiting for {model}")) && !text.contains("All quiet"), "{text}");
    // Reflex passes it, on the same connection and on another.
    assert!(line.ask("help").contains("run COMMAND"));
    let (code, text) = silas.command(&["say", "tasks"]);
    assert!(code == 0 && text.contains("No open tasks"), "{text}");
    assert_eq!(waited_for(&silas), asked, "it is still waited for");
    let (code, text) = silas.command(&["stop", "--all"]);
    assert!(code == 0 && text.contains(&format!("{model} is not waited for any more.")), "{text}");
    // What was said elsewhere is heard here too.
    while next_reply(&mut line) != "Stopped before anything was said." {}
    assert!(waited_for(&silas).is_empty());
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains(&format!("{model} not waited for any more")), "{text}");
    server.now_says(vec![Act::Says(direct("Yes."))]);
    assert_eq!(line.ask("are you there"), "Yes.");
    silas.assert_ledger_holds();
}

#[test]
fn a_model_that_says_nothing_is_waited_for_in_sight_and_passed() {
    a_model_that_does_not_answer(Act::Silence);
}

#[test]
fn a_model_that_only_says_that_it_is_there_is_waited_for_in_sight_and_passed() {
    a_model_that_does_not_answer(Act::Endless(Part::Comments));
}

/// The planner has a place of its own in the queue: what else is said is answered, by a model too, and a stop ends the plan.
#[test]
fn the_conversation_goes_on_while_a_plan_is_made() {
    let (server, silas) = with_a_model(&[]);
    let mut line = silas.line();
    line.ask("good morning");
    server.now_says([Act::Says(direct("Good morning."))]);
    line.approve(CardKind::Model).unwrap();
    while next_reply(&mut line) != "Good morning." {}
    let before = server.asked().len();
    server.now_says([to_planner(), Act::Silence]);
    line.say("please make the check green").unwrap();
    server.await_asked(before + 2);
    server.now_says([Act::Says(direct("Four."))]);
    assert_eq!(line.ask("what is two and two"), "Four.");
    let asked = waited_for(&silas);
    assert!(asked.len() == 1 && asked[0]["role"] == "planner" && asked[0]["for_work"] == false, "{asked:?}");
    let (code, text) = silas.command(&["stop", "--all"]);
    assert!(code == 0 && text.contains("is not waited for any more."), "{text}");
    while next_reply(&mut line) != "Stopped. Nothing was planned." {}
    assert!(waited_for(&silas).is_empty());
    silas.assert_ledger_holds();
}

/// Work that has said a word to the test and waits for one before it goes on.
fn with_work_under_way(silas: &Silas) -> (Line, TcpStream) {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let ask = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo sent >&3 && head -n 1 <&3'");
    let repo = silas.repo().display().to_string();
    let mut line = silas.line();
    line.say(&format!("run `{ask} && {FIX}` in `{repo}` reaching `127.0.0.1:{port}` and check with `sh check.sh`"))
        .unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    let (stream, _) = outside.accept().unwrap();
    let mut word = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut word).unwrap();
    assert_eq!(word, "sent\n");
    (line, stream)
}

fn terminate(pid: u32) {
    assert!(Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap().success());
}

/// Says something until it is told that nothing new is taken in.
fn wait_until_leaving(line: &mut Line) {
    loop {
        std::thread::sleep(std::time::Duration::from_millis(50));
        line.say("help").unwrap();
        loop {
            let message = line.next().unwrap();
            if message["type"] == "error" {
                assert!(message["message"].as_str().unwrap().contains("is stopping"), "{message}");
                return;
            }
            if message["type"] == "message" && message["entry"]["sender"] != "owner" {
                break;
            }
        }
    }
}

#[test]
fn what_runs_may_finish_when_silas_is_stopped() {
    let mut silas = Silas::start_with(&[(GRACE, "600"), OFTEN]);
    let (mut line, mut outside) = with_work_under_way(&silas);
    terminate(silas.pid());
    wait_until_leaving(&mut line);
    // Who looks still sees, and nothing new begins.
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains("1 active") && text.contains("Silas is stopping"), "{text}");
    outside.write_all(b"answer\n").unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    silas.await_death();
    assert_eq!(std::fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "new a\n");
    let events = |name: &str| {
        let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
        db.query_row("SELECT max(seq) FROM ledger WHERE event = ?1", [name], |row| row.get::<_, Option<i64>>(0))
            .unwrap()
    };
    assert!(events("stream_stopped") > events("work_applied"), "the end is written down last");
    assert_eq!(events("execution_resumed"), None);
    silas.up(&[]);
    silas.assert_ledger_holds();
}

#[test]
fn a_stop_while_silas_is_stopping_says_that_it_does() {
    let mut silas = Silas::start_with(&[(GRACE, "600"), ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "100000")]);
    let (mut line, _outside) = with_work_under_way(&silas);
    terminate(silas.pid());
    wait_until_leaving(&mut line);
    let (code, text) = silas.command(&["stop", "--all"]);
    assert!(code == 0 && text.contains("Silas itself is stopping too."), "{text}");
    assert!(!text.contains("runs on"), "{text}");
    silas.await_death();
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut silas =
        Silas::start_with(&[(GRACE, "3600"), ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "100000")]);
    let original = silas.tree();
    let (mut line, _outside) = with_work_under_way(&silas);
    terminate(silas.pid());
    wait_until_leaving(&mut line);
    assert!(!silas.has_died());
    terminate(silas.pid());
    silas.await_death();
    assert_eq!(silas.tree(), original);
    silas.up(&[]);
    silas.assert_ledger_holds();
}

const OFTEN: (&str, &str) = ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "100000");

/// A model that was asked and does this, up to when Silas was told to end and takes in nothing new.
fn leaving_while_a_model_is_asked(act: Act, grace: &'static str) -> (Server, Silas, Line) {
    let (server, silas) = with_a_model(&[(GRACE, grace), OFTEN]);
    let mut line = silas.line();
    line.ask("when is high water");
    server.now_says([act]);
    line.approve(CardKind::Model).unwrap();
    server.await_asked(1);
    terminate(silas.pid());
    wait_until_leaving(&mut line);
    (server, silas, line)
}

fn n_answers(silas: &Silas) -> usize {
    let entries = silas.line().snapshot["entries"].clone();
    entries.as_array().unwrap().iter().filter(|entry| entry["text"] == "High water is at noon.").count()
}

/// What it says until then is delivered to whoever is still there, and kept for whoever comes later.
#[test]
fn a_model_may_finish_its_answer_when_silas_is_stopped() {
    let answer = direct("High water is at noon.");
    let (begin, end) = answer.split_at(answer.len() / 2);
    let act = Act::Pauses(begin.to_owned(), end.to_owned());
    let (server, mut silas, mut line) = leaving_while_a_model_is_asked(act, "600");
    assert!(!silas.has_died());
    server.open_gate();
    while next_reply(&mut line) != "High water is at noon." {}
    silas.await_death();
    silas.up(&[]);
    assert_eq!(n_answers(&silas), 1);
    assert_eq!(server.asked().len(), 1, "it is not asked again");
    silas.assert_ledger_holds();
}

/// The question is not lost: it is asked again by whoever starts next.
#[test]
fn a_second_signal_waits_for_no_model() {
    let (server, mut silas, _line) = leaving_while_a_model_is_asked(Act::Silence, "3600");
    assert!(!silas.has_died());
    terminate(silas.pid());
    silas.await_death();
    server.now_says([Act::Says(direct("High water is at noon."))]);
    silas.up(&[]);
    let mut line = silas.line();
    if n_answers(&silas) == 0 {
        while next_reply(&mut line) != "High water is at noon." {}
    }
    assert_eq!((n_answers(&silas), server.asked().len()), (1, 2));
    silas.assert_ledger_holds();
}
