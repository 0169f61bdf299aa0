//! Which paths can be meant, and how large the executor's prompt is with all its tools.

use super::*;
use crate::hub::tell_user::tell_user;
use serde_json::json;
use silas_agents::{Prompt, prompt_size};
use silas_core::Taint;
use silas_core::boundary::{Call, Policy, admit};
use silas_core::mandate::{Mandate, TOOLS};
use silas_core::model::{KeySource, ModelGrant, ModelName, Role};
use silas_core::tool::{Spec, misfit};

#[test]
fn what_may_be_null_may_be_left_out() {
    for spec in files::specs().iter().chain(&commands::specs()) {
        let arguments: serde_json::Map<String, Value> = spec.schema["properties"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, schema)| schema["type"].is_string())
            .map(|(name, _)| (name.clone(), json!("x")))
            .collect();
        assert_eq!(misfit(&Value::Object(arguments), &spec.schema), None, "{}", spec.name);
        assert!(misfit(&json!({}), &spec.schema).is_some(), "{}", spec.name);
    }
}

#[test]
fn the_usual_tools_imply_those_that_can_do_no_more() {
    let offered = Mandate::default().offered();
    let usual: Vec<&str> = TOOLS.into_iter().filter(|tool| *tool != "web_search").collect();
    assert_eq!(offered, usual);
    let reader = Mandate { tools: vec!["read_file".to_owned()], ..Mandate::default() };
    assert_eq!(reader.offered(), ["read_file", "search"]);
    let writer = Mandate { tools: vec!["write_file".to_owned()], ..Mandate::default() };
    assert_eq!(writer.offered(), ["edit_file", "apply_patch", "write_file"]);
}

#[test]
fn the_executor_s_prompt_is_small_with_all_its_tools() {
    let model = ModelName::parse("ollama:bench").unwrap();
    let receipts = [ModelGrant::new(model.clone(), vec![Role::Executor], KeySource::None, None)];
    let payload = json!({
        "date": "2026-11-15", "briefing": "hello", "is_research": false, "directories": ["/home/me/p"], "checks": [],
        "attempt": 1, "attempts_max": 5, "failures": [], "guidance": null,
    });
    let call = Call { asker: Taint::Owner, role: Role::Executor, model: &model, payload };
    let policy =
        Policy { allowed: std::slice::from_ref(&model), local_only: false, receipts: &receipts, has_key: &|| true };
    let prompt = Prompt::render(&admit(call, &policy).unwrap()).unwrap();
    let specs: Vec<Spec> = commands::specs().into_iter().chain(files::specs()).chain([tell_user()]).collect();
    let specs: Vec<&Spec> = specs.iter().collect();
    let size = prompt_size(Role::Executor, &prompt, &specs);
    assert!(size < 1_500, "{size} tokens");
    let published = include_str!("../../../../../bench/README.md");
    assert!(published.contains(&format!("{size} tokens")), "{size} tokens: say so in bench/README.md");
}
