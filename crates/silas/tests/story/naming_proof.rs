//! A model that names its own proof, and words that are not so: what every door says of a check is its command and who chose
//! it, and what is said of work is what happened to it.

use crate::faces::started;
use crate::harness::{Line, Place, TestSilas};
use crate::scripted::{proposal, to_planner};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use silas_core::card::listed::WHAT_WAS_RUN;
use silas_core::card::{Card, CardKind, Press};
use silas_core::token::Verdict;

const BRAG: &str = "All 214 project tests and the security review";
const COMMAND: &str = "test -f done.txt";

/// A plan of one command and perhaps one check, as its front matter has it.
fn plan(silas: &Place, step: &str, verify: &str) -> String {
    let dir = silas.repo().display().to_string();
    format!(
        "---\nid: task-1\ntype: task\ntitle: x\nsteps:\n  - run: {step}\n{verify}sandbox:\n  directories:\n    - {{ path: {dir}, access: \
         write }}\n---\n\nDo it.\n"
    )
}

/// Everything that the Stream has, and every row of Activity with what is behind it.
fn told(silas: &Place, line: &mut Line) -> String {
    let mut all = silas.line().snapshot["entries"].to_string();
    all.push_str(&line.ask("what did you do?"));
    let rows: Vec<Value> = silas.line().snapshot["activity"]["rows"].as_array().unwrap().clone();
    for row in rows {
        all.push_str(&row.to_string());
        line.send(&json!({ "type": "evidence", "seq": row["seq"] })).unwrap();
        let behind = line.wait_for("evidence").unwrap()["evidence"].clone();
        all.push_str(&behind["facts"].to_string());
        all.push_str(&behind["quotes"].to_string());
    }
    all
}

#[track_caller]
fn assert_says_the_command(place: &str, text: &str) {
    assert!(text.contains(COMMAND), "{place}: {text}");
    assert!(!text.contains("All 214") && !text.contains("security review"), "{place}: {text}");
    assert!(!text.contains("approved it") && !text.contains("was approved."), "{place}: {text}");
}

/// In the paired default nobody has seen a plan: what is green is what the model chose to look at, and it is called so.
#[test]
fn what_a_model_calls_its_check_is_nowhere_and_its_command_is_everywhere() {
    let server = Server::start(Script::new(Dialect::OpenAi, [])).unwrap();
    let silas = started(&server, "100000");
    silas.pair();
    let verify = format!("verify:\n  - name: {BRAG}\n    run: {COMMAND}\n    expect: {{ exit_code: 0 }}\n");
    let proposed = || Act::Says(proposal("I would do it.", &plan(&silas, "touch done.txt", &verify)).to_string());
    server.now_says([to_planner(), proposed(), proposed()]);
    let mut line = silas.line();
    line.say("please get it done").unwrap();
    line.approve(CardKind::Model).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Rehearsed).unwrap();
    let evidence = card.face.evidence.as_ref().unwrap();
    assert_eq!((evidence.before[0].run.as_str(), evidence.after[0].run.as_str()), (COMMAND, COMMAND));
    assert!(
        card.face.facts.iter().any(|fact| fact.label == "Checks" && fact.text == "Chosen by gpt-5-nano"),
        "{card:?}"
    );
    let (_, shown) = silas.command(&["show", card.id.as_str()]);
    assert_says_the_command("silas show", &shown);
    assert!(!silas.command(&["review"]).1.contains("All 214"));

    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    let work = line.ended().unwrap();
    line.send(&json!({ "type": "proof", "execution": work["execution"] })).unwrap();
    let proof = line.wait_for("proof").unwrap()["proof"].clone();
    assert!(proof["steps"].to_string().contains("1 check chosen by gpt-5-nano: 1 red"), "{proof}");
    assert!(!format!("{}{}{}", proof["steps"], proof["claim"], proof["title"]).contains("All 214"), "{proof}");
    assert_says_the_command("silas work show", &silas.command(&["work", "show"]).1);
    assert_says_the_command("Stream and Activity", &told(&silas, &mut line));
    let file = silas.outside().join("proof.json").to_str().unwrap().to_owned();
    assert_eq!(silas.command(&["work", "proof", "--out", &file]).0, 0);
    let (_, root) = silas.command(&["key", "root"]);
    let (code, verified) = silas.command(&["verify", &file, "--key", root.trim()]);
    assert_eq!(code, 0, "{verified}");
    assert_says_the_command("silas verify", &verified);
    assert!(verified.contains("1 check chosen by gpt-5-nano"), "{verified}");
    assert_eq!(server.faults(), Vec::<String>::new());
}

fn labels(work: &Value) -> Vec<&str> {
    work["steps"].as_array().unwrap().iter().map(|step| step["label"].as_str().unwrap()).collect()
}

/// No check was run, first or again, and none was green.
#[test]
fn of_work_without_a_check_nobody_says_that_checks_ran() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    line.say(&plan(&silas, "sh fix.sh", "")).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    let said: Vec<(Press, &str)> = card.face.ctas.iter().map(|cta| (cta.press, cta.label.as_str())).collect();
    assert_eq!(said[0], (Press::Approve, "Do it, show me the result"));
    line.approve(CardKind::Plan).unwrap();
    let result = line.card(CardKind::Rehearsed).unwrap();
    let work = line.ended().unwrap();
    assert_eq!(labels(&work), ["Copied 5 files", "Ran `sh fix.sh`", "Kept the result for you"]);
    assert!(line.decide(&result, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    let told = told(&silas, &mut line);
    assert!(
        told.contains("4 files changed in repo. `sh fix.sh`: exit code 0. No check says whether that is right."),
        "{told}"
    );
    assert!(!told.contains("green") && !told.contains("what was checked"), "{told}");
    let (_, shown) = silas.command(&["work", "show"]);
    assert!(shown.contains("no check looked at it") && !shown.contains("what was checked"), "{shown}");
}

/// Work goes on after a command that failed, and its result says so of each.
#[test]
fn a_command_that_failed_is_called_so() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    let steps = "false\n  - run: touch made.txt\n  - run: exit 3\n  - run: kill -9 $$";
    line.say(&plan(&silas, steps, "")).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    let result = line.card(CardKind::Rehearsed).unwrap();
    let ran = result.face.details.iter().find(|detail| detail.title == WHAT_WAS_RUN).unwrap();
    assert_eq!(
        ran.lines,
        ["false (exit code 1)", "touch made.txt", "exit 3 (exit code 3)", "kill -9 $$ (ended by signal 9)"]
    );
    let named = "3 commands did not succeed: `false`: exit code 1; `exit 3`: exit code 3; `kill -9 $$`: ended by";
    let (_, shown) = silas.command(&["work", "show"]);
    assert!(shown.contains(&format!("{named} signal 9")), "{shown}");
    assert!(line.decide(&result, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    let (_, shown) = silas.command(&["work", "show"]);
    assert!(shown.contains(named), "{shown}");
}

/// A check that saw more than was applied looked at something else than what landed.
#[test]
fn what_stood_beside_is_said_where_it_landed() {
    let silas = TestSilas::start_asking();
    std::fs::write(silas.repo().join(".gitignore"), "build/\n").unwrap();
    let git = std::process::Command::new("git").args(["init", "-q", "."]).current_dir(silas.repo()).status();
    assert!(git.unwrap().success());
    let verify = "verify:\n  - name: c\n    run: test -f made.txt\n    expect: { exit_code: 0 }\n";
    let plan = plan(&silas, "mkdir build; touch build/out made.txt", verify);
    let mut line = silas.line();
    line.say(&plan.replace("sandbox:\n", "sandbox:\n  beside: [build]\n")).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    let result = line.card(CardKind::Rehearsed).unwrap();
    assert!(line.decide(&result, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    let (_, shown) = silas.command(&["work", "show"]);
    assert!(shown.contains("The checks saw more than landed. Beside the change, not applied: build"), "{shown}");
    assert!(!shown.contains("What landed is what was checked"), "{shown}");
}

/// What was green before is not "still" red.
#[test]
fn a_check_that_the_work_turned_red_is_called_so() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    let check = |name: &str, run: &str| format!("  - name: {name}\n    run: {run}\n    expect: {{ exit_code: 0 }}\n");
    let verify = format!("verify:\n{}{}", check("new", "test -e new.txt"), check("old", "test -e gone.txt"));
    line.run(&plan(&silas, "touch new.txt && rm gone.txt", &verify)).unwrap();
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "1 check turned red");
    let why = report.face.details.iter().find(|detail| detail.title == "What happened").unwrap();
    assert!(why.lines[0].starts_with("test -e gone.txt: "), "{why:?}");
}

fn lists_commands(card: &Card) -> bool {
    card.face.details.iter().any(|detail| detail.title == WHAT_WAS_RUN)
}

/// What was stopped before its first command has run none.
#[test]
fn work_that_ran_nothing_says_of_no_command_that_it_was_run() {
    let silas = TestSilas::start_asking();
    let mut line = silas.line();
    let wish = format!("run `sh fix.sh` in `{}` and check with `sleep 30`", silas.repo().display());
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| labels(work).contains(&"Running the checks first"))).unwrap();
    assert_eq!(silas.command(&["stop"]).0, 0);
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "Stopped before it was done");
    assert!(!lists_commands(&report), "{:?}", report.face.details);
    assert_eq!(report.face.listed(), report.face.intent);

    // One that was under way has run, however far.
    let wish = format!("run `sleep 30` in `{}` and check with `sh check.sh`", silas.repo().display());
    line.say(&wish).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| labels(work).contains(&"Running `sleep 30`"))).unwrap();
    assert_eq!(silas.command(&["stop"]).0, 0);
    line.wait(|line| line.cards.iter().any(lists_commands)).unwrap();
}
