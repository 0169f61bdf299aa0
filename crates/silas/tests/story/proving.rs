//! What a proof is worth, as its owner sees it: a real bug, a patch, tests that were counted, an undo; and work that only
//! looks done.

use crate::harness::TestSilas;
use serde_json::json;
use silas_core::card::{Card, CardKind};
use silas_core::token::Verdict;
use std::fs;

const CALC: &str = "def add(a, b):\n    return a - b\n";
const TEST: &str = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n";
const PATCH: &str =
    "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n";

/// A repository with a bug, a test that shows it and a patch that mends it.
fn with_a_bug() -> TestSilas {
    let silas = TestSilas::start();
    let write = |path: &str, text: &str| {
        let path = silas.repo().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("calc.py", CALC);
    write("tests/test_calc.py", TEST);
    write("fix.patch", PATCH);
    silas
}

fn lines(card: &Card, title: &str) -> String {
    let found: Vec<&str> =
        card.face.details.iter().filter(|d| d.title == title).flat_map(|d| &d.lines).map(String::as_str).collect();
    found.join("\n")
}

#[test]
fn the_golden_bug_fix() {
    let silas = with_a_bug();
    let original = silas.tree();
    let mut line = silas.line();
    let dir = silas.repo().display().to_string();
    line.say(&format!("run `patch -p1 -i fix.patch` in `{dir}` and check with `/usr/bin/python3 -m pytest -q tests`"))
        .unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(
        lines(&plan, "Your check").ends_with("must succeed; protected, tests are counted"),
        "{:?}",
        plan.face.details
    );
    assert!(
        lines(&plan, "Limits").contains("Checks use the tests and scripts as they are now"),
        "{:?}",
        plan.face.details
    );
    line.approve(CardKind::Plan).unwrap();
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved", "is pytest installed for /usr/bin/python3? {work}");
    let done = line.card(CardKind::Done).unwrap();
    let evidence = done.face.evidence.as_ref().unwrap();
    assert_eq!(evidence.claim, "Proved: red before, green after");
    assert_eq!(evidence.caveats, ["Faked test results would go unnoticed."]);
    assert_eq!(lines(&done, "Taken for the code under test"), "calc.py");
    assert_eq!(evidence.before[0].reason, "Exit code 1, expected 0; 1 test passed, 1 failed");
    assert_eq!(evidence.after[0].reason, "Exit code 0, expected 0; 2 tests passed");
    assert!(fs::read_to_string(silas.repo().join("calc.py")).unwrap().contains("a + b"));

    line.send(&json!({ "type": "proof", "execution": work["execution"] })).unwrap();
    let proof = line.wait_for("proof").unwrap()["proof"].clone();
    assert_eq!(proof["claim"], evidence.claim.as_str());
    assert_eq!(proof["caveats"][0], evidence.caveats[0].as_str());
    let steps = proof["steps"].to_string();
    assert!(steps.contains("pytest: 2 tests passed. They used the tests and scripts from before the work."), "{steps}");
    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

#[test]
fn work_that_only_looks_done_is_shown_for_what_it_is() {
    let silas = with_a_bug();
    let original = silas.tree();
    let mut line = silas.line();
    let cheat = "printf 'import os\\nos._exit(0)\\n' > calc.py; echo 'def test_add(): pass' > tests/test_calc.py";
    let wish = format!("run `{cheat}` in `{}` and check with `/usr/bin/python3 -m pytest -q`", silas.repo().display());
    assert_eq!(line.run(&wish).unwrap()["outcome"], "failed");
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "The check is still red");
    let flags = lines(&report, "Look at this twice");
    assert_eq!(flags, "calc.py ends the process: os._exit\ntests/test_calc.py is a test");
    assert_eq!(lines(&report, "Changed, but the checks saw it as it was before"), "tests/test_calc.py");
    let why = lines(&report, "What happened");
    assert!(why.contains("before they were through") && why.contains("check openly with"), "{why}");
    assert_eq!(silas.tree(), original);
}

#[test]
fn an_open_check_is_said_before_and_after() {
    let silas = with_a_bug();
    let mut line = silas.line();
    let cheat = "sed -i s/==/!=/ tests/test_calc.py";
    let wish = format!("run `{cheat}` in `{}` and check openly with `sh check.sh`", silas.repo().display());
    fs::write(silas.repo().join("check.sh"), "grep -q '!= 3' tests/test_calc.py\n").unwrap();
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(plan.face.facts.iter().any(|fact| fact.text == "1 check, not protected"), "{:?}", plan.face.facts);
    assert!(lines(&plan, "Limits").contains("The commands may change their own checks"), "{:?}", plan.face.details);
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "green_by_exit_code");
    let card = line.card(CardKind::Rehearsed).unwrap();
    let evidence = card.face.evidence.as_ref().unwrap();
    assert_eq!(evidence.claim, "Green by exit code, checks not protected");
    assert_eq!(evidence.caveats[0], "The work changed what judged it: tests/test_calc.py.");
    assert_eq!(card.face.ctas[0].label, "Apply 1 file, by exit code");
    let said = silas.line().snapshot["entries"].as_array().unwrap().last().unwrap()["text"].clone();
    let judges = "1 red turned green by exit code. The work changed what judged it: tests/test_calc.py.";
    assert!(said.as_str().unwrap().contains(judges), "{said}");
    assert!(silas.command(&["work", "list"]).1.contains("green by exit code"));
    assert!(line.ask("what did you do?").contains("Green by exit code, in a private copy, not applied"));
}
