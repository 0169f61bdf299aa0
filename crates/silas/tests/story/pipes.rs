//! Silas in scripts: words from a pipe, a result to wait for, the Stream to follow, a page of the manual.

use crate::harness::{ASKING, TestSilas, binary};
use serde_json::Value;
use silas_core::card::CardKind;
use silas_core::token::Verdict;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[test]
fn words_come_from_the_command_line_a_pipe_or_both() {
    let silas = TestSilas::start();
    let say = |args: &[&str], input: &str| {
        let args: Vec<&str> = ["say"].iter().chain(args).copied().collect();
        silas.command_with(&args, &[], input)
    };
    assert_eq!(say(&["add", "task", "buy", "milk"], "not read"), (0, "Added to your tasks: buy milk\n".to_owned()));
    assert_eq!(say(&[], "add task call mum\n"), (0, "Added to your tasks: call mum\n".to_owned()));
    assert_eq!(say(&["-"], "done with call mum\n").1, "Done: call mum\n");
    let (code, text) = say(&["walk", "this", "dog", "-"], "its name is Rex");
    assert!(code == 1 && text.contains("needs a model"), "{text}");
    for (input, why) in [("", "Nothing came by standard input"), (&"x".repeat(40_000), "longer than a message may be")]
    {
        let (code, text) = say(&[], input);
        assert!(code == 2 && text.contains(why), "{code} {text}");
    }
    silas.assert_ledger_holds();
}

#[test]
fn whoever_waits_has_the_result_and_its_exit_code() {
    let silas = TestSilas::start();
    silas.pair();
    let repo = silas.repo().display().to_string();
    assert_eq!(silas.command(&["root", "add", &repo, "--yes"]).0, 0);
    let (code, text) = silas.command(&["say", "--wait", &silas.wish()]);
    assert!(code == 0 && text.contains("Your files are untouched"), "{code} {text}");
    let red = format!("run true in {repo} and check with false");
    let (code, text) = silas.command(&["say", "--wait", "--json", &red]);
    let said: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &said["work"]["outcome"]), (1, &"failed".into()), "{text}");
    assert_eq!(silas.command(&["say", "--wait", "tasks"]).0, 0, "an answer is a result");
    assert_eq!(silas.command(&["say", "--wait", "walk the dog"]).0, 1);
}

/// A command that goes on while the story does.
struct Beside(Child);

impl Beside {
    fn start(silas: &TestSilas, args: &[&str]) -> Self {
        let mut command: Command = binary();
        command.arg("--data-dir").arg(silas.data()).args(args).current_dir("/");
        command.env("XDG_STATE_HOME", silas.outside().join("state"));
        Beside(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_decision_elsewhere_ends_the_waiting() {
    for verdict in [Verdict::Approved, Verdict::Declined] {
        let silas = TestSilas::start_with(&[ASKING]);
        silas.pair();
        let repo = silas.repo().display().to_string();
        assert_eq!(silas.command(&["root", "add", &repo, "--yes"]).0, 0);
        let mut line = silas.line();
        let mut waits = Beside::start(&silas, &["say", "--wait", &silas.wish()]);
        let card = line.card(CardKind::Plan).unwrap();
        assert!(line.decide(&card, verdict).unwrap().0);
        let code = waits.0.wait().unwrap().code();
        assert_eq!(code, Some(i32::from(verdict == Verdict::Declined)));
    }
}

#[test]
fn the_stream_is_followed_as_it_happens() {
    let silas = TestSilas::start();
    let mut line = silas.line();
    let mut watch = Beside::start(&silas, &["watch", "--json"]);
    let stdout = BufReader::new(watch.0.stdout.take().unwrap());
    let (says, told) = mpsc::channel();
    thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| says.send(line)));
    // It may not follow yet when the first of these is said.
    let mut n = 0;
    let heard = loop {
        n += 1;
        line.ask(&format!("add task number {n}"));
        if let Ok(heard) = told.recv_timeout(Duration::from_millis(500)) {
            break heard;
        }
    };
    let heard: Value = serde_json::from_str(&heard).unwrap();
    assert!(["message", "cards", "work"].contains(&heard["type"].as_str().unwrap()), "{heard}");
    line.say("tasks").unwrap();
    let answer = told.iter().find(|heard| heard.contains("open task")).unwrap();
    assert!(answer.contains("number 1"), "{answer}");
}

#[test]
fn the_manual_names_every_command_and_no_line_of_it_is_an_order() {
    let output = binary().arg("man").current_dir("/").output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.starts_with(".TH SILAS 1"), "{page}");
    let help = binary().arg("--help").current_dir("/").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let named = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for command in named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        assert!(page.contains(&format!(".SS silas {command}\n")), "{command}");
    }
    let known = [".TH", ".SH", ".SS", ".TP", ".PP", ".B ", ".nf", ".fi"];
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        assert!(known.iter().any(|order| line.starts_with(order)), "{line}");
    }
}
