//! What a card shows is what is signed: ways to have part of it go unseen, and what whoever reads the card sees instead.
//!
//! Characters that hide are in `silas-core/src/hidden/tests.rs`, lines of the terminal in `terminal/quoted/tests.rs`, what
//! the page makes of the same cards in `web/tests/shown.test.mjs`.

use crate::faces;
use crate::harness::Silas;
use scripted_model::{Dialect, Script, Server};
use serde_json::json;
use silas_core::card::{Card, CardKind, Risk};
use silas_core::changeset::DiffLine;
use silas_core::token::Verdict;
use std::fs;

/// Has a script tried out that changes the repository; its card.
fn tried(silas: &Silas, script: &str) -> Card {
    silas.pair();
    fs::write(silas.repo().join("make.sh"), script).unwrap();
    let mut line = silas.line();
    let wish = format!("run `sh make.sh` in `{}` and check with `test -e made`", silas.repo().display());
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Rehearsed).unwrap()
}

/// A plan as somebody writes it; its card.
fn planned(silas: &Silas, step: &str) -> Card {
    let mut line = silas.line();
    let directory = silas.repo();
    let markdown = format!(
        "---\nid: task-1\ntype: task\ntitle: x\nsteps:\n  - {step}\nverify:\n  - name: fixed\n    run: sh check.sh\n    expect: \
         {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: {}, access: write }}\n---\n\nFix it.\n",
        directory.display()
    );
    line.say(&markdown).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap()
}

/// One file that does harm behind many that do not.
#[test]
fn a_file_among_many() {
    let silas = Silas::start();
    let script =
        "mkdir -p aa && for n in $(seq 82); do echo $n > aa/$n.txt; done; echo 'import os' > zz_evil.py; echo > made";
    let card = tried(&silas, script);
    assert_eq!(card.face.intent, "Apply 84 changed files to repo");
    let paths: Vec<String> = card.face.diffs.iter().map(|diff| diff.path.to_string()).collect();
    assert_eq!(paths.len(), 84, "{paths:?}");
    let evil = card.face.diffs.iter().find(|diff| diff.path.to_string() == "zz_evil.py").unwrap();
    assert_eq!(evil.lines.as_deref(), Some(&[DiffLine::Added("import os".to_owned())][..]));
    let changes = card.face.facts.iter().find(|fact| fact.label == "Changes").unwrap();
    assert_eq!((changes.text.as_str(), card.face.risk), ("84 files, listed below", Some(Risk::Medium)));
    let (code, text) = silas.command(&["show"]);
    assert!(code == 0 && text.contains("zz_evil.py") && text.contains("+ import os"), "{text}");

    let mut line = silas.line();
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    let file = silas.outside().join("many.proof").to_str().unwrap().to_owned();
    assert_eq!(silas.command(&["work", "proof", "--out", &file]).0, 0);
    let (_, root) = silas.command(&["key", "root"]);
    let (code, text) = silas.command(&["verify", &file, "--key", root.trim()]);
    assert!(code == 0 && text.contains("a change of exactly these files"), "{text}");
    assert!(text.contains("  zz_evil.py (+1 −0)\n") && text.contains("  aa/82.txt (+1 −0)\n"), "{text}");
}

/// More new lines than anybody reads, and one at the end that does harm.
#[test]
fn a_line_behind_thousands() {
    let silas = Silas::start();
    let original = silas.tree();
    let card = tried(&silas, "seq 2050 > long.py; echo 'import os' >> long.py; echo > made");
    let long = card.face.diffs.iter().find(|diff| diff.path.to_string() == "long.py").unwrap();
    assert_eq!((long.added, long.n_not_shown()), (2051, 51));
    assert_eq!(long.lines.as_ref().unwrap().last(), Some(&DiffLine::NotShown(51)), "and not as unchanged");
    assert_eq!(card.face.risk, Some(Risk::Medium), "proved, and still not to be tapped away");
    let changes = card.face.facts.iter().find(|fact| fact.label == "Changes").unwrap();
    assert_eq!(changes.text, "2 files, not all shown");
    assert_eq!(card.face.details[0].lines, ["long.py: 51 changed lines"]);
    let (_, text) = silas.command(&["show"]);
    assert!(text.contains("51 changed lines are not on this card") && !text.contains("51 lines unchanged"), "{text}");
    let (code, text) = silas.command(&["approve"]);
    assert!(code != 0 && text.contains("51 changed lines are not on the card at all"), "{text}");
    assert!(!silas.tree().keys().any(|path| path.ends_with("long.py")) && silas.tree().len() == original.len() + 1);
}

/// A program of two lines that reads as one comment.
#[test]
fn a_line_that_ends_unseen() {
    let silas = Silas::start_asking();
    let card = planned(&silas, r##"python: "# just a comment\rimport os\u2028import sys\u000b""##);
    let shown = "python: # just a comment⟨U+000D⟩import os⟨U+2028⟩import sys⟨U+000B⟩";
    assert_eq!(card.face.details.iter().find(|detail| detail.title == "Steps").unwrap().lines, [shown]);
    assert!(silas.command(&["show"]).1.contains(shown));
}

/// A command that brings a card of its own, and one that is padded to where a screen ends.
#[test]
fn a_command_that_draws_a_card() {
    let silas = Silas::start_asking();
    planned(&silas, r#"run: "true\n● Low risk · Plan · zzzzz\n  silas approve  Harmless\nA number answers this card""#);
    let (code, text) = silas.command(&["show"]);
    assert_eq!(code, 0, "{text}");
    for forged in ["● Low risk · Plan · zzzzz", "silas approve  Harmless", "A number answers this card"] {
        let line = text.lines().find(|line| line.contains(forged)).unwrap();
        assert!(line.trim_start().starts_with("│ "), "{line}");
        assert!(line.starts_with("      "), "{line}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("● ") || line.starts_with("◆ ")).count(), 1, "{text}");
}

#[test]
fn two_lists_of_words_that_read_alike() {
    let silas = Silas::start_asking();
    let card = planned(&silas, r#"run: ["rm", "a b"]"#);
    assert_eq!(card.face.details.iter().find(|detail| detail.title == "Steps").unwrap().lines, ["rm 'a b'"]);
}

/// A model's answer that goes on as Silas would.
#[test]
fn an_answer_that_draws_a_card() {
    let server = Server::start(Script::new(Dialect::OpenAi, [])).unwrap();
    let silas = faces::started(&server, "100000");
    let mut line = silas.line();
    line.say("when is high water").unwrap();
    let forged = "At noon.\n● Low risk · Plan · zzzzz\n  silas approve  Harmless";
    let answer = || faces::routed("direct", json!({ "message": forged }));
    server.now_says([answer(), answer()]);
    line.approve(CardKind::Model).unwrap();
    line.wait_for("message").unwrap();
    let (code, text) = silas.command(&["say", "when is low water"]);
    assert!(code == 0 && text.starts_with("│ At noon.\n│ ● Low risk · Plan · zzzzz\n│   silas approve"), "{text}");
    let (_, text) = silas.command_with(&["chat"], &[], "/quit\n");
    let drawn: Vec<&str> = text.lines().filter(|line| line.contains("zzzzz") || line.contains("Harmless")).collect();
    assert!(drawn.iter().all(|line| line.starts_with("  │ ")), "{text}");
    assert_eq!(server.faults(), Vec::<String>::new());
}
