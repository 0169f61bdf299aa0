//! The owner stops work that may be acting outside: what a connection was used for is asked, and where none was made it is
//! said that nothing was sent. Checks that reach out are treated like commands.

use crate::harness::{Line, Silas};
use rusqlite::Connection;
use serde_json::json;
use silas_core::card::{Card, CardKind, Press};
use silas_core::token::Verdict;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// Says a word to a port and waits for one that does not come by itself.
fn sending(port: u16) -> String {
    format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo sent >&3 && head -n 1 <&3'")
}

/// The outside: a port of this machine on which the test itself listens.
struct Outside(TcpListener);

impl Outside {
    fn new() -> Self {
        Outside(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Waits for the next visitor and for its word.
    fn hear(&self) -> TcpStream {
        let (stream, _) = self.0.accept().unwrap();
        let mut word = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut word).unwrap();
        assert_eq!(word, "sent\n");
        stream
    }

    fn has_visitor(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let has = self.0.accept().is_ok();
        self.0.set_nonblocking(false).unwrap();
        has
    }
}

fn begin(silas: &Silas, command: &str, port: u16) -> Line {
    let mut line = silas.line();
    let (repo, reach) = (silas.repo().display().to_string(), format!("127.0.0.1:{port}"));
    line.say(&format!("run `{command}` in `{repo}` reaching `{reach}` and check with `test -e never`")).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line
}

fn events(silas: &Silas, name: &str) -> u32 {
    let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.query_row("SELECT count(*) FROM ledger WHERE event = ?1", [name], |row| row.get(0)).unwrap()
}

#[track_caller]
fn assert_asked(silas: &Silas, line: &mut Line) -> Card {
    let card = line.card(CardKind::UnknownEffect).unwrap();
    let presses: Vec<Press> = card.face.ctas.iter().map(|cta| cta.press).collect();
    assert_eq!(presses, [Press::Approve, Press::Look, Press::Decline]);
    assert!(card.face.details[0].lines[0].contains("you stopped it"), "{:?}", card.face);
    assert_eq!(events(silas, "effect_unknown"), 1);
    silas.assert_ledger_holds();
    card
}

#[test]
fn stopped_in_the_middle_of_a_connection_it_is_asked_what_happened() {
    let (silas, outside) = (Silas::start(), Outside::new());
    silas.pair();
    let original = silas.tree();
    let mut line = begin(&silas, &sending(outside.port()), outside.port());
    let _open = outside.hear();
    let (code, text) = silas.command(&["stop", "--all"]);
    assert!(code == 0 && text.contains("Everything is stopped"), "{text}");
    let card = assert_asked(&silas, &mut line);
    assert_eq!(line.ended().unwrap()["place"], "Stopped");
    assert!(line.cards.iter().all(|card| card.face.kind != CardKind::Report), "one card, not two");
    let told = line.ask("what did you do?");
    assert!(told.contains("may have acted outside"), "{told}");
    // "No, do it again" is a new approval, and runs.
    line.work.clear();
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    outside.hear().write_all(b"answer\n").unwrap();
    assert_eq!(line.ended().unwrap()["place"], "Nothing applied");
    assert_eq!(silas.tree(), original);
}

#[test]
fn taking_back_the_directory_is_a_stop_like_any_other() {
    let (silas, outside) = (Silas::start(), Outside::new());
    let mut line = begin(&silas, &sending(outside.port()), outside.port());
    let _open = outside.hear();
    let (code, text) = silas.command(&["stop", "--all", "--revoke"]);
    assert!(code == 0 && text.contains("Everything is stopped"), "{text}");
    assert_asked(&silas, &mut line);
    assert!(silas.command(&["grant", "list"]).1.contains("Nothing is granted"));
}

#[test]
fn stopped_before_any_connection_nothing_was_sent_and_it_says_so() {
    let (silas, outside) = (Silas::start(), Outside::new());
    let mut line = begin(&silas, "sleep 600", outside.port());
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    assert_eq!(silas.command(&["stop", "--all"]).0, 0);
    let report = line.card(CardKind::Report).unwrap();
    assert!(format!("{:?}", report.face).contains("Nothing was sent"), "{:?}", report.face);
    assert!(!outside.has_visitor());
    assert_eq!(events(&silas, "effect_unknown"), 0);
    assert!(line.cards.iter().all(|card| card.face.kind != CardKind::UnknownEffect));
}

/// A plan whose check, and only that, talks to the outside.
fn checking(silas: &Silas, port: u16) -> Line {
    let plan = format!(
        "---\nid: task-1\ntype: task\ntitle: Ask outside\nsteps:\n  - run: \"true\"\nverify:\n  - name: outside agrees\n    \
         run: {}\n    network: true\n    expect: {{ exit_code: 0 }}\nsandbox:\n  hosts: [\"127.0.0.1:{port}\"]\n  directories:\n    \
         - {{ path: {}, access: write }}\n---\n\nAsk.\n",
        sending(port),
        silas.repo().display()
    );
    let mut line = silas.line();
    line.say(&plan).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line
}

#[test]
fn a_check_that_reached_out_is_not_run_again_by_itself() {
    let (mut silas, outside) = (Silas::start(), Outside::new());
    silas.pair();
    let line = checking(&silas, outside.port());
    let open = outside.hear();
    assert_eq!((events(&silas, "checks_begun"), events(&silas, "step_begun")), (1, 0));
    silas.kill();
    drop((line, open));
    silas.up(&[]);
    let mut line = silas.line();
    let card = assert_asked(&silas, &mut line);
    assert!(card.face.details.iter().any(|detail| detail.title == "Checks that may reach out"), "{:?}", card.face);
    assert!(!outside.has_visitor(), "the check ran a second time");
    assert!(line.decide(&card, Verdict::Declined).unwrap().0);
    silas.assert_ledger_holds();
}

#[test]
fn stopping_a_check_that_reached_out_asks_too() {
    let (silas, outside) = (Silas::start(), Outside::new());
    let mut line = checking(&silas, outside.port());
    let _open = outside.hear();
    // The task's own Stop.
    line.wait(|line| !line.work.is_empty()).unwrap();
    let execution = line.work.keys().next().unwrap().clone();
    line.send(&json!({ "type": "stop", "execution": execution })).unwrap();
    assert_asked(&silas, &mut line);
}
