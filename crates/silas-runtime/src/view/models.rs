//! The models that serve, and what was spent on them.

use serde::{Deserialize, Serialize};
use silas_core::model::Role;

/// The model of one role.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelView {
    pub role: Role,
    pub model: String,
    /// To whom everything is sent.
    pub host: String,
    pub is_local: bool,
    /// Where the key is, in words.
    pub key: String,
    pub has_key: bool,
    pub price: String,
    /// Named by the configuration, not by `silas model add`.
    pub is_configured: bool,
    /// Whether the owner has agreed that what is said goes there.
    pub is_agreed: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelsView {
    pub models: Vec<ModelView>,
    pub local_only: bool,
    pub day: Spent,
    pub month: Spent,
}

/// What was spent on models, and what may be.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Spent {
    pub period: String,
    pub microusd: u64,
    pub cap_microusd: u64,
}
