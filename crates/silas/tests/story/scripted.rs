//! What the scripted model says in these stories, and a Silas that asks it.

use crate::harness::{ASKING, Line, Silas};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};

/// The proxy answers by itself.
pub(crate) fn direct(message: &str) -> String {
    json!({
        "route": "direct", "reason": "words", "interaction_register": "status", "interaction_mode": "default_and_offer",
        "context_profile": "conversation", "continuation_of": null, "response": { "message": message },
    })
    .to_string()
}

/// The proxy leaves it to the planner.
pub(crate) fn route_to_planner() -> String {
    json!({
        "route": "planner", "reason": "files change", "interaction_register": "execution",
        "interaction_mode": "act_and_report", "context_profile": "coding", "continuation_of": null, "response": null,
    })
    .to_string()
}

pub(crate) fn to_planner() -> Act {
    Act::Says(route_to_planner())
}

/// The planner proposes this.
pub(crate) fn proposal(message: &str, markdown: &str) -> Value {
    let action = json!({
        "action": "propose", "plan_markdown": markdown, "continuation_of": null, "interaction_mode_override": null,
    });
    json!({ "message": message, "needs_approval": false, "plan_action": action })
}

/// The executor wants to use a tool.
pub(crate) fn call(name: &str, arguments: Value) -> Act {
    Act::Calls(vec![(name.to_owned(), arguments.to_string())])
}

pub(crate) fn shell(script: &str) -> Act {
    call("shell_exec", json!({ "script": script, "timeout_seconds": null }))
}

pub(crate) fn finish() -> Act {
    call("finish", json!({ "summary": "Done.", "artifact_refs": [], "next_steps": [] }))
}

/// One model that needs no key in all three roles, and money enough for a story.
pub(crate) fn in_every_role(model: &str) -> [(&'static str, &str); 8] {
    [
        ("SILAS__MODELS__PROXY", model),
        ("SILAS__MODELS__PLANNER", model),
        ("SILAS__MODELS__EXECUTOR", model),
        ("SILAS__MODELS__PROXY_KEY", "none"),
        ("SILAS__MODELS__PLANNER_KEY", "none"),
        ("SILAS__MODELS__EXECUTOR_KEY", "none"),
        ("SILAS__MODELS__DAILY_CAP_CENTS", "100000"),
        ("SILAS__MODELS__MONTHLY_CAP_CENTS", "100000"),
    ]
}

/// A model that says nothing yet, and a Silas that has it in every role and asks before each plan.
pub(crate) fn with_a_model(more: &[(&str, &str)]) -> (Server, Silas) {
    let server = Server::start(Script::new(Dialect::OpenAi, [])).unwrap();
    let model = format!("compatible:test@{}", server.url());
    let mut env = in_every_role(&model).to_vec();
    env.push(ASKING);
    env.extend(more);
    let silas = Silas::start_with(&env);
    (server, silas)
}

/// What Silas says next, in its own words or in the model's.
pub(crate) fn next_reply(line: &mut Line) -> String {
    loop {
        let message = line.wait_for("message").unwrap();
        if message["entry"]["sender"] == "silas" {
            return message["entry"]["text"].as_str().unwrap().to_owned();
        }
    }
}
