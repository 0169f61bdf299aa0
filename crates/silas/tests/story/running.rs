//! Just running something: in a private copy, with its output, its exit code and what it changed told, and nothing applied
//! unless that is asked.

use crate::harness::{ASKING, Place, TestSilas, binary};
use serde_json::Value;
use silas_core::card::{Card, CardKind, Risk};
use silas_core::check::Outcome;
use silas_core::token::Verdict;
use std::fs;
use std::process::Stdio;

fn said(silas: &TestSilas, command: &str) -> String {
    format!("run {command} in {}", silas.repo().display())
}

fn printed(card: &Card) -> String {
    let shown = card.face.details.iter().find(|detail| detail.title.starts_with("What the commands printed"));
    shown.unwrap().lines.join("\n")
}

#[test]
fn what_it_changed_waits_and_what_it_printed_is_shown() {
    for settings in [&[][..], &[ASKING][..]] {
        let silas = TestSilas::start_with(settings);
        let original = silas.tree();
        silas.pair();
        let mut line = silas.line();
        fs::write(silas.repo().join("go.sh"), "echo 3 passed; echo made > made.txt; exit 2\n").unwrap();
        let before = silas.tree();
        line.say(&said(&silas, "sh go.sh")).unwrap();
        line.approve(CardKind::Root).unwrap();
        if settings == [ASKING] {
            line.approve(CardKind::Plan).unwrap();
        }
        let told = loop {
            let told = line.wait_for("message").unwrap()["entry"]["text"].as_str().unwrap().to_owned();
            if told.contains("would change") {
                break told;
            }
        };
        assert!(told.contains("1 file would change in repo. `sh go.sh`: exit code 2."), "{told}");
        let card = line.card(CardKind::Rehearsed).unwrap();
        assert_eq!((printed(&card).as_str(), silas.tree()), ("3 passed", before));
        assert_eq!(card.face.evidence.as_ref().unwrap().outcome, Outcome::Unproven);
        assert_eq!(card.face.risk, Some(Risk::Medium));
        assert!(line.decide(&card, Verdict::Approved).unwrap().0);
        line.card(CardKind::Done).unwrap();
        assert_eq!(fs::read_to_string(silas.repo().join("made.txt")).unwrap(), "made\n");
        assert_ne!(silas.tree(), original);
        silas.assert_ledger_holds();
        silas.assert_proof_travels();
    }
}

#[test]
fn what_changes_nothing_only_tells() {
    let silas = TestSilas::start();
    let original = silas.tree();
    silas.pair();
    let mut line = silas.line();
    line.say(&said(&silas, "ls src")).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Report).unwrap();
    assert_eq!((card.face.intent.as_str(), printed(&card).as_str()), ("It ran and changed nothing", "a.txt\nb.txt"));
    let work = line.ended().unwrap();
    line.work.clear();
    line.send(&serde_json::json!({ "type": "proof", "execution": work["execution"] })).unwrap();
    let ran = line.wait_for("proof").unwrap()["proof"]["ran"].clone();
    assert_eq!((&ran[0]["stdout"], &ran[0]["exit_code"]), (&"a.txt\nb.txt\n".into(), &0.into()));
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

#[test]
fn what_would_reach_out_is_asked_about() {
    let silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    line.say(&format!("{} reaching localhost:8080", said(&silas, "true"))).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(format!("{:?}", plan.face).contains("localhost:8080"), "{:?}", plan.face);
    assert!(line.work.is_empty(), "nothing runs before that is allowed");
}

/// `silas run` in the repository: its exit code, standard output and standard error.
fn run(silas: &Place, args: &[&str]) -> (i32, String, String) {
    let output = binary()
        .arg("--data-dir")
        .arg(silas.data())
        .arg("run")
        .args(args)
        .current_dir(silas.repo())
        .env("XDG_STATE_HOME", silas.outside().join("state"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_terminal_gets_the_output_and_the_exit_code() {
    for settings in [&[][..], &[ASKING][..]] {
        let silas = TestSilas::start_with(settings);
        if settings.is_empty() {
            silas.pair();
        }
        let original = silas.tree();
        // Whether plans may work here is not for a pipe to say, and nothing is left behind that waits.
        let (code, out, told) = run(&silas, &["--", "ls", "src"]);
        assert_eq!((code, out.as_str()), (125, ""), "{told}");
        assert!(told.contains("`silas root add .` allows it"), "{told}");
        assert!(!silas.line().cards.iter().any(|card| card.face.kind == CardKind::Root));
        let repo = silas.repo().display().to_string();
        let (code, text) = silas.command(&["root", "add", &repo, "--yes"]);
        assert_eq!(code, 0, "{text}");

        assert_eq!(run(&silas, &["--", "ls", "src"]), (0, "a.txt\nb.txt\n".to_owned(), String::new()));
        // Arguments stay what they are, and one word is a script.
        let (code, out, told) = run(&silas, &["--", "printf", "%s|", "a b", "$HOME", "it's"]);
        assert_eq!((code, out.as_str(), told.as_str()), (0, "a b|$HOME|it's|", ""));
        let (code, out, told) = run(&silas, &["--", "echo out; echo err >&2; echo x > src/a.txt; exit 7"]);
        assert_eq!((code, out.as_str()), (7, "out\n"), "{told}");
        assert!(told.contains("err\n") && told.contains("it changed 1 file in a private copy"), "{told}");
        assert_eq!(silas.tree(), original);
        let name = told.split("silas work apply ").nth(1).unwrap().trim();
        let (code, text) = silas.command(&["work", "diff", name]);
        assert!(code == 0 && text.contains("+x"), "{text}");
        assert_eq!(silas.command(&["work", "apply", name]).0, 0);
        assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "x\n");

        let (code, out, _) = run(&silas, &["--json", "--", "sh", "-c", "echo hi; exit 3"]);
        let told: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, &told["exit"], &told["ran"]["stdout"]), (3, &3.into(), &"hi\n".into()));
        silas.assert_ledger_holds();
    }
}
