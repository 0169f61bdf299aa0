//! The planner: writes plans with checks, and nothing else. Whether one is carried out is decided elsewhere, by a person.
//! (RUNTIME §7.2)

use crate::meter::Meter;
use crate::model::Model;
use crate::proxy::{ModeName, check_message};
use crate::structured::{self, Outcome, Question, Shaped, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use silas_core::inquiry;
use silas_core::plan;
use silas_core::work::InteractionMode;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanActionType {
    Propose,
    Revise,
    ExecuteNext,
    Abort,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanAction {
    pub action: PlanActionType,
    /// The whole plan, from `---` on.
    pub plan_markdown: Option<String>,
    pub continuation_of: Option<String>,
    #[schemars(with = "Option<ModeName>")]
    pub interaction_mode_override: Option<InteractionMode>,
}

/// What the planner answers. What it would remember enters with memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentResponse {
    /// For the owner: what was planned and what else could be done.
    pub message: String,
    /// Null if there is nothing to plan, or something must be asked first.
    pub plan_action: Option<PlanAction>,
    /// What must be known before a plan can be written; null in every other case.
    pub question: Option<OwnerQuestion>,
    /// A request and no more: every plan of a model's asks the owner.
    pub needs_approval: bool,
}

/// A question to the owner. (MODELS §3.11)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnerQuestion {
    /// One sentence.
    pub text: String,
    /// Two to four answers, the best first. The owner may also answer in other words.
    pub options: Vec<String>,
}

impl AgentResponse {
    /// The plan that is proposed, if one is.
    pub fn plan(&self) -> Option<&str> {
        let action = self.plan_action.as_ref()?;
        match action.action {
            PlanActionType::Propose | PlanActionType::Revise => action.plan_markdown.as_deref(),
            PlanActionType::ExecuteNext | PlanActionType::Abort => None,
        }
    }
}

impl Shaped for AgentResponse {
    const NAME: &'static str = "agent_response";
    const ABOUT: &'static str = "Propose a plan to the owner, or say why there is none.";

    fn check(&self) -> Result<(), String> {
        check_message(&self.message)?;
        if let Some(question) = &self.question {
            if self.plan_action.is_some() {
                return Err("with a `question`, `plan_action` must be null: the plan is made of the answer".to_owned());
            }
            inquiry::check(&question.text, &question.options).map_err(|bad| bad.to_string())?;
        }
        let Some(action) = &self.plan_action else { return Ok(()) };
        match action.action {
            PlanActionType::Propose | PlanActionType::Revise => {
                let plan = action.plan_markdown.as_deref().ok_or("`plan_markdown` is missing")?;
                check_plan(plan)
            }
            PlanActionType::ExecuteNext | PlanActionType::Abort => {
                Err("`action` must be propose or revise; nothing is under way that could go on".to_owned())
            }
        }
    }
}

/// A plan that cannot be carried out is not one: it is told what is wrong while it can still be mended.
pub fn check_plan(markdown: &str) -> Result<(), String> {
    let item =
        plan::parse(markdown.trim_start().as_bytes()).map_err(|bad| format!("the plan cannot be read: {bad}"))?;
    let d = item.definition();
    if d.steps.is_empty() && d.executor.is_none() {
        return Err("the plan has no `steps` and no `executor`; without one of them nothing can be done".to_owned());
    }
    if d.verify.is_empty() {
        return Err("the plan has no `verify`; without a check nothing can be shown to be done".to_owned());
    }
    if d.directories.is_empty() {
        return Err("the plan names no directory under `sandbox`".to_owned());
    }
    Ok(())
}

pub(crate) async fn plan<M: Meter>(
    model: &dyn Model,
    question: &Question,
    meter: &M,
) -> Result<Outcome<AgentResponse>, Stop<M::Refusal>> {
    structured::ask(model, question, meter, &mut |_| {}).await
}

#[cfg(test)]
mod tests;
