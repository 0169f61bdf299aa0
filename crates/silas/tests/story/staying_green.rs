//! Work on green code: what was green and stays green says that nothing broke, and no more. It waits for one tap and is
//! called what it is everywhere; where a model chose what is looked at, green with nothing done leads to another check.

use crate::harness::{ASKING, TestSilas};
use crate::scripted::{finish, in_every_role, next_reply, proposal, to_planner};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::json;
use silas_core::card::{Card, CardKind, Risk};
use silas_core::check::Outcome;
use silas_core::token::Verdict;
use std::fs;

/// A program of two files, and tests that are counted and green.
fn program(silas: &TestSilas) {
    let repo = silas.repo();
    fs::write(repo.join("lib.sh"), "old_name() { echo 42; }\n").unwrap();
    fs::write(repo.join("main.sh"), ". ./lib.sh\nold_name\n").unwrap();
    let test = "echo 1..1\nif [ \"$(sh main.sh)\" = 42 ]; then echo 'ok 1 - it says 42'; else echo 'not ok 1 - it says 42'; exit 1; fi\n";
    fs::write(repo.join("test.sh"), test).unwrap();
}

fn renaming(silas: &TestSilas) -> String {
    let run = "sed -i s/old_name/new_name/ lib.sh main.sh";
    format!("run `{run}` in `{}` and check with `sh test.sh`", silas.repo().display())
}

fn claim(card: &Card) -> &str {
    &card.face.evidence.as_ref().unwrap().claim
}

#[test]
fn a_function_is_renamed_on_green_code_by_one_tap() {
    for settings in [&[][..], &[ASKING][..]] {
        let silas = TestSilas::start_with(settings);
        program(&silas);
        let original = silas.tree();
        silas.pair();
        let mut line = silas.line();
        line.say(&renaming(&silas)).unwrap();
        line.approve(CardKind::Root).unwrap();
        if settings == [ASKING] {
            line.approve(CardKind::Plan).unwrap();
        }
        let card = line.card(CardKind::Rehearsed).unwrap();
        assert_eq!(silas.tree(), original, "never by itself");
        assert_eq!(card.face.evidence.as_ref().unwrap().outcome, Outcome::Guarded);
        assert_eq!(claim(&card), "Stayed green: green before and after");
        assert_eq!(
            (card.face.risk, card.face.ctas[0].label.as_str()),
            (Some(Risk::Low), "Apply 2 files, stayed green")
        );
        let (_, listed) = silas.command(&["work", "list"]);
        assert!(listed.contains("stayed green"), "{listed}");

        assert!(line.decide(&card, Verdict::Approved).unwrap().0);
        let done = line.card(CardKind::Done).unwrap();
        assert_eq!(claim(&done), "Stayed green: green before and after");
        assert!(fs::read_to_string(silas.repo().join("main.sh")).unwrap().contains("new_name"));
        let told = line.ask("what did you do?");
        assert!(told.contains("The checks stayed green") && !told.contains("Proved"), "{told}");
        // The bundle says it too, on any machine.
        let file = silas.outside().join("proof.json").to_str().unwrap().to_owned();
        assert_eq!(silas.command(&["work", "proof", "--out", &file]).0, 0);
        let (_, root) = silas.command(&["key", "root"]);
        let (code, text) = silas.command(&["verify", &file, "--key", root.trim()]);
        assert!(code == 0 && text.starts_with("VERIFIED. Stayed green"), "{text}");
        assert!(!text.contains("Proved"), "{text}");
        assert!(line.decide(&done, Verdict::Approved).unwrap().0);
        assert_eq!(silas.tree(), original);
        silas.assert_ledger_holds();
    }
}

#[test]
fn a_refactoring_that_breaks_something_is_red_as_ever() {
    let silas = TestSilas::start();
    program(&silas);
    let original = silas.tree();
    silas.pair();
    let mut line = silas.line();
    let run = "sed -i s/old_name/new_name/ lib.sh";
    line.say(&format!("run `{run}` in `{}` and check with `sh test.sh`", silas.repo().display())).unwrap();
    line.approve(CardKind::Root).unwrap();
    assert_eq!(line.card(CardKind::Report).unwrap().face.intent, "1 check turned red");
    assert_eq!(silas.tree(), original);
}

#[test]
fn a_judge_that_the_work_changed_is_named_and_asks_more_than_a_tap() {
    let silas = TestSilas::start();
    program(&silas);
    silas.pair();
    let mut line = silas.line();
    // Nobody said that these files may change.
    let run = "for f in *.sh; do sed -i s/old_name/new_name/ \"$f\"; done";
    line.say(&format!("run `{run}` in `{}` and check with `sh test.sh`", silas.repo().display())).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!((claim(&card), card.face.risk), ("Stayed green, judges changed", Some(Risk::Medium)));
    let caveats = card.face.evidence.as_ref().unwrap().caveats.join(" ");
    assert!(caveats.contains("The work changed what judged it: lib.sh, main.sh."), "{caveats}");
}

#[test]
fn nothing_to_do_is_said_where_nothing_changed() {
    let silas = TestSilas::start();
    program(&silas);
    let original = silas.tree();
    silas.pair();
    let mut line = silas.line();
    line.say(&format!("run `sh main.sh` in `{}` and check with `sh test.sh`", silas.repo().display())).unwrap();
    line.approve(CardKind::Root).unwrap();
    assert_eq!(line.card(CardKind::Report).unwrap().face.intent, "Already passes, nothing to do");
    assert_eq!(silas.tree(), original);
}

/// A model in every role, a Silas that asks it, and the plans it writes.
struct World {
    server: Server,
    silas: TestSilas,
}

impl World {
    fn new() -> Self {
        let server = Server::start(Script::new(Dialect::OpenAi, [])).unwrap();
        let model = format!("compatible:test@{}", server.url());
        let mut settings = in_every_role(&model).to_vec();
        settings.push(ASKING);
        let silas = TestSilas::start_with(&settings);
        program(&silas);
        World { server, silas }
    }

    /// Runs something and checks it, as the model chose.
    fn plan(&self, run: &str, check: &str) -> Act {
        let markdown = format!(
            "---\nid: task-1\ntype: task\ntitle: x\nsteps:\n  - run: {run}\nverify:\n  - name: green\n    run: {check}\n    \
             expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: {}, access: write }}\n---\n\nDo it.\n",
            self.silas.repo().display()
        );
        Act::Says(proposal("So.", &markdown).to_string())
    }

    /// The wish leads to this plan, which is approved; what the model says afterwards follows.
    fn carried_out(&self, plan: impl Fn() -> Act, then: Vec<Act>) -> crate::harness::Line {
        let mut acts = vec![to_planner(), plan(), plan()];
        acts.extend(then);
        self.server.now_says(acts);
        let mut line = self.silas.line();
        line.say("make it say 43").unwrap();
        line.approve(CardKind::Model).unwrap();
        line.approve(CardKind::Root).unwrap();
        line.approve(CardKind::Plan).unwrap();
        line
    }
}

#[test]
fn a_check_of_a_models_that_shows_nothing_leads_to_another_check() {
    let world = World::new();
    let another = world.plan("sed -i s/42/43/ lib.sh", "test $(sh main.sh) = 43");
    let mut line = world.carried_out(|| world.plan("sh main.sh", "sh test.sh"), vec![another]);
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "Nothing changed, and nothing is shown");
    let plan = line.card(CardKind::Plan).unwrap();
    let face = serde_json::to_string(&plan.face).unwrap();
    assert!(face.contains("Its checks passed before it began") && face.contains("= 43"), "{face}");
    assert!(!face.contains("of the plan before"), "they are a model's: {face}");
    let told = world.server.asked().last().unwrap().body["messages"].to_string();
    assert!(told.contains("a check that fails as long as it is not"), "{told}");
    line.work.clear();
    line.approve(CardKind::Plan).unwrap();
    // Of an exit code nothing is proved, so the owner sees what would change.
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!(card.face.evidence.as_ref().unwrap().outcome, Outcome::GreenByExitCode);
    world.silas.assert_ledger_holds();
}

#[test]
fn where_no_check_shows_it_the_owner_is_asked() {
    let world = World::new();
    let none = json!({ "message": "How would you see it?", "needs_approval": false, "plan_action": null });
    let mut line = world.carried_out(|| world.plan("sh main.sh", "sh test.sh"), vec![Act::Says(none.to_string())]);
    loop {
        let said = next_reply(&mut line);
        if said.contains("How would you see that it is done? Say it again with a command that shows it.") {
            break;
        }
    }
    let report = line.card(CardKind::Report).unwrap();
    let details = format!("{:?}", report.face.details);
    assert!(details.contains("How would you see it?"), "{details}");
    // The same check again is no other check.
    let again = world.plan("sed -i s/42/43/ lib.sh", "sh test.sh");
    world.server.now_says([to_planner(), world.plan("true", "sh test.sh"), again]);
    line.say("make it say 43, please").unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.cards.iter().filter(|card| card.face.kind == CardKind::Report).count() == 2).unwrap();
    assert!(line.cards.iter().any(|card| format!("{:?}", card.face.details).contains("has no other check")));
    world.silas.assert_ledger_holds();
}

#[test]
fn what_stayed_green_by_a_models_choice_is_shown_and_says_so() {
    let world = World::new();
    let mut line = world.carried_out(|| world.plan("echo done > notes.txt", "sh test.sh"), vec![finish()]);
    let said = loop {
        let said = next_reply(&mut line);
        if said.contains("stayed green") {
            break said;
        }
    };
    assert!(said.contains("A model chose them, and none shows that what you asked is done."), "{said}");
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!((claim(&card), card.face.diffs.len()), ("Stayed green: green before and after", 1));
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    line.card(CardKind::Done).unwrap();
    assert!(world.silas.repo().join("notes.txt").exists());
}
