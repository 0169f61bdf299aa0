//! Data directories of other versions. Those of earlier ones, as those left them: copied, brought up to date, looked at, and
//! used on; or, if that fails half way, as they were. That of a later one: refused, and as it was.

use crate::harness::{ASKING, Device, Line, Silas, counted};
use rusqlite::Connection;
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::token::Verdict;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A data directory that a version has left, and what that version could already do.
struct Fixture {
    name: &'static str,
    /// The number of the last migration that it has had.
    schema: i64,
    /// The number of the first that this version adds, as its copy is called.
    lacks: i64,
    /// A browser was paired, whose key is all sevens.
    is_paired: bool,
    /// The vault has one.
    has_secret: bool,
    /// A rehearsed result waits.
    has_result: bool,
}

const FIXTURES: [Fixture; 9] = [
    Fixture { name: "schema-3", schema: 3, lacks: 4, is_paired: false, has_secret: false, has_result: false },
    Fixture { name: "schema-4", schema: 4, lacks: 9, is_paired: false, has_secret: false, has_result: false },
    Fixture { name: "schema-9", schema: 9, lacks: 11, is_paired: true, has_secret: false, has_result: false },
    Fixture {
        name: "schema-12-without-11",
        schema: 12,
        lacks: 11,
        is_paired: true,
        has_secret: true,
        has_result: false,
    },
    Fixture { name: "schema-12", schema: 12, lacks: 15, is_paired: true, has_secret: true, has_result: true },
    Fixture { name: "schema-15", schema: 15, lacks: 21, is_paired: true, has_secret: true, has_result: true },
    Fixture { name: "schema-21", schema: 21, lacks: 23, is_paired: true, has_secret: true, has_result: true },
    Fixture { name: "schema-27", schema: 27, lacks: 28, is_paired: true, has_secret: true, has_result: true },
    Fixture { name: "schema-28", schema: 28, lacks: 29, is_paired: true, has_secret: true, has_result: true },
];

/// In the way of the last migration that there is: by then all the others have been applied, and have to go again.
const OBSTACLE: (i64, &str, &str) =
    (29, "ALTER TABLE drained RENAME COLUMN seq TO place", "ALTER TABLE drained RENAME COLUMN place TO seq");

impl Fixture {
    fn unpack(&self, data: &Path) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{}.tar.gz", self.name));
        let into = data.parent().unwrap();
        let status = Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(into).status().unwrap();
        assert!(status.success());
        assert_eq!(schema(&agent(data)), self.schema, "{}", self.name);
    }
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

/// Every table, index and trigger, by name.
fn shape(file: &Path) -> Vec<String> {
    let db = Connection::open(file).unwrap();
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name").unwrap();
    names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// The same with every column, as it was written down.
fn definitions(file: &Path) -> Vec<(String, Option<String>)> {
    let db = Connection::open(file).unwrap();
    let mut all = db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
    all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn each_is_brought_up_to_date_and_goes_on() {
    let latest = latest();
    for fixture in &FIXTURES {
        let name = fixture.name;
        let mut before = (0, String::new());
        let silas = Silas::prepared(&[ASKING], |data| {
            fixture.unpack(data);
            before = head(&agent(data));
        });
        let mut line = silas.line();
        assert_eq!(shape(&agent(&silas.data())), latest, "{name}");
        // A copy of what was there, and no other.
        let kept: Vec<PathBuf> = copies(&silas.data());
        assert_eq!(kept, [silas.data().join(format!("store/agent.before-{}.sqlite", fixture.lacks))], "{name}");
        assert_eq!((schema(&kept[0]), head(&kept[0])), (fixture.schema, before.clone()), "{name}");
        assert_owner_has_it_all(&silas, &mut line, fixture, &before);
        what_waits_is_answered(&silas, &mut line, fixture);
        // And it goes on from there.
        let ended = new_work(&mut line, &silas.wish());
        assert_eq!(ended["outcome"], "proved", "{name}: {ended}");
        if fixture.has_secret {
            the_vault_opens(&silas, name);
        }
        silas.assert_ledger_holds();
    }
}

/// What comes of a wish, apart from what was there already.
fn new_work(line: &mut Line, wish: &str) -> Value {
    let known = line.work.clone();
    let ended = move |line: &Line| {
        let mut new = line.work.iter().filter(|(execution, _)| !known.contains_key(*execution));
        new.find(|(_, work)| work["running"] == false).map(|(_, work)| work.clone())
    };
    line.say(wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| ended(line).is_some()).unwrap();
    ended(line).unwrap()
}

/// Tasks, what was done, who may decide, what is kept secret, and every entry of the ledger.
fn assert_owner_has_it_all(silas: &Silas, line: &mut Line, fixture: &Fixture, before: &(i64, String)) {
    let name = fixture.name;
    let titles: Vec<String> = line.tasks().iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect();
    assert_eq!(titles, ["Water the plants", "Call Ada"], "{name}");
    let sql = format!("SELECT hash FROM ledger WHERE seq = {}", before.0);
    let still: String = Connection::open(agent(&silas.data())).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap();
    assert_eq!(still, before.1, "{name}");
    silas.assert_ledger_holds();
    let (code, roots) = silas.command(&["root", "list"]);
    assert!(code == 0 && roots.contains("/tmp/silas-fixture-repo"), "{name}: {roots}");
    let (_, devices) = silas.command(&["device", "list"]);
    assert_eq!(devices.contains("kitchen tablet"), fixture.is_paired, "{name}: {devices}");
    if fixture.has_secret {
        let (code, secrets) = silas.command(&["secret", "list"]);
        assert!(code == 0 && secrets.contains("fixture-key"), "{name}: {secrets}");
        assert!(silas.command(&["status"]).1.contains("Vault: open, 1 secret"), "{name}");
    }
}

/// Asks a card again that nobody answered in time, and gives it as it is then.
fn asked_again(line: &mut Line, card: &Card) -> Card {
    let is = |line: &Line, state| line.cards.iter().any(|other| other.id == card.id && other.state == state);
    line.wait(|line| is(line, CardState::Parked)).unwrap();
    line.send(&json!({ "type": "renew", "request_id": card.id })).unwrap();
    line.wait(|line| is(line, CardState::Open)).unwrap();
    line.cards.iter().find(|other| other.id == card.id).unwrap().clone()
}

/// Though it was worded by another version, and by the device that was paired then if there was one.
fn what_waits_is_answered(silas: &Silas, line: &mut Line, fixture: &Fixture) {
    let name = fixture.name;
    let find = |line: &Line, kind| line.cards.iter().find(|card| card.face.kind == kind).cloned();
    let plan = find(line, CardKind::Plan).expect(name);
    let plan = asked_again(line, &plan);
    let (recorded, message) = if fixture.is_paired {
        let device = Device::from_seed([7; 32]);
        let token = device.answer(plan.offer.as_ref().unwrap(), Verdict::Declined);
        line.submit(&plan, &token).unwrap()
    } else {
        line.decide(&plan, Verdict::Declined).unwrap()
    };
    assert!(recorded, "{name}: {message}");
    // What was rehearsed waits for a day after it was made; then it is gone by itself. Either way it leaves no copy.
    if let Some(result) = find(line, CardKind::Rehearsed) {
        assert!(fixture.has_result, "{name}");
        let (recorded, message) = line.decide(&result, Verdict::Declined).unwrap();
        assert!(recorded, "{name}: {message}");
    }
    for dir in ["waiting", "work"] {
        let dir = silas.data().join("launcher").join(dir);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "{name}: {}", dir.display());
    }
    let work: Value = serde_json::from_str(&silas.command(&["work", "list", "--json"]).1).unwrap();
    let in_state = |state: &str| {
        let all = work["work"].as_array().unwrap().iter();
        all.filter(|one| one["state"] == state).cloned().collect::<Vec<Value>>()
    };
    assert_eq!(in_state("rehearsed"), Vec::<Value>::new(), "{name}");
    // What was applied then is past its undo window; the way back is a plan, and asks.
    let applied = in_state("applied").pop().expect(name);
    let (code, text) = silas.command(&["work", "undo", applied["called"].as_str().unwrap()]);
    assert!(code == 1 && text.contains("its undo window is over"), "{name}: {text}");
    line.send(&json!({ "type": "way_back", "execution": applied["execution"] })).unwrap();
    let card: Card = serde_json::from_value(line.wait_for("asked").unwrap()["card"].clone()).unwrap();
    assert_eq!(card.face.kind, CardKind::Plan, "{name}");
    assert!(line.decide(&card, Verdict::Declined).unwrap().0, "{name}");
}

/// A plan is given what was put in then, whole.
fn the_vault_opens(silas: &Silas, name: &str) {
    let plan = format!(
        "---\nid: task-open\ntitle: Open it\ntype: task\nsteps:\n  - run: silas-secret get fixture-key | wc -c > \
         length.txt\nexits: {{ paths: [length.txt] }}\nverify:\n  - name: it is whole\n    run: \"{}\"\n    expect: {{ exit_code: 0 \
         }}\nsandbox:\n  directories:\n    - {{ path: {}, access: write }}\n  secrets: [fixture-key]\n---\nOpen it.\n",
        counted(&format!("grep -q {} length.txt", "a value of this fixture".len())),
        silas.repo().display()
    );
    let file = silas.outside().join("plan.md");
    std::fs::write(&file, plan).unwrap();
    let (code, text) = silas.command(&["plan", "submit", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{name}: {text}");
    let mut line = silas.line();
    line.approve(CardKind::Plan).unwrap();
    let opened = |line: &Line| line.work.values().find(|work| work["title"] == "Open it").cloned();
    line.wait(|line| opened(line).is_some_and(|work| work["running"] == false)).unwrap();
    assert_eq!(opened(&line).unwrap()["outcome"], "proved", "{name}");
}

/// What was kept of the agent's file from before an upgrade.
fn copies(data: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(data.join("store")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("agent.before-")).collect()
}

/// The tables and indexes of this version. Where nothing is lacking nothing is copied, when it is new and when it starts again.
fn latest() -> Vec<String> {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    silas.up(&[]);
    drop(silas.line());
    let kept = copies(&silas.data());
    assert!(kept.is_empty(), "{kept:?}");
    // What stands in the way below stands in the way of the last.
    assert_eq!(schema(&agent(&silas.data())), OBSTACLE.0);
    shape(&agent(&silas.data()))
}

#[test]
fn one_that_fails_half_way_is_as_it_was() {
    let (of, obstacle, clearing) = OBSTACLE;
    for fixture in &FIXTURES {
        let name = fixture.name;
        assert!(fixture.schema < of, "{name} has nothing that could fail");
        let mut before = (0, String::new());
        let mut silas = Silas::prepared(&[], |data| {
            fixture.unpack(data);
            Connection::open(agent(data)).unwrap().execute(obstacle, []).unwrap();
            before = head(&agent(data));
        });
        silas.await_death();
        let data = silas.data();
        let (code, text) = silas.command(&["start", "--port", "0", "--quiet"]);
        assert!(code != 0 && text.contains("as it was before") && !text.contains("CREATE TABLE"), "{name}: {text}");
        let kept = copies(&data);
        assert_eq!((schema(&agent(&data)), head(&agent(&data))), (fixture.schema, before.clone()), "{name}");
        assert_eq!(definitions(&agent(&data)), definitions(&kept[0]), "{name}");
        assert_eq!((kept.len(), head(&kept[0])), (1, before), "{name}");
        // With the obstacle out of the way the same directory comes up, whole.
        Connection::open(agent(&data)).unwrap().execute(clearing, []).unwrap();
        silas.up(&[]);
        assert_eq!(silas.line().tasks().len(), 2, "{name}");
        silas.assert_ledger_holds();
    }
}

/// A version to come has left its mark in either file.
#[test]
fn one_of_a_later_version_is_refused_and_stays_as_it_is() {
    for file in ["store/agent.sqlite", "store/db.sqlite"] {
        let mut before = (Vec::new(), Vec::new());
        let read = |data: &Path| {
            let bytes = |name: &str| std::fs::read(data.join("store").join(name)).unwrap();
            (bytes("agent.sqlite"), bytes("db.sqlite"))
        };
        let mut silas = Silas::prepared(&[], |data| {
            FIXTURES[6].unpack(data);
            let db = Connection::open(data.join(file)).unwrap();
            db.execute("INSERT INTO migrations VALUES (9999, 'tomorrow', 'unknown', 0)", []).unwrap();
            drop(db);
            before = read(data);
        });
        silas.await_death();
        let data = silas.data();
        let (code, text) = silas.command(&["start", "--port", "0", "--quiet"]);
        assert!(code != 0 && text.contains("newer version of Silas") && text.contains("9999 (tomorrow)"), "{text}");
        assert!(text.contains("Nothing was changed; start the newer version."), "{text}");
        assert!(read(&data) == before, "{file}");
        assert_eq!(copies(&data), Vec::<PathBuf>::new());
    }
}
