//! The owner's tasks: said in the Stream or typed in the terminal, kept in the human's file, told by the ledger.

use crate::harness::{Device, Line, Silas};
use serde_json::{Value, json};

fn titles(line: &mut Line) -> Vec<(String, String)> {
    let word = |task: &Value, key: &str| task[key].as_str().unwrap().to_owned();
    line.tasks().iter().map(|task| (word(task, "state"), word(task, "title"))).collect()
}

fn open(title: &str) -> (String, String) {
    ("open".to_owned(), title.to_owned())
}

fn done(title: &str) -> (String, String) {
    ("done".to_owned(), title.to_owned())
}

#[test]
fn tasks_in_the_stream() {
    let mut silas = Silas::start();
    let mut line = silas.line();
    assert!(line.ask("tasks").starts_with("No open tasks."));
    assert_eq!(line.ask("add task `Call the dentist`"), "Added to your tasks: Call the dentist");
    assert_eq!(line.ask("add water the plants to my tasks"), "Added to your tasks: water the plants");
    assert_eq!(line.ask("Show my tasks"), "2 open tasks:\n1. Call the dentist\n2. water the plants");
    assert_eq!(line.ask("done with `call the dentist`"), "Done: Call the dentist");
    assert!(line.ask("done with `call the dentist`").starts_with("No open task is called “call the dentist”."));
    assert_eq!(line.ask("reopen `Call the dentist`"), "Open again: Call the dentist");
    assert_eq!(line.ask("done with `Water the plants`"), "Done: water the plants");
    let expected = [open("Call the dentist"), done("water the plants")];
    assert_eq!(titles(&mut line), expected);

    let told = line.ask("what did you do?");
    for sentence in ["Added a task. Call the dentist", "Finished a task. water the plants", "Opened a task again."] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    assert!(line.cards.is_empty(), "the owner's own words need no card");
    silas.assert_ledger_holds();
    silas.kill();
    silas.up(&[]);
    assert_eq!(titles(&mut silas.line()), expected);
    silas.assert_ledger_holds();
}

#[test]
fn tasks_in_the_terminal() {
    let mut silas = Silas::start();
    let run = |silas: &Silas, args: &[&str]| {
        let (code, text) = silas.command(args);
        (code, text.trim_end().to_owned())
    };
    let ok = |text: &str| (0, text.to_owned());
    assert_eq!(run(&silas, &["task", "add", "Fix `main` today"]), ok("Added to your tasks: Fix `main` today"));
    assert_eq!(run(&silas, &["task", "add", "buy", "milk"]), ok("Added to your tasks: buy milk"));
    assert_eq!(run(&silas, &["task", "add", "buy milk"]), ok("Added to your tasks: buy milk"));
    let names = silas.called("task");
    let listed = format!("{}  Fix `main` today\n{}  buy milk\n{}  buy milk", names[0], names[1], names[2]);
    assert_eq!(run(&silas, &["task", "list"]), ok(&listed));
    let (code, text) = run(&silas, &["say", "done with `buy milk`"]);
    assert!(code == 1 && text.starts_with("2 open tasks are called “buy milk”, so none was changed."), "{text}");
    assert_eq!(run(&silas, &["task", "done", &names[2]]), ok("Done: buy milk"));
    silas.terminate();
    silas.up(&[]);
    let (_, listed) = run(&silas, &["task", "list", "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let states: Vec<&str> = listed.iter().map(|task| task["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["open", "open", "done"]);
    assert_eq!(listed[2]["version"], 2);
    let id = listed[1]["id"].as_str().unwrap();
    assert_eq!(run(&silas, &["task", "done", id]), ok("Done: buy milk"));

    for (args, expected) in [
        (&["task", "done", id][..], "is done already"),
        (&["task", "done", "9"], "places move"),
        (&["task", "done", "1"], "places move"),
        (&["task", "done", "milk"], "`milk` names no task"),
        (&["task", "done", "bcdfg"], "There is no task bcdfg"),
        (&["task", "add", "two\nlines"], "one line"),
        (&["task", "add", " "], "one line"),
        (&["task", "add", &"x".repeat(1001)], "1,000 characters"),
    ] {
        let (code, text) = run(&silas, args);
        assert!(code != 0 && text.contains(expected), "{args:?}: {text}");
    }
    assert_eq!(run(&silas, &["task", "list"]), ok(&format!("{}  Fix `main` today", names[0])));
    silas.assert_ledger_holds();
}

#[test]
fn only_the_owners_own_words_change_tasks() {
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    let installation = line.installation();
    let text = "add task `Open the door`";
    let stranger = Device::new().message(text, &installation);
    let mut altered = device.message("add task `Open the window`", &installation);
    altered.body.text = text.to_owned();
    for message in [stranger, altered] {
        line.send(&json!({ "type": "message", "message": message })).unwrap();
        assert!(line.reply_to(text).contains("not freshly signed"));
    }
    assert_eq!(titles(&mut line), []);

    let mine = device.message(text, &installation);
    line.send(&json!({ "type": "message", "message": mine })).unwrap();
    assert_eq!(line.reply_to(text), "Added to your tasks: Open the door");
    line.send(&json!({ "type": "message", "message": mine })).unwrap();
    assert!(line.reply_to(text).contains("not freshly signed"), "a repeated message is nobody's");
    assert_eq!(titles(&mut line), [open("Open the door")]);
    silas.assert_ledger_holds();
}

/// Somebody edits the database while an operation is open. What the owner did not sign is not carried out.
#[test]
fn a_prepared_call_that_was_tampered_with_is_called_off() {
    let prepared = || {
        let mut silas = Silas::start();
        silas.terminate();
        silas.up(&[("SILAS_FAIL_AT", "TaskPrepared")]);
        silas.line().say("add task `Call the dentist`").unwrap();
        silas.await_death();
        silas
    };
    for forgery in [
        "UPDATE sagas SET call = replace(call, 'dentist', 'burglar')",
        "UPDATE instructions SET signed = replace(signed, 'dentist', 'burglar');
         UPDATE sagas SET call = replace(call, 'dentist', 'burglar')",
    ] {
        let mut silas = prepared();
        let agent = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
        agent.execute_batch(forgery).unwrap();
        drop(agent);
        silas.up(&[]);
        let mut line = silas.line();
        assert_eq!(titles(&mut line), [], "{forgery}");
        let said = line.snapshot["entries"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned();
        assert!(said.contains("could not be verified as yours"), "{said}");
        let told = line.ask("what did you do?");
        assert!(told.contains("Did not change your tasks"), "{told}");
        // It stays called off.
        silas.terminate();
        silas.up(&[]);
        assert_eq!(titles(&mut silas.line()), []);
        // Nobody put it right again, and the books say where.
        let (code, text) = silas.command(&["audit", "verify"]);
        assert!(code == 1 && text.contains("names an instruction that the owner did not sign like this"), "{text}");
    }
}
