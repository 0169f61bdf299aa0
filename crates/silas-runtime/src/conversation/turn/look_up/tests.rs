//! How large the proxy's prompt is, with the tools and without.

use crate::hub::tell_user::tell_user;
use crate::minds::earlier_work::earlier_work;
use crate::minds::eyes::{git_read, list_files, read_file, search_files};
use crate::minds::search::WebSearch;
use serde_json::json;
use silas_agents::search::{Search, SearchOptions};
use silas_agents::tools::Tool;
use silas_agents::{Prompt, prompt_size};
use silas_core::boundary::{Call, Policy, admit};
use silas_core::model::{KeySource, ModelGrant, ModelName, Role};
use silas_core::reflex::UNDERSTOOD;
use silas_core::{Taint, tool::Spec};

fn size(directories: &[&str], has_search: bool, tools: &[&Spec]) -> u64 {
    let model = ModelName::parse("ollama:bench").unwrap();
    let receipts = [ModelGrant::new(model.clone(), vec![Role::Proxy], KeySource::None, None)];
    let payload = json!({
        "date": "2026-11-15", "understood": UNDERSTOOD, "directories": directories, "history": [], "wish": "hello",
        "has_search": has_search,
    });
    let call = Call { asker: Taint::Owner, role: Role::Proxy, model: &model, payload };
    let policy =
        Policy { allowed: std::slice::from_ref(&model), local_only: false, receipts: &receipts, has_key: &|| true };
    prompt_size(Role::Proxy, &Prompt::render(&admit(call, &policy).unwrap()).unwrap(), tools)
}

#[test]
fn the_proxy_s_prompt_is_small_with_its_tools_and_unchanged_without() {
    let options = SearchOptions { url: "http://127.0.0.1/search".to_owned(), domains: Vec::new(), results_max: 5 };
    let search = Search::new(options);
    let web = WebSearch::new(&search);
    let spec = Tool::<crate::Trouble>::spec(&web);
    let [reads, lists, searches, asks] = [read_file(), list_files(), search_files(), git_read()];
    let all = [&reads, &lists, &searches, &asks, &earlier_work(), spec, &tell_user()];
    let (with, without) = (size(&["/home/me/p"], true, &all), size(&[], false, &[]));
    assert!(without < with && with < 1_500, "{without} and {with} tokens");
    let published = include_str!("../../../../../../bench/README.md");
    for size in [without, with] {
        assert!(published.contains(&format!("{size} tokens")), "{size} tokens: say so in bench/README.md");
    }
}
