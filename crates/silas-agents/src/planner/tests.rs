//! A plan that cannot be carried out goes back once; what a model says about approval changes nothing.

use super::*;
use crate::prompt::Prompt;
use crate::proxy::tests::projected;
use crate::scripted::ScriptedModel;
use crate::structured::tests::{Purse, question};
use serde_json::{Value, json};
use silas_core::model::Role;

const PLAN: &str = "---\nid: task-1\ntype: task\ntitle: Mend it\nsteps:\n  - run: \"sed -i s/a/b/ f\"\nverify:\n  - name: mended\n    run: \"grep -q b f\"\n    expect: { exit_code: 0 }\nsandbox:\n  directories:\n    - { path: /home/me/p, access: write }\n---\n\n# What to do\nMend.\n";

fn response(plan: &str) -> String {
    json!({
        "message": "A plan.", "needs_approval": false,
        "plan_action": {
            "action": "propose", "plan_markdown": plan, "continuation_of": null, "interaction_mode_override": null,
        },
    })
    .to_string()
}

async fn ask(answers: &[String]) -> (Outcome<AgentResponse>, ScriptedModel) {
    let model = ScriptedModel::says(answers.to_vec());
    let outcome = plan(&model, &question(), &Purse::of(9)).await.unwrap();
    (outcome, model)
}

#[tokio::test]
async fn a_plan_that_can_be_carried_out_is_taken() {
    let (outcome, model) = ask(&[response(PLAN)]).await;
    let Outcome::Usable(response) = outcome else { panic!("{outcome:?}") };
    assert_eq!((response.plan(), model.asked().len()), (Some(PLAN), 1));
}

#[tokio::test]
async fn a_plan_without_commands_checks_or_a_place_goes_back_with_the_reason() {
    for (broken, named) in [
        (PLAN.replace("steps:\n  - run: \"sed -i s/a/b/ f\"\n", ""), "steps"),
        (PLAN.replace("expect: { exit_code: 0 }", "expect: {}"), "verify"),
        (PLAN.replace("type: task", "type: spell"), "type"),
        ("do it".to_owned(), "---"),
    ] {
        let (outcome, model) = ask(&[response(&broken), response(PLAN)]).await;
        assert!(matches!(outcome, Outcome::Usable(_)), "{broken}");
        let asked = model.asked();
        assert!(asked.len() == 2 && asked[1].user.contains(named), "{}", asked[1].user);
    }
}

#[tokio::test]
async fn twice_unusable_leaves_no_plan() {
    let (outcome, model) = ask(&[response("no"), response("no"), response(PLAN)]).await;
    assert!(matches!(outcome, Outcome::Unusable { .. }));
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn the_planner_is_told_where_it_may_work() {
    let payload = |directories: &[&str]| {
        json!({
            "date": "2026-11-15", "directories": directories, "history": [], "wish": "mend it", "reason": "files",
            "answered": [], "may_ask": true, "continuation_of": null, "can_read": true, "has_executor": true,
            "has_search": true,
        })
    };
    let prompt = Prompt::render(&projected(Role::Planner, payload(&["/home/me/p"]))).unwrap();
    assert_eq!(prompt.system, include_str!("snapshot/planner.system.txt").trim());
    assert_eq!(prompt.user, "# Now\n[owner] mend it\n\n# Why it was handed to you\nfiles");
    let prompt = Prompt::render(&projected(Role::Planner, payload(&[]))).unwrap();
    assert!(prompt.system.contains("none is allowed yet"));
}

#[test]
fn the_planner_is_told_what_was_answered_and_when_not_to_ask() {
    let answered = json!([
        { "question": "Which?", "answer": "this", "is_chosen": true },
        { "question": "And then?", "answer": "that\n  too", "is_chosen": false },
    ]);
    let payload = json!({
        "date": "2026-11-15", "directories": [], "history": [], "wish": "mend it", "reason": "files", "answered": answered,
        "may_ask": false, "continuation_of": null, "can_read": false, "has_executor": true, "has_search": false,
    });
    let prompt = Prompt::render(&projected(Role::Planner, payload)).unwrap();
    assert!(prompt.system.contains("Do not ask: choose"), "{}", prompt.system);
    assert!(prompt.system.contains("You cannot see files"), "{}", prompt.system);
    let told = "You: Which?\nThe owner chose: this\nYou: And then?\nThe owner wrote: that\n  too\n";
    assert!(prompt.user.contains(told), "{}", prompt.user);
}

#[tokio::test]
async fn a_question_comes_without_a_plan_and_with_answers() {
    let asks = |options: &[&str], plan: Value| {
        let question = json!({ "text": "Which?", "options": options });
        json!({ "message": "m", "needs_approval": true, "plan_action": plan, "question": question }).to_string()
    };
    let plan: Value = serde_json::from_str(&response(PLAN)).unwrap();
    let answers = [asks(&["a", "b"], plan["plan_action"].clone()), asks(&["a", "b"], Value::Null)];
    let (outcome, model) = ask(&answers).await;
    let Outcome::Usable(response) = outcome else { panic!() };
    assert_eq!(response.question.unwrap().options, ["a", "b"]);
    assert_eq!(model.asked().len(), 2, "with a plan it went back");
    let (outcome, _) = ask(&[asks(&["a"], Value::Null), asks(&["a", "A"], Value::Null)]).await;
    assert!(matches!(outcome, Outcome::Unusable { .. }));
}
