//! Why nothing was asked, or nothing came of it, as the owner is told.

use super::Exceeded;
use crate::Trouble;
use crate::assignment::Assigned;
use silas_core::model::{ModelName, dollars};
use silas_store::model_calls::OverCap;

pub(crate) fn over_cap(exceeded: &Exceeded) -> Trouble {
    let OverCap { period, spent, cap } = &exceeded.over;
    let when = if period.is_day() { "Today's" } else { "This month's" };
    let most = match dollars(exceeded.reserved) {
        little if little.starts_with("less") => little,
        most => format!("up to {most}"),
    };
    let message = format!(
        "{when} cap for models is {}, {} of it is used, and this question could cost {most}. It was not sent.",
        dollars(*cap),
        dollars(*spent)
    );
    Trouble::new("E_LLM_CAP", &message, "The card in Review adds to it.")
}

/// The owner was asked for more and did not allow it.
pub(crate) fn no_more_allowed(exceeded: &Exceeded) -> Trouble {
    let OverCap { period, cap, .. } = &exceeded.over;
    let when = if period.is_day() { "Today's" } else { "This month's" };
    let message =
        format!("{when} cap for models is {}, and no more was allowed. Nothing more was asked.", dollars(*cap));
    Trouble::new("E_LLM_CAP", &message, "Say it again when there is more to spend.")
}

pub(crate) fn plan_used_up(what: &str) -> Trouble {
    let message = format!("The plan's limit of {what} would be exceeded by the next question, so it was not asked.");
    Trouble::new("E_LLM_BUDGET", &message, "Ask for less at once, or for a plan with a larger budget.")
}

pub(crate) fn too_fast(per_minute: u32) -> Trouble {
    let message = format!("Models were asked {per_minute} times within a minute. This question was not sent.");
    Trouble::new("E_LLM_RATE", &message, "Wait a moment, then say it again.")
}

pub(crate) fn not_agreed(model: &ModelName) -> String {
    format!("You have not agreed yet that what you say goes to {}. Nothing was sent.", model.host())
}

pub(crate) fn no_key(assigned: &Assigned) -> Trouble {
    let message = format!(
        "The key for {} is not there: {}. Nothing was sent.",
        assigned.model.host(),
        crate::words::key(&assigned.key)
    );
    Trouble::new("secret_unavailable", &message, "Set it, or add the model again with `silas model add`.")
}

pub(crate) fn failed(error: &silas_agents::Error) -> Trouble {
    let said = silas_gates::scrub::visible_line(&error.to_string(), 300);
    // A host that stands first is written as it is.
    let begins_with_a_word =
        said.split(' ').next().is_some_and(|first| !first.contains(['.', ':', '[']) && first != "localhost");
    let mut chars = said.chars();
    let said: String = match chars.next().filter(|_| begins_with_a_word) {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => said,
    };
    Trouble::new(error.code(), &format!("{said}."), error.todo())
}
