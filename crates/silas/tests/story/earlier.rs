//! Data directories of earlier versions, as those left them: copied, brought up to date, looked at, and used on; or, if
//! that fails half way, as they were.

use crate::harness::{Line, Silas};
use rusqlite::Connection;
use serde_json::json;
use silas_core::card::{CardKind, CardState};
use silas_core::token::Verdict;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name and number of the last migration that it has had.
const FIXTURES: [(&str, i64); 2] = [("schema-3", 3), ("schema-4", 4)];

fn unpack(name: &str, into: &Path) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.tar.gz"));
    let status = Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(into).status().unwrap();
    assert!(status.success());
}

fn agent(data: &Path) -> PathBuf {
    data.join("store/agent.sqlite")
}

fn schema(file: &Path) -> i64 {
    Connection::open(file).unwrap().query_row("SELECT max(number) FROM migrations", [], |row| row.get(0)).unwrap()
}

fn head(file: &Path) -> (i64, String) {
    let sql = "SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1";
    Connection::open(file).unwrap().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[test]
fn each_is_brought_up_to_date_and_goes_on() {
    let latest = latest();
    for (name, number) in FIXTURES {
        let mut before = (0, String::new());
        let silas = Silas::prepared(&[], |data| {
            unpack(name, data.parent().unwrap());
            assert_eq!(schema(&agent(data)), number);
            before = head(&agent(data));
        });
        let mut line = silas.line();
        assert_eq!(schema(&agent(&silas.data())), latest, "{name}");
        // A copy of what was there, if there was anything to change, and only then.
        let kept = copies(&silas.data());
        assert_eq!(kept.len(), usize::from(number < latest), "{name}");
        for copy in kept {
            assert_eq!((schema(&copy), head(&copy)), (number, before.clone()), "{name}");
        }
        // What the owner had is there: tasks, what was done, what waits, and every entry of the ledger.
        let titles: Vec<String> = line.tasks().iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect();
        assert_eq!(titles, ["Water the plants", "Call Ada"], "{name}");
        let sql = format!("SELECT hash FROM ledger WHERE seq = {}", before.0);
        let still: String =
            Connection::open(agent(&silas.data())).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(still, before.1, "{name}");
        silas.assert_ledger_holds();
        // What waited can be asked again and answered, though it was worded by another version.
        let plan = line.cards.iter().find(|card| card.face.kind == CardKind::Plan).expect(name).clone();
        let is = |line: &Line, state| line.cards.iter().any(|card| card.id == plan.id && card.state == state);
        line.wait(|line| is(line, CardState::Parked)).unwrap();
        line.send(&json!({ "type": "renew", "request_id": plan.id })).unwrap();
        line.wait(|line| is(line, CardState::Open)).unwrap();
        let plan = line.cards.iter().find(|card| card.id == plan.id).unwrap().clone();
        let (recorded, message) = line.decide(&plan, Verdict::Declined).unwrap();
        assert!(recorded, "{name}: {message}");
        // And it goes on from there.
        let ended = line.run(&silas.wish()).unwrap();
        assert_eq!(ended["outcome"], "proved", "{name}: {ended}");
        silas.assert_ledger_holds();
    }
}

/// What was kept of the agent's file from before an upgrade.
fn copies(data: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(data.join("store")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("agent.before-")).collect()
}

/// The number of the last migration of this version.
fn latest() -> i64 {
    let silas = Silas::start();
    drop(silas.line());
    schema(&agent(&silas.data()))
}

/// Something in the way of a late statement: by then tables have been made, and all of it has to go again.
#[test]
fn one_that_fails_half_way_is_as_it_was() {
    let obstacle = "CREATE INDEX tokens_of_card ON tokens (token_id)";
    let mut before = (0, String::new());
    let mut silas = Silas::prepared(&[], |data| {
        unpack("schema-3", data.parent().unwrap());
        Connection::open(agent(data)).unwrap().execute(obstacle, []).unwrap();
        before = head(&agent(data));
    });
    silas.await_death();
    let data = silas.data();
    let (code, text) = silas.command(&["start", "--port", "0", "--quiet"]);
    assert!(code != 0 && text.contains("as it was before"), "{text}");
    let tables = |file: &Path| -> Vec<String> {
        let db = Connection::open(file).unwrap();
        let mut names =
            db.prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name").unwrap();
        names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let kept = data.join("store/agent.before-4.sqlite");
    assert_eq!((schema(&agent(&data)), head(&agent(&data))), (3, before.clone()));
    assert_eq!(tables(&agent(&data)), tables(&kept));
    assert_eq!(head(&kept), before);
    // With the obstacle out of the way the same directory comes up, whole.
    Connection::open(agent(&data)).unwrap().execute("DROP INDEX tokens_of_card", []).unwrap();
    silas.up(&[]);
    assert_eq!(silas.line().tasks().len(), 2);
    silas.assert_ledger_holds();
}
