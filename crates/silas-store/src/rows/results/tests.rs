//! What is kept of a piece of work, beside what the ledger said came of it.

use super::*;
use crate::rows::Stage;
use serde_json::json;
use silas_core::TokenId;

fn told(outcome: Option<Outcome>, files: Option<u32>) -> Told {
    let (token, plan_hash) = (TokenId::parse("token-1").unwrap(), Digest::of(b"plan"));
    Told { token, plan_hash, use_number: 0, stage: Stage::Ended, title: None, outcome, files, result: None }
}

fn kept(outcome: Value, files: Value) -> Value {
    json!({ "view": { "title": "Tidy up", "outcome": outcome }, "files": files })
}

#[test]
fn a_result_says_what_the_ledger_said_came_of_it() {
    let red = told(Some(Outcome::Failed), Some(2));
    assert!(came_to_the_same(&kept(json!("failed"), json!(2)), &red));
    assert!(!came_to_the_same(&kept(json!("proved"), json!(2)), &red));
    assert!(!came_to_the_same(&kept(json!("failed"), json!(3)), &red));
    assert!(!came_to_the_same(&kept(json!("wonderful"), json!(2)), &red));
    assert!(came_to_the_same(&kept(Value::Null, json!(2)), &red), "nothing was judged");
    assert!(!came_to_the_same(&kept(Value::Null, json!(2)), &told(Some(Outcome::Proved), Some(2))));
    assert!(
        came_to_the_same(&json!({ "view": { "outcome": "failed" } }), &red),
        "earlier versions do not say how many"
    );
    assert!(came_to_the_same(&kept(json!("proved"), json!(2)), &told(None, None)), "it is under way");
}
