//! What a route may look like, how it is heard, and the prompt as it is sent.

use super::*;
use crate::prompt::{Prompt, prompt_size};
use crate::schema;
use crate::scripted::ScriptedModel;
use crate::structured::tests::{Purse, question};
use serde_json::{Value, json};
use silas_core::Taint;
use silas_core::boundary::{Call, Policy, Projected, admit};
use silas_core::model::{KeySource, ModelGrant, ModelName, Role};
use silas_core::reflex::UNDERSTOOD;

pub(crate) fn projected(role: Role, payload: Value) -> Projected {
    let model = ModelName::parse("ollama:test").unwrap();
    let receipts = [ModelGrant::new(model.clone(), Role::ALL.to_vec(), KeySource::None, None)];
    let call = Call { asker: Taint::Owner, role, model: &model, payload };
    let policy =
        Policy { allowed: std::slice::from_ref(&model), local_only: false, receipts: &receipts, has_key: &|| true };
    admit(call, &policy).unwrap()
}

fn direct(message: &str) -> Value {
    json!({
        "route": "direct", "reason": "words", "interaction_register": "status", "interaction_mode": "default_and_offer",
        "context_profile": "conversation", "continuation_of": null, "response": { "message": message },
    })
}

async fn hear(answers: &[String]) -> (Outcome<RouteDecision>, Vec<Said>) {
    let model = ScriptedModel::says(answers.to_vec());
    let mut heard = Vec::new();
    let outcome = route(&model, &question(), &Purse::of(9), &mut |said| heard.push(said)).await.unwrap();
    (outcome, heard)
}

#[tokio::test]
async fn sentences_are_heard_while_the_answer_is_made() {
    let (outcome, heard) = hear(&[direct("One is here. Two follows. And the rest").to_string()]).await;
    assert!(matches!(outcome, Outcome::Usable(RouteDecision { response: Some(_), .. })));
    assert_eq!(heard, [Said::More("One is here. ".to_owned()), Said::More("Two follows. ".to_owned())]);
}

#[tokio::test]
async fn what_was_heard_before_a_repair_is_taken_back() {
    let mut bad = direct("Not this. And");
    bad["route"] = json!("planner");
    let (outcome, heard) = hear(&[bad.to_string(), direct("But this. Yes").to_string()]).await;
    assert!(matches!(outcome, Outcome::Usable(_)));
    assert_eq!(heard, [Said::More("Not this. ".to_owned()), Said::Again, Said::More("But this. ".to_owned())]);
}

/// As small models answer: the words first, or nothing but them.
#[tokio::test]
async fn nothing_is_heard_of_an_answer_that_cannot_be_used() {
    let good = direct("But this. Yes").to_string();
    for bad in [
        r#"{"response":{"message":"Not this. And"}}"#.to_owned(),
        r#"{"message":"Not this. And"}"#.to_owned(),
        direct("Not this. And").to_string().replace("conversation", "unheard_of"),
        direct("Not this. And").to_string().replacen('{', r#"{"extra":1,"#, 1),
    ] {
        let (outcome, heard) = hear(&[bad.clone(), good.clone()]).await;
        assert!(matches!(outcome, Outcome::Usable(_)), "{bad}");
        assert_eq!(heard, [Said::More("But this. ".to_owned())], "{bad}");
        let (outcome, heard) = hear(&[bad.clone(), bad]).await;
        assert!(matches!(outcome, Outcome::Unusable { .. }) && heard.is_empty());
    }
}

#[tokio::test]
async fn words_that_begin_with_an_escape_are_heard_too() {
    let (_, heard) = hear(&[direct("\n\u{e4}. And").to_string()]).await;
    assert_eq!(heard, [Said::More("\n\u{e4}. ".to_owned())]);
    // As another writer may put the same.
    let escaped = direct("Q. And").to_string().replace("Q. And", r"\ud83d\ude00. And");
    let (_, heard) = hear(&[escaped]).await;
    assert_eq!(heard, [Said::More("\u{1f600}. ".to_owned())]);
}

#[test]
fn a_route_must_be_whole() {
    let check = |value: Value| {
        serde_json::from_value::<RouteDecision>(value).map_err(drop).and_then(|r| r.check().map_err(drop))
    };
    assert!(check(direct("hi")).is_ok());
    let with = |field: &str, value: Value| {
        let mut decision = direct("hi");
        decision[field] = value;
        decision
    };
    for bad in [
        with("response", Value::Null),
        with("response", json!({ "message": " " })),
        with("response", json!({ "message": "x".repeat(MESSAGE_CHARS_MAX + 1) })),
        with("route", json!("planner")),
        with("route", json!("both")),
        with("context_profile", json!("")),
        with("context_profile", json!("unheard_of")),
        with("reason", json!("x".repeat(REASON_CHARS_MAX + 1))),
        with("tool", json!("rm")),
    ] {
        assert!(check(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn the_schema_follows_from_the_type() {
    let schema = schema::of::<RouteDecision>();
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["required"].as_array().unwrap().len(), 7);
    assert!(!schema.to_string().contains("$ref"));
    // Every value that the schema offers is one that the type takes.
    let properties = &schema["properties"];
    for (field, n) in [("interaction_register", 4), ("interaction_mode", 3), ("context_profile", 4), ("route", 2)] {
        let offered = properties[field]["enum"].as_array().unwrap_or_else(|| panic!("{field}: {schema}"));
        assert_eq!(offered.len(), n, "{field}");
        for value in offered {
            let mut decision = direct("hi");
            decision[field] = value.clone();
            assert!(serde_json::from_value::<RouteDecision>(decision).is_ok(), "{field}: {value}");
        }
    }
}

fn empty_conversation() -> Prompt {
    let understood: Vec<&str> = UNDERSTOOD.to_vec();
    let payload = json!({ "date": "2026-11-15", "understood": understood, "directories": [], "history": [], "wish": "hello", "has_search": false });
    Prompt::render(&projected(Role::Proxy, payload)).unwrap()
}

#[test]
fn the_prompt_is_small() {
    let size = prompt_size(Role::Proxy, &empty_conversation(), &[]);
    assert!(size < 1_000, "{size} tokens");
    let published = include_str!("../../../../bench/README.md");
    assert!(published.contains(&format!("{size} tokens")), "{size} tokens: say so in bench/README.md");
}

#[test]
fn the_prompt_is_what_it_was() {
    let history = json!([{ "who": "owner", "text": "hi" }, { "who": "silas", "text": "{{ wish }} <b>" }]);
    let payload = json!({ "date": "2026-11-15", "understood": ["tasks"], "directories": [], "history": history, "wish": "and {% now %}?", "has_search": false });
    let prompt = Prompt::render(&projected(Role::Proxy, payload)).unwrap();
    assert_eq!(prompt.system, include_str!("snapshot/proxy.system.txt").trim());
    // What people write is never a template.
    assert_eq!(prompt.user, "# So far\n[owner] hi\n[silas] {{ wish }} <b>\n# Now\n[owner] and {% now %}?");
}
