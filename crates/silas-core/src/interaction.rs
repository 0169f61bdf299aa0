//! How far Silas goes by itself in a turn: decided here and nowhere else. (RUNTIME §5.1.0)

use crate::work::InteractionMode;
use serde::{Deserialize, Serialize};

/// What kind of turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InteractionRegister {
    Exploration,
    Execution,
    Review,
    Status,
}

/// How much room each zone of the context gets; the names of the profiles that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextProfile {
    Conversation,
    Coding,
    Research,
    Support,
}

/// Everything that the mode of a turn depends on.
#[derive(Clone, Copy, Debug)]
pub struct Signals {
    pub proxy_mode: Option<InteractionMode>,
    pub planner_override: Option<InteractionMode>,
    pub risk_requires_confirmation: bool,
    pub register: InteractionRegister,
}

pub fn resolve_mode(signals: Signals) -> InteractionMode {
    if signals.risk_requires_confirmation {
        return InteractionMode::ConfirmOnlyWhenRequired;
    }
    if let Some(mode) = signals.planner_override.or(signals.proxy_mode) {
        return mode;
    }
    // High initiative and the default of each register come to the same, as they are set today.
    match signals.register {
        InteractionRegister::Execution => InteractionMode::ActAndReport,
        InteractionRegister::Review => InteractionMode::ConfirmOnlyWhenRequired,
        InteractionRegister::Exploration | InteractionRegister::Status => InteractionMode::DefaultAndOffer,
    }
}

#[cfg(test)]
mod tests;
