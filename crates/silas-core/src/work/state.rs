//! What the runtime learns about a work item while it works. No byte of it is hashed.

use super::BudgetUsed;
use crate::check::CheckResult;
use crate::{Timestamp, TokenId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    Running,
    Healthy,
    Done,
    Failed,
    Stuck,
    Blocked,
    Paused,
}

/// What the runtime learns about an item. Written by the runtime alone; never hashed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkState {
    pub approval_token: Option<TokenId>,
    pub needs_approval: bool,
    pub status: Status,
    pub attempts: u32,
    pub budget_used: BudgetUsed,
    pub verification_results: Vec<CheckResult>,
    pub created_at: Timestamp,
}

impl WorkState {
    pub fn new(created_at: Timestamp) -> Self {
        WorkState {
            approval_token: None,
            needs_approval: true,
            status: Status::Pending,
            attempts: 0,
            budget_used: BudgetUsed::default(),
            verification_results: Vec::new(),
            created_at,
        }
    }
}
