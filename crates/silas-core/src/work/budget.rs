//! What a work item may use up, and what it has.
//!
//! Deliberately absent: who counts.

use serde::{Deserialize, Serialize};

/// What an item may use up in its whole life. Money is in micro-dollars.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub max_tokens: u64,
    pub max_cost_microusd: u64,
    pub max_wall_time_seconds: u64,
    pub max_attempts: u32,
    pub max_planner_calls: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            max_tokens: 200_000,
            max_cost_microusd: 2_000_000,
            max_wall_time_seconds: 1800,
            max_attempts: 5,
            max_planner_calls: 3,
        }
    }
}

impl Budget {
    /// The same for work in which no model takes part: nobody is promised tokens or money that nothing could use.
    pub fn without_models(self) -> Self {
        Budget { max_tokens: 0, max_cost_microusd: 0, max_planner_calls: 0, ..self }
    }
}

/// What an item has used up so far.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetUsed {
    pub tokens: u64,
    pub cost_microusd: u64,
    pub wall_time_micros: u64,
    pub attempts: u32,
    pub planner_calls: u32,
    pub executor_runs: u32,
}

impl BudgetUsed {
    /// Reaching a limit exhausts it; otherwise the last action could go past it. Zero allowed means none was promised
    /// and none may be used, so an untouched counter does not count as exhausted.
    pub fn exceeds(&self, budget: &Budget) -> bool {
        let spent = |used: u64, max: u64| used > 0 && used >= max;
        spent(self.tokens, budget.max_tokens)
            || spent(self.cost_microusd, budget.max_cost_microusd)
            || self.wall_time_micros >= budget.max_wall_time_seconds.saturating_mul(1_000_000)
            || self.attempts >= budget.max_attempts
            || spent(u64::from(self.planner_calls), u64::from(budget.max_planner_calls))
    }

    pub fn merge(&mut self, child: &BudgetUsed) {
        self.tokens = self.tokens.saturating_add(child.tokens);
        self.cost_microusd = self.cost_microusd.saturating_add(child.cost_microusd);
        self.wall_time_micros = self.wall_time_micros.saturating_add(child.wall_time_micros);
        self.attempts = self.attempts.saturating_add(child.attempts);
        self.planner_calls = self.planner_calls.saturating_add(child.planner_calls);
        self.executor_runs = self.executor_runs.saturating_add(child.executor_runs);
    }
}
