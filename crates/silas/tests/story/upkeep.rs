//! What Silas does for its own order while nobody looks: signed heads of the ledger, and forgetting what is too old.

use crate::harness::{Place, Silas, TestSilas};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn number(silas: &Place, sql: &str) -> i64 {
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.busy_timeout(PATIENCE).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[track_caller]
fn wait_until(silas: &Place, sql: &str, fits: impl Fn(i64) -> bool) {
    let until = Instant::now() + PATIENCE;
    while !fits(number(silas, sql)) {
        assert!(Instant::now() < until, "{sql}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_checkpoint_is_signed_while_it_runs_and_not_only_at_the_end() {
    let mut silas = Silas::start_with(&[("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "10000")]);
    let mut line = silas.line();
    while number(&silas, "SELECT max(seq) FROM ledger") < 300 {
        line.ask("hello");
    }
    wait_until(&silas, "SELECT count(*) FROM checkpoints", |n| n >= 1);
    drop(line);
    silas.kill();
    silas.up(&[]);
    drop(silas.line());
    silas.assert_ledger_holds();
}

#[test]
fn a_server_key_that_is_gone_is_not_replaced_by_another() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    let key = silas.data().join("store/server.key");
    let kept = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    silas.up(&[]);
    silas.await_death();
    // Put back, all is well.
    std::fs::write(&key, kept).unwrap();
    silas.up(&[]);
    drop(silas.line());
    silas.assert_ledger_holds();
}

#[test]
fn what_was_said_long_ago_is_forgotten_and_the_ledger_is_not() {
    let mut silas = TestSilas::start();
    silas.line().ask("hello");
    let entries = number(&silas, "SELECT max(seq) FROM ledger");
    assert!(number(&silas, "SELECT count(*) FROM chronicle") >= 2);
    silas.sleep_for(Duration::from_secs(91 * 24 * 3600));
    wait_until(&silas, "SELECT count(*) FROM chronicle", |n| n == 0);
    assert!(number(&silas, "SELECT max(seq) FROM ledger") > entries);
    silas.assert_ledger_holds();
}
