//! What commands and checks print is seen while they run, and nowhere after: page, terminal and a door that opens meanwhile
//! show it, no file has it, and no model hears it by this way.

use crate::harness::{ASKING, Line, Silas, TestSilas};
use serde_json::{Value, json};
use silas_core::card::CardKind;
use std::fs;
use std::path::Path;

fn plan(repo: &Path, run: &str, checks: &[&str]) -> String {
    let check = |(n, run): (usize, &&str)| {
        format!("  - name: check {n}\n    run: {}\n    expect: {{ exit_code: 0 }}\n", json!(run))
    };
    let checks: String = checks.iter().enumerate().map(check).collect();
    format!(
        "---\nid: task-1\ntype: task\ntitle: x\nsteps:\n  - run: {}\nverify:\n{checks}sandbox:\n  directories:\n    - {{ path: {}, access: write }}\n---\n\nDo this.\n",
        json!(run),
        repo.display()
    )
}

/// What is shown of the n-th part, once a text is in it.
fn shown(line: &mut Line, text: &str) -> Value {
    loop {
        let output = line.wait_for("output").unwrap()["output"].clone();
        let parts = output["printed"].as_array().unwrap();
        if let Some(part) = parts.iter().find(|part| part["text"].as_str().unwrap().contains(text)) {
            return json!({ "execution": output["execution"], "part": part });
        }
    }
}

/// Whether any file below has these bytes.
fn is_anywhere(dir: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().flatten().any(|entry| {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => is_anywhere(&path, bytes),
            kind if kind.is_file() => fs::read(&path).unwrap_or_default().windows(bytes.len()).any(|at| at == bytes),
            _ => false,
        }
    })
}

#[test]
fn a_command_is_seen_while_it_runs_and_its_words_are_kept_nowhere() {
    let silas = TestSilas::start_with(&[ASKING]);
    // Neither mark stands in the plan as it is printed.
    let run = "printf 'mark%s\\033[31m\\r' $((40+2)); echo \"mark$((40+1))\"; for n in $(seq 1 9000); do echo \"line $n\"; done; echo \"end$((6*7))\"; sleep 600";
    let mut line = silas.line();
    line.say(&plan(&silas.repo(), run, &["test -e never"])).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    let seen = shown(&mut line, "end42");
    let part = &seen["part"];
    let text = part["text"].as_str().unwrap();
    assert!(text.ends_with("line 9000\nend42\n") && text.len() < 7_000, "{text}");
    assert!(part["n_left_out"].as_u64().unwrap() > 80_000 && part["check"].is_null(), "{part}");

    // A door that is opened now sees it too.
    let later = silas.line();
    let outputs = later.snapshot["outputs"].as_array().unwrap().clone();
    assert!(outputs[0]["printed"][0]["text"].as_str().unwrap().contains("end42"), "{outputs:?}");

    line.send(&json!({ "type": "stop", "execution": seen["execution"] })).unwrap();
    line.ended().unwrap();
    assert_eq!(silas.line().snapshot["outputs"], json!([]));
    assert!(!is_anywhere(&silas.data(), b"end42"), "it was shown and not kept");
    silas.assert_ledger_holds();
}

#[test]
fn checks_are_seen_by_their_names_and_escapes_by_their_numbers() {
    let silas = TestSilas::start_with(&[ASKING]);
    let checks = ["printf 'one\\033[1m\\n'; test -e made", "echo two; test -e made", "echo three; test -e made"];
    let mut line = silas.line();
    line.say(&plan(&silas.repo(), "touch made", &checks)).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    let mut left = vec![("check 0", "one⟨U+001B⟩[1m\n"), ("check 1", "two\n"), ("check 2", "three\n")];
    while !left.is_empty() {
        let output = line.wait_for("output").unwrap()["output"].clone();
        for part in output["printed"].as_array().unwrap() {
            left.retain(|(check, text)| part["check"] != *check || part["text"] != *text);
        }
    }
    line.ended().unwrap();
}

/// In the terminal each line is told once, set off from Silas's own.
#[test]
fn a_terminal_tells_what_is_printed_line_by_line() {
    let silas = Silas::start_asking();
    let run = "for n in 1 2 3; do echo \"line $n\"; sleep 0.3; done; touch made";
    let mut line = silas.line();
    line.say(&plan(&silas.repo(), run, &["test -e made"])).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    let (code, told) = silas.command(&["approve", card.id.as_str()]);
    assert_eq!(code, 0, "{told}");
    for n in 1..=3 {
        assert_eq!(told.matches(&format!("  | line {n}\n")).count(), 1, "{told}");
    }
}
