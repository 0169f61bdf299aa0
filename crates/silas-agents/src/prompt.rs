//! Prompts: templates in files beside this one, rendered from an admitted payload and from nothing else.

use crate::executor::ExecutorAgentOutput;
use crate::planner::AgentResponse;
use crate::proxy::RouteDecision;
use crate::{Error, schema};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use silas_core::boundary::Projected;
use silas_core::model::{Role, count_tokens};
use silas_core::tool::Spec;

/// The two parts of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prompt {
    pub system: String,
    pub user: String,
}

const TEMPLATES: [(&str, &str); 6] = [
    ("proxy.system", include_str!("prompts/proxy.system.j2")),
    ("proxy.user", include_str!("prompts/proxy.user.j2")),
    ("planner.system", include_str!("prompts/planner.system.j2")),
    ("planner.user", include_str!("prompts/planner.user.j2")),
    ("executor.system", include_str!("prompts/executor.system.j2")),
    ("executor.user", include_str!("prompts/executor.user.j2")),
];

impl Prompt {
    pub fn render(projected: &Projected) -> Result<Prompt, Error> {
        let mut templates = Environment::new();
        // Prompts are no web page, and a field that is missing is a mistake of ours, not an empty word.
        templates.set_auto_escape_callback(|_| AutoEscape::None);
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        templates.set_trim_blocks(true);
        let failed = |cause: minijinja::Error| Error::Prompt(cause.to_string());
        for (name, text) in TEMPLATES {
            templates.add_template(name, text).map_err(failed)?;
        }
        let (system, user) = match projected.role() {
            Role::Proxy => ("proxy.system", "proxy.user"),
            Role::Planner => ("planner.system", "planner.user"),
            Role::Executor => ("executor.system", "executor.user"),
        };
        let render = |name: &str| {
            let template = templates.get_template(name).map_err(failed)?;
            template.render(projected.payload()).map_err(failed).map(|text| text.trim().to_owned())
        };
        Ok(Prompt { system: render(system)?, user: render(user)? })
    }
}

/// Tokens of a question by the house's own count: prompt, wish, the schema of the answer, and the tools.
pub fn prompt_size(role: Role, prompt: &Prompt, tools: &[&Spec]) -> u64 {
    let answer = match role {
        Role::Proxy => schema::of::<RouteDecision>(),
        Role::Planner => schema::of::<AgentResponse>(),
        Role::Executor => schema::of::<ExecutorAgentOutput>(),
    };
    let tool =
        |spec: &&Spec| count_tokens(&spec.name) + count_tokens(&spec.about) + count_tokens(&spec.schema.to_string());
    let tools: u64 = tools.iter().map(tool).sum();
    count_tokens(&prompt.system) + count_tokens(&prompt.user) + count_tokens(&answer.to_string()) + tools
}
