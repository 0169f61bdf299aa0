//! A row of Activity opens what stands behind it: what was asked and signed, which rule refused, what was paid, and the entry
//! of the ledger itself.

use crate::harness::{Line, Place, TestSilas};
use serde_json::{Value, json};
use silas_core::card::CardKind;
use silas_core::token::Verdict;
use silas_core::{Digest, Timestamp, chain};

/// The newest row that says this, as the terminal numbers it.
fn number_of(silas: &Place, says: &str) -> String {
    let (code, told) = silas.command(&["activity"]);
    assert_eq!(code, 0, "{told}");
    let row = told.lines().find(|line| line.contains(says)).unwrap_or_else(|| panic!("{says}: {told}"));
    row.split_whitespace().next().unwrap().to_owned()
}

/// What the terminal shows behind that row.
pub(crate) fn behind(silas: &Place, says: &str) -> String {
    let (code, told) = silas.command(&["activity", &number_of(silas, says)]);
    assert_eq!(code, 0, "{told}");
    told
}

#[track_caller]
pub(crate) fn assert_tells(told: &str, lines: &[&str]) {
    for line in lines {
        assert!(told.contains(line), "{line:?} is not in: {told}");
    }
}

/// Every entry, asked for by its number: each has an answer, and a hash that anybody can compute.
fn assert_every_entry_opens(line: &mut Line) {
    let head = line.snapshot["activity"]["n_entries"].as_u64().unwrap();
    assert!(head > 10);
    for seq in 1..=head {
        line.send(&json!({ "type": "evidence", "seq": seq })).unwrap();
        let answer: Value = line.wait_for("evidence").unwrap();
        let link = &answer["evidence"]["link"];
        let text = |name: &str| link[name].as_str().unwrap();
        let at = Timestamp::parse(text("at")).unwrap();
        let prev: Digest = serde_json::from_value(link["prev"].clone()).unwrap();
        let hash = chain::hash(seq, at, text("body"), &prev).unwrap();
        assert_eq!((hash.to_string().as_str(), &answer["evidence"]["holds"]), (text("hash"), &json!(true)), "{answer}");
    }
}

#[test]
fn a_decision_opens_what_was_asked_and_signed_and_work_leads_to_its_proof() {
    let silas = TestSilas::start();
    silas.command(&["say", &silas.wish()]);
    assert_eq!(silas.command(&["approve"]).0, 0);
    assert_eq!(silas.command(&["approve"]).0, 0);
    let told = behind(&silas, "You approved a plan");
    assert_tells(
        &told,
        &[
            "Asked       Run 1 command in repo",
            "May change",
            "Answer      Yes",
            "Signed on",
            "with the key of the terminal",
            "Covers",
            "Entry",
            "decision_recorded",
            "and fits its content",
        ],
    );
    assert_tells(&behind(&silas, "Plans may work in"), &["Allows", "Signed on"]);
    assert_tells(&behind(&silas, "check red"), &["Red", "Work"]);
    let applied = behind(&silas, "Proved and applied");
    assert_tells(
        &applied,
        &[
            "Changes     4 files, all or none",
            "Checks      Proved: red before, green after",
            "The proof of this work: `silas work show exec-",
        ],
    );
    let shown = applied.rsplit("silas work show ").next().unwrap().split('`').next().unwrap();
    assert_eq!(silas.command(&["work", "show", shown]).0, 0);
    let (code, as_json) = silas.command(&["activity", &number_of(&silas, "You approved a plan"), "--json"]);
    let evidence: Value = serde_json::from_str(&as_json).unwrap();
    assert!(code == 0 && evidence["link"]["hash"].is_string() && evidence["proof"].is_null(), "{as_json}");

    let (code, text) = silas.command(&["activity", "99999"]);
    assert!(code != 0 && text.contains("The ledger has no entry 99999."), "{text}");
    assert_ne!(silas.command(&["activity", "1", "--all"]).0, 0);
    assert_every_entry_opens(&mut silas.line());
}

/// A grant that was taken back is named as the list of grants named it, though it is not there any more.
#[test]
fn what_was_taken_back_is_named() {
    let silas = TestSilas::start();
    silas.command(&["say", &silas.wish()]);
    assert_eq!(silas.command(&["approve"]).0, 0);
    let (_, list) = silas.command(&["grant", "list"]);
    let (title, text) = ("Work in repo", list.lines().nth(1).unwrap().trim().to_owned());
    assert!(list.contains(title) && text.contains("Plans may be offered for"), "{list}");
    assert_eq!(silas.command(&["grant", "revoke", &silas.called("grant")[0]]).0, 0);
    let (_, told) = silas.command(&["activity"]);
    assert!(told.lines().any(|line| line.contains("Took back a grant. Work in repo. ")), "{told}");
    let behind = behind(&silas, "Took back a grant");
    assert_tells(&behind, &["Grant       Work in repo", &text, "signed by the root key"]);
    assert!(!behind.contains("of what was taken back"), "{behind}");
}

#[test]
fn a_no_opens_and_what_was_forgotten_is_not_told() {
    let silas = TestSilas::start();
    let mut line = silas.line();
    line.ask(&silas.wish());
    let root = line.card(CardKind::Root).unwrap();
    assert!(line.decide(&root, Verdict::Declined).unwrap().0);
    assert_tells(
        &behind(&silas, "You declined a directory"),
        &["Asked       Let plans work in repo", "Answer      No"],
    );
    line.ask("add task `call the dentist`");
    let number = number_of(&silas, "Added a task");
    assert_tells(&behind(&silas, "Added a task"), &["Task        call the dentist"]);
    assert_eq!(silas.command(&["audit", "forget", &number, "--yes"]).0, 0);
    let (_, told) = silas.command(&["activity", &number]);
    assert!(told.contains("(forgotten)") && !told.contains("dentist"), "{told}");
}
