//! How large the planner's prompt is with everything that it can have.

use super::*;
use crate::minds::earlier_work::earlier_work;
use crate::minds::eyes::{git_read, list_files, read_file, search_files};
use silas_agents::{Prompt, prompt_size};
use silas_core::boundary::{Call, Policy, admit};
use silas_core::model::{KeySource, ModelName};

#[test]
fn the_planner_s_prompt_is_small_with_all_its_tools() {
    let model = ModelName::parse("ollama:bench").unwrap();
    let receipts = [ModelGrant::new(model.clone(), vec![Role::Planner], KeySource::None, None)];
    let payload = json!({
        "date": "2026-11-15", "directories": ["/home/me/p"], "history": [], "wish": "hello", "answered": [], "may_ask": true,
        "reason": "files change", "continuation_of": null, "can_read": true, "has_executor": true, "has_search": true,
    });
    let call = Call { asker: Taint::Owner, role: Role::Planner, model: &model, payload };
    let policy =
        Policy { allowed: std::slice::from_ref(&model), local_only: false, receipts: &receipts, has_key: &|| true };
    let prompt = Prompt::render(&admit(call, &policy).unwrap()).unwrap();
    let [reads, lists, searches, asks] = [read_file(), list_files(), search_files(), git_read()];
    let tools = [&reads, &lists, &searches, &asks, &earlier_work(), &request_research(), &validate_plan()];
    let size = prompt_size(Role::Planner, &prompt, &tools);
    assert!(size < 1_500, "{size} tokens");
    let published = include_str!("../../../../../bench/README.md");
    assert!(published.contains(&format!("{size} tokens")), "{size} tokens: say so in bench/README.md");
}
