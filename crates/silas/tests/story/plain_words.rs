//! Sentences as they are typed: without backticks where the meaning is clear, completed where one part is missing, and a line
//! to a greeting. What was understood before keeps its meaning.

use crate::harness::TestSilas;
use serde_json::json;
use silas_core::card::CardKind;
use silas_core::reflex::GRAMMAR;

#[test]
fn tasks_by_their_titles() {
    let silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    line.ask("add task buy milk");
    line.ask("add task call the dentist");
    assert_eq!(line.ask("done with buy milk"), "Done: buy milk");
    assert_eq!(line.ask("Reopen buy milk."), "Open again: buy milk");
    // Which one is a matter of a tap.
    let which = line.ask("done with");
    assert!(which.contains("Which one?\n• done with buy milk\n• done with call the dentist"), "{which}");
    let none = line.ask("done with buy bread");
    assert!(none.starts_with("No open task is called “buy bread”. Nothing was changed. Which one?\n• "), "{none}");
    assert!(line.ask("add task").contains("\n• add task TITLE"));
    let (code, text) = silas.command(&["say", "done", "with", "buy", "milk"]);
    assert_eq!((code, text.as_str()), (0, "Done: buy milk\n"));
    // With the version that understood them, so that they never mean anything else.
    let exported = silas.outside().join("ledger").to_str().unwrap().to_owned();
    assert_eq!(silas.command(&["audit", "export", &exported]).0, 0);
    let text = std::fs::read_to_string(exported).unwrap();
    assert!(text.contains(&format!("\"grammar\":{GRAMMAR}")) || text.contains(&format!("\"grammar\": {GRAMMAR}")));
    silas.assert_ledger_holds();
}

#[test]
fn a_wish_as_it_is_typed_and_one_without_its_directory() {
    let silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    let repo = silas.repo().display().to_string();
    let fix = "sh fix.sh src/a.txt src/b.txt gone.txt more/c.txt";
    line.say(&format!("run {fix} in {repo} and check with sh check.sh")).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert!(card.face.evidence.unwrap().claim.starts_with("Proved"), "names that were typed count as before");
    let said = line.ask("run sh check.sh");
    assert_eq!(said, format!("In which directory? Nothing was done yet.\n• run sh check.sh in {repo}"));
    line.work.clear();
    line.say(&format!("run sh check.sh in {repo}")).unwrap();
    line.card(CardKind::Report).unwrap();
    silas.assert_ledger_holds();
}

#[test]
fn a_greeting_gets_a_line_and_thanks_too() {
    let silas = TestSilas::start();
    let mut line = silas.line();
    for (said, answer) in [("hello", "Hello. Say what to run, or `help`."), ("Thanks, Silas!", "You are welcome.")] {
        assert_eq!(line.ask(said), answer);
    }
    assert_eq!(line.snapshot["cards"], json!([]));
    // What is shown as an example is what can be typed.
    let help = line.ask("help");
    assert!(!help.contains('`') && help.contains("• run COMMAND in ~/DIRECTORY\n"), "{help}");
}
