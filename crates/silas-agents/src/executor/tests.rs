//! What the executor is told, as it was, and how large that is.

use super::*;
use crate::prompt::Prompt;
use crate::proxy::tests::projected;
use serde_json::{Value, json};
use silas_core::model::Role;

fn payload(is_research: bool, attempt: u32) -> Value {
    let failures = match attempt {
        1 => json!([]),
        _ => {
            json!([{ "name": "stamps are UTC", "reason": "Exit code 1, expected 0", "output": "⟦from outside: AssertionError⟧" }])
        }
    };
    json!({
        "date": "2026-11-15", "briefing": "Make it UTC.", "is_research": is_research, "directories": ["/home/me/p"],
        "checks": [{ "name": "stamps are UTC", "run": "pytest -q" }], "attempt": attempt, "attempts_max": 5,
        "failures": failures, "guidance": null,
    })
}

#[test]
fn the_executor_is_told_what_it_needs_and_no_more() {
    let prompt = Prompt::render(&projected(Role::Executor, payload(false, 2))).unwrap();
    assert_eq!(prompt.system, include_str!("snapshot/executor.system.txt").trim());
    assert_eq!(prompt.user, include_str!("snapshot/executor.user.txt").trim());
    let prompt = Prompt::render(&projected(Role::Executor, payload(true, 1))).unwrap();
    assert!(prompt.system.contains("You can only read") && !prompt.user.contains("Attempt"), "{}", prompt.user);
}

#[test]
fn an_end_without_a_word_or_without_an_end_is_none() {
    let output = |summary: &str, next_steps: Vec<String>| ExecutorAgentOutput {
        summary: summary.to_owned(),
        artifact_refs: Vec::new(),
        next_steps,
    };
    assert!(output("Done.", Vec::new()).check().is_ok());
    assert!(output(" ", Vec::new()).check().is_err());
    assert!(output(&"x".repeat(5_000), Vec::new()).check().is_err());
    assert!(output("Done.", vec!["x".to_owned(); 11]).check().is_err());
}
