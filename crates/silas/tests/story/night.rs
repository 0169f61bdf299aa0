//! "What did you do while I slept?": told from the ledger, with its period and counts, without a model.

use crate::harness::{ASKING, Silas};

#[test]
fn a_period_is_told_with_its_counts() {
    let silas = Silas::start_with(&[ASKING, ("TZ", "UTC0")]);
    silas.pair();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let told = line.ask("what did you do in the last hour?");
    let first = told.lines().next().unwrap();
    assert!(first.starts_with("In this time, ") && first.contains(" UTC (1 hour): "), "{told}");
    assert!(first.contains("1 piece of work begun, 1 applied in 4 files, 1 proved"), "{told}");
    assert!(told.contains(" Proved and applied 4 files"), "{told}");
    let told = line.ask("What did you do while I slept?");
    assert!(told.starts_with("You were not away for half an hour in the last day."), "{told}");
    let (code, text) = silas.command(&["activity", "--away"]);
    assert!(code == 0 && text.starts_with("You were not away for half an hour"), "{text}");
    let (code, text) = silas.command(&["activity", "--away", "--json"]);
    assert!(code == 0 && text.contains("\"away\": null"), "{text}");
}

/// The Stream tells the time as `silas activity` beside it does: by the clock of this machine, which is not UTC's.
#[test]
fn times_are_those_of_the_owners_wall() {
    const HERE: (&str, &str) = ("TZ", "JST-9");
    let silas = Silas::start_with(&[ASKING, HERE]);
    silas.pair();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let told = line.ask("what did you do in the last hour?");
    let first = told.lines().next().unwrap();
    assert!(first.contains(" (1 hour): ") && !first.contains("UTC"), "{told}");
    let minute_of = |text: &str| {
        let row = text.lines().find(|row| row.contains("Proved and applied 4 files")).unwrap().to_owned();
        row.split_whitespace().find(|word| word.contains(':')).unwrap()[..5].to_owned()
    };
    let by_the_clock_of = |zone: &str| minute_of(&silas.command_with(&["activity"], &[("TZ", zone)], "").1);
    assert_eq!(minute_of(&told), by_the_clock_of(HERE.1), "{told}");
    assert_ne!(minute_of(&told), by_the_clock_of("UTC0"), "{told}");
    let has_time = |row: &str| row.split_whitespace().nth(1).is_some_and(|time| time.len() == 5 && time.contains(':'));
    assert!(told.lines().filter(|row| row.starts_with("• ")).all(has_time), "{told}");
}

/// The same ledger, asked after a night that the owner slept through: its times are moved back by nine hours, and the
/// answer is computed from what is there. The chain does not hold any more, and that is said elsewhere.
#[test]
fn the_night_is_the_longest_pause_of_the_owner() {
    const NIGHT_MICROS: i64 = 9 * 3600 * 1_000_000;
    let mut silas = Silas::start_asking();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(silas_core::card::CardKind::Root).unwrap();
    drop(line);
    silas.terminate();
    let database = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let guards: Vec<(String, String)> = {
        let mut asked = database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").unwrap();
        let rows = asked.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    for (name, _) in &guards {
        database.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    assert!(database.execute("UPDATE ledger SET at = at - ?1", [NIGHT_MICROS]).unwrap() > 0);
    for (_, sql) in &guards {
        database.execute_batch(sql).unwrap();
    }
    drop(database);
    silas.up(&[]);
    let mut line = silas.line();
    let told = line.ask("What did you do while I slept?");
    let first = told.lines().next().unwrap();
    assert!(first.starts_with("While you were away, ") && first.contains("(9 h"), "{told}");
    let (code, text) = silas.command(&["activity", "--away"]);
    assert!(code == 0 && text.starts_with("While you were away, "), "{text}");
}
