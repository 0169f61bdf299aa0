//! The terminal as a full channel: a talk from wish to undo, JSON for programs, exit codes, completions.

use crate::harness::Silas;
use crate::scripted::in_every_role;
use crate::typist::{at_terminal, typing};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::Value;
use silas_core::card::{CardKind, CardState};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs `silas chat` with these lines typed into a pipe.
fn chat(silas: &Silas, lines: &[&str]) -> (i32, String) {
    chat_bytes(silas, format!("{}\n", lines.join("\n")).as_bytes())
}

fn chat_bytes(silas: &Silas, talk: &[u8]) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_silas"))
        .arg("--data-dir")
        .arg(silas.data())
        .arg("chat")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(talk).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text)
}

fn wish(silas: &Silas) -> String {
    silas.wish()
}

#[test]
fn a_whole_talk() {
    let silas = Silas::start();
    let original = silas.tree();
    // The directory, the plan with its confirmation, and the result put away.
    let (code, text) = chat(&silas, &[&wish(&silas), "1", "y", "1", "y"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("All quiet. Say what you want"), "{text}");
    assert!(text.contains("Silas "), "{text}");
    assert!(text.contains("to confirm; anything else leaves it"), "{text}");
    assert!(text.contains("Proved: red before, green after"), "{text}");
    assert!(!text.contains('\x1b'), "no colours in a pipe: {text}");
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "new a\n");
    let (code, text) = chat(&silas, &["/undo"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(silas.tree(), original, "{text}");
    silas.assert_ledger_holds();
}

#[test]
fn a_talk_in_which_the_wish_is_tried_out_first() {
    let silas = Silas::start();
    silas.command(&["grant", "house-rules"]);
    assert_eq!(silas.command(&["approve"]).0, 0);
    // The directory with its confirmation; then the result, with its changes, and one number applies it.
    let (code, text) = chat(&silas, &[&wish(&silas), "1", "y", "1"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Rehearsed, not applied") && text.contains("+ new a"), "{text}");
    assert!(text.contains("Applied 4 files"), "{text}");
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "new a\n");
    silas.assert_ledger_holds();
}

#[test]
fn what_is_not_confirmed_is_not_signed() {
    let silas = Silas::start();
    let (code, text) = chat(&silas, &[&wish(&silas), "7", "1", "y", "1", "n", "3"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("There is no choice 7. The card has 2."), "{text}");
    assert!(text.contains("Not confirmed. Nothing was signed."), "{text}");
    assert!(!text.contains("Ran the checks"), "{text}");
    let (_, text) = chat(&silas, &["/nonsense", "/help", "hello /there", "/quit", "never said"]);
    assert!(text.contains("There is no /nonsense."), "{text}");
    assert!(text.contains("A number answers the card on the screen"), "{text}");
    assert!(!text.contains("never said"), "{text}");
}

#[test]
fn people_leave_as_they_leave_other_programs() {
    let silas = Silas::start();
    for leave in ["quit", "exit", "Quit", "/quit"] {
        let (code, text) = chat(&silas, &["tasks", leave, "add task `never said`"]);
        assert!(code == 0 && text.contains("No open tasks"), "{leave}: {text}");
    }
    assert!(silas.command(&["task", "list"]).1.contains("No open tasks"));
    // Ctrl-D, with a question on the screen; nothing is answered by it.
    silas.command(&["say", &wish(&silas)]);
    for steps in [&[("A number answers this card", "\u{4}")][..], &[("A number", "1\n"), ("to confirm", "quit\n")]] {
        let (code, shown) = at_terminal(&silas, &["chat"], steps);
        assert_eq!(code, 0, "{shown}");
        assert!(silas.command(&["review"]).1.contains("Let plans work in repo"), "{shown}");
    }
    let (_, help) = chat(&silas, &["/help"]);
    assert!(help.contains("leave, as do quit, exit and Ctrl-D"), "{help}");
}

#[test]
fn a_card_that_wants_something_entered_says_what() {
    let silas = Silas::start();
    silas.command(&["say", "add a model"]);
    for command in ["review", "show"] {
        let (code, text) = silas.command(&[command]);
        assert!(code == 0 && text.contains("Wants a model chosen") && !text.contains("Nothing to decide"), "{text}");
    }
}

#[test]
fn a_pipe_learns_that_nothing_was_made_of_what_it_said() {
    let silas = Silas::start();
    let (code, text) = chat(&silas, &["add task `Buy milk`", "tasks"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = chat(&silas, &["done with `Buy bread`", "tasks"]);
    assert!(code == 1 && text.contains("No open task is called") && text.contains("1 open task"), "{code} {text}");
}

#[test]
fn a_number_is_for_what_was_just_asked() {
    let silas = Silas::start();
    silas.command(&["grant", "house-rules"]);
    assert_eq!(silas.command(&["approve"]).0, 0);
    silas.command(&["say", &wish(&silas)]);
    assert_eq!(silas.command(&["approve"]).0, 0);
    silas.line().card(CardKind::Rehearsed).unwrap();
    let original = silas.tree();
    // That result waits on the screen; the wish is about another directory, and the number about its question.
    fs::create_dir(silas.outside().join("other")).unwrap();
    let other =
        wish(&silas).replace(&silas.repo().display().to_string(), silas.outside().join("other").to_str().unwrap());
    let (code, text) = chat(&silas, &[&other, "1", "y"]);
    assert_eq!(code, 0, "{text}");
    let shown: Vec<&str> = text.lines().filter(|line| line.starts_with("A number answers this card")).collect();
    assert!(shown[0].contains("Apply 4 changed files to repo") && shown[1].contains("other"), "{text}");
    assert_eq!(silas.tree(), original, "the old result was not applied: {text}");
    assert!(silas.command(&["grant", "list"]).1.contains("other"), "{text}");
}

#[test]
fn a_number_typed_while_silas_answers_signs_nothing() {
    let silas = Silas::start();
    silas.command(&["say", &wish(&silas)]);
    let (code, shown) = at_terminal(
        &silas,
        &["chat"],
        &[("A number answers this card", "hello there\n1\n"), ("No card is on the screen", "/quit\n")],
    );
    assert_eq!(code, 0, "{shown}");
    assert!(silas.command(&["review"]).1.contains("Let plans work in repo"), "{shown}");
}

#[test]
fn a_parked_card_can_be_dropped() {
    let silas = Silas::start_with(&[("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "2")]);
    let mut line = silas.line();
    line.say(&wish(&silas)).unwrap();
    line.wait(|line| line.cards.iter().any(|card| card.state == CardState::Parked)).unwrap();
    let (code, text) = chat(&silas, &["2"]);
    assert!(code == 0 && text.contains("2  Drop it") && text.contains("Put away."), "{text}");
    assert!(silas.command(&["review"]).1.contains("Nothing to decide."), "{text}");
}

#[test]
fn odd_lines_are_named_and_the_talk_goes_on() {
    let silas = Silas::start();
    let talk = [b"\xff\xfe\n".to_vec(), vec![b'x'; 1 << 20], b"\nadd task water the plants\n".to_vec()].concat();
    let (code, text) = chat_bytes(&silas, &talk);
    assert!(text.contains("That line is not UTF-8 text."), "{text}");
    assert!(text.contains("longer than 32 KiB") && !text.contains("gone away"), "{text}");
    assert!(text.contains("water the plants"), "{text}");
    assert_eq!(code, 1, "not everything was taken");
}

#[test]
fn a_model_can_be_chosen_in_a_talk() {
    let silas = Silas::start();
    let (code, text) = chat(&silas, &["add a model", "4", "2", "4", "3"]);
    assert_eq!(code, 0, "{text}");
    for said in ["Nothing was sent. Choose another in Review.", "Declined. Nothing ran."] {
        assert!(text.contains(said), "{said}: {text}");
    }
    // Who answers at its port, if anybody does, is this machine's own affair.
    let asks =
        ["Ask a model on this machine", "Ask a model of another user here", "Ask whoever answers on this machine"];
    for asked in [&["4  Ollama, llama3.2 (on this machine)"][..], &asks] {
        // Besides the line that says which card a number answers.
        let is_asked = |line: &&str| asked.iter().any(|it| line.contains(it)) && !line.starts_with("A number answers");
        assert_eq!(text.lines().filter(is_asked).count(), 2, "{asked:?}: {text}");
    }
    assert!(silas.command(&["model", "list"]).1.contains("No model is set up"), "choosing allows nothing");
}

#[test]
fn programs_read_json_and_exit_codes() {
    let silas = Silas::start();
    let json = |args: &[&str]| -> (i32, Value) {
        let (code, text) = silas.command(args);
        (code, serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e}: {text}")))
    };
    let (code, said) = json(&["say", &wish(&silas), "--json"]);
    assert_eq!(code, 0);
    assert_eq!(said["entry"]["sender"], "silas");
    let (_, cards) = json(&["review", "--json"]);
    assert_eq!(cards[0]["face"]["kind"], "root");
    // What is asked here is kept; what is decided later is counted all the same, below.
    let (_, before) = json(&["activity", "--measures", "--json"]);
    assert!(before.as_array().unwrap().iter().all(|m| m["name"] != "Declined"), "{before}");
    let (code, answer) = json(&["approve", "1", "--json"]);
    assert_eq!((code, &answer["recorded"]), (0, &Value::Bool(true)));
    let plan = loop {
        let (_, cards) = json(&["review", "--json"]);
        if cards[0]["face"]["kind"] == "plan" {
            break cards[0].clone();
        }
    };
    let (_, shown) = json(&["show", "--json"]);
    assert_eq!(shown["id"], plan["id"]);
    let (code, answer) = json(&["approve", "--json"]);
    assert_eq!((code, &answer["work"]["outcome"]), (0, &Value::from("proved")), "{answer}");
    let (code, answer) = json(&["undo", "--json"]);
    assert_eq!((code, &answer["recorded"]), (0, &Value::Bool(true)), "{answer}");
    assert!(json(&["activity", "--json"]).1["rows"].as_array().unwrap().len() > 3);
    assert_eq!(json(&["status", "--json"]).1["active"], 0);
    // Two questions were answered, and the one applied change was taken back.
    let (_, measures) = json(&["activity", "--measures", "--json"]);
    let value = |name: &str| measures.as_array().unwrap().iter().find(|m| m["name"] == name).unwrap()["value"].clone();
    assert_eq!((value("Declined"), value("Undone")), ("0 of 2, 0 %".into(), "1 of 1, 100 %".into()));
    // Nobody tapped anything.
    assert_eq!(value("By hand, for finished work"), "1.0 each: 1 command for 1 piece");
    assert!(silas.command(&["activity", "--measures"]).1.contains("Time to decide"));
    assert_eq!(silas.command(&["approve"]).0, 1, "nothing waits");
    assert_eq!(silas.command(&["approve", "first"]).0, 2, "not a number");
}

#[test]
fn no_server_is_an_answer_of_its_own() {
    let mut silas = Silas::start();
    silas.terminate();
    for args in [&["status"][..], &["review", "--json"], &["chat"], &["say", "hello"], &["pair"], &["task", "list"]] {
        let (code, text) = silas.command(args);
        assert_eq!(code, 3, "{args:?}: {text}");
        // Another Silas than the one that was named would start without it.
        let start = format!("Silas does not run. Start it with `silas --data-dir {}`.", silas.data().display());
        assert!(text.contains(&start), "{text}");
    }
    let (code, text) = silas.command(&["--help"]);
    assert_eq!(code, 0);
    assert!(text.contains("3    Silas does not run"), "{text}");
}

#[test]
fn shells_can_complete_the_commands() {
    let silas = Silas::start();
    for shell in ["bash", "zsh", "fish"] {
        let (code, text) = silas.command(&["completions", shell]);
        assert_eq!(code, 0);
        assert!(text.contains("approve") && text.contains("sandbox"), "{shell}");
    }
    let script = silas.outside().join("silas.bash");
    fs::write(&script, silas.command(&["completions", "bash"]).1).unwrap();
    let asks = format!(
        "source {}; COMP_WORDS=(silas appr); COMP_CWORD=1; _silas silas appr silas; echo ${{COMPREPLY[@]}}",
        script.display()
    );
    let output = Command::new("bash").args(["-c", &asks]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "approve", "{output:?}");
}

#[test]
fn a_talk_at_a_terminal_outlives_a_restart_and_ctrl_c_leaves_it() {
    let mut silas = Silas::start();
    let data = silas.data();
    let talk = std::thread::spawn(move || {
        let steps = [
            ("Say what you want", "add task `one`\r"),
            ("Added to your tasks: one", "tasks\r"),
            ("Silas is back.", "add task `two`\r"),
            ("Added to your tasks: two", "\x03"),
        ];
        typing(&data, &["chat"], &steps)
    });
    let mut line = silas.line();
    while line.tasks().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(line);
    silas.terminate();
    silas.up(&[]);
    let (code, shown) = talk.join().unwrap();
    assert_eq!(code, 130, "{shown}");
    assert!(shown.contains("Silas is not answering. This talk goes on when it is back"), "{shown}");
    assert_eq!(shown.matches("Added to your tasks: one").count(), 1, "nothing is told twice: {shown}");
    assert_eq!(silas.line().tasks().len(), 2);
}

#[test]
fn ctrl_c_in_a_talk_stops_what_a_model_says_and_not_the_talk() {
    let direct = r#"{"route":"direct","reason":"words","interaction_register":"status","interaction_mode":"default_and_offer","context_profile":"conversation","continuation_of":null,"response":{"message":"One. Two. Three."}}"#;
    let (before, after) = direct.split_at(direct.find("Three").unwrap());
    let acts = [Act::Pauses(before.to_owned(), after.to_owned())];
    let server = Server::start(Script::new(Dialect::OpenAi, acts)).unwrap();
    let model = format!("compatible:test@{}", server.url());
    let silas = Silas::start_with(&in_every_role(&model));
    let steps = [
        ("Say what you want", "count for me\r"),
        ("A number answers this card", "1\r"),
        ("One.", "\x03"),
        ("(stopped)", "add task `after`\r"),
        ("Added to your tasks: after", "/quit\r"),
    ];
    let (code, shown) = typing(&silas.data(), &["chat"], &steps);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Stopping the answer. Ctrl-C once more leaves.") && !shown.contains("Three"), "{shown}");
}
