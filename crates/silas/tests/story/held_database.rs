//! Another program holds the database: stop, revoke and status do not wait for it. What they did is written down once the
//! database can be had, and nothing that was stopped begins again.

use crate::harness::{ASKING, Line, Place, Silas, TestSilas};
use rusqlite::Connection;
use silas_core::card::CardKind;
use std::fs;
use std::time::{Duration, Instant};

/// Much less than the store waits for the database, and much more than a stop takes on a loaded machine.
const SOON: Duration = Duration::from_secs(6);

fn agent(silas: &Place) -> Connection {
    Connection::open(silas.data().join("store/agent.sqlite")).unwrap()
}

/// As a curious program would: nobody else can write until it lets go.
fn hold(silas: &Place) -> Connection {
    let db = agent(silas);
    db.busy_timeout(Duration::from_secs(10)).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    db
}

fn begin(silas: &Place, command: &str) -> Line {
    let mut line = silas.line();
    line.say(&silas.planned(command, &[], "false")).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    line
}

/// Whether a process of this machine sleeps for so long.
fn sleeps(secs: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(secs))
}

#[track_caller]
fn wait_until(mut it_is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !it_is_so() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Its answer, which comes soon.
#[track_caller]
fn soon(silas: &Place, args: &[&str]) -> String {
    let begun = Instant::now();
    let (code, text) = silas.command(args);
    assert!(code == 0 && begun.elapsed() < SOON, "{args:?} took {:?}: {text}", begun.elapsed());
    text
}

#[test]
fn a_stop_does_not_wait_and_is_written_down_afterwards() {
    let mut silas = TestSilas::start_with(&[ASKING]);
    let mut line = begin(&silas, "sleep 86011");
    wait_until(|| sleeps("86011"));
    let held = hold(&silas);
    assert!(soon(&silas, &["status"]).contains("1 active"));
    assert!(soon(&silas, &["stop", "--all", "--revoke"]).contains("1 grant revoked"));
    assert!(!sleeps("86011"), "it goes on");
    held.execute_batch("ROLLBACK").unwrap();
    assert_eq!(line.ended().unwrap()["place"], "Nothing applied");
    line.card(CardKind::Report).unwrap();
    wait_until(|| silas.command(&["status"]).1.contains("1 task ended, 1 grant is gone"));
    silas.assert_ledger_holds();
    drop(line);
    silas.restart();
    assert!(silas.command(&["grant", "list"]).1.contains("Nothing is granted"));
    assert!(!sleeps("86011"), "what was stopped began again");
}

/// The end of Silas waits for what is not written down yet.
#[test]
fn what_was_stopped_is_written_down_before_the_end() {
    let mut silas = Silas::start_with(&[ASKING, ("SILAS__BACKPRESSURE__SHUTDOWN_GRACE_SECONDS", "30")]);
    let line = begin(&silas, "sleep 86012");
    let held = hold(&silas);
    soon(&silas, &["stop", "--all"]);
    let letting_go = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(3));
        held.execute_batch("ROLLBACK").unwrap();
    });
    silas.terminate();
    letting_go.join().unwrap();
    drop(line);
    let ended: u32 = agent(&silas)
        .query_row("SELECT count(*) FROM ledger WHERE event = 'work_ended'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(ended, 1);
    let kept: u32 =
        agent(&silas).query_row("SELECT count(*) FROM settings WHERE key = 'last_stop'", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
}
