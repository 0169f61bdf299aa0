//! Which model serves whom: what the configuration names, else what the owner added last.
//!
//! Naming one allows nothing: it is used only under a decision that the owner signed and has not taken back.

use silas_core::model::{KeySource, ModelGrant, ModelName, Price, Role, list_price};
use silas_store::model_calls::Caps;
use std::time::Duration;

/// What the ledger says instead of a question that was not asked because its model did not pass its test.
pub(crate) const SILENT: &str = "E_LLM_SILENT";

/// What the owner may turn about models.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// What the configuration names, with where its key is.
    pub named: Vec<(Role, ModelName, KeySource)>,
    /// Nothing may leave this machine.
    pub local_only: bool,
    pub caps: Caps,
    pub calls_per_minute: u32,
    /// Tokens that one message may use up, everything counted at its largest.
    pub turn_tokens_max: u64,
    /// How long a question waits for a provider that does not answer it.
    pub patience: Duration,
    /// How often work that failed is planned again.
    pub replans_max: u32,
}

/// The model of a role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assigned {
    pub(crate) model: ModelName,
    pub(crate) key: KeySource,
    pub(crate) price: Price,
    pub(crate) is_configured: bool,
    pub(crate) is_agreed: bool,
}

impl Assigned {
    /// One that the owner has just agreed to.
    pub(crate) fn added(model: ModelName, key: KeySource, price: Price) -> Self {
        Assigned { model, key, price, is_configured: false, is_agreed: true }
    }
}

/// Who serves in a role: what the configuration names, else what the owner added last.
pub(crate) fn assigned(options: &ModelOptions, grants: &[ModelGrant], role: Role) -> Option<Assigned> {
    let named = options.named.iter().find(|(named, ..)| *named == role);
    let fits = |grant: &&ModelGrant| grant.roles.contains(&role);
    match named {
        Some((_, model, key)) => {
            let agreed = grants.iter().rev().filter(fits).find(|grant| grant.model == *model);
            let price = agreed.and_then(|grant| grant.price).unwrap_or_else(|| list_price(model));
            let (model, key, is_agreed) = (model.clone(), key.clone(), agreed.is_some());
            Some(Assigned { model, key, price, is_configured: true, is_agreed })
        }
        None => grants.iter().rev().find(fits).map(|grant| {
            let price = grant.price.unwrap_or_else(|| list_price(&grant.model));
            Assigned::added(grant.model.clone(), grant.key.clone(), price)
        }),
    }
}

/// The same for exactly this model, whoever serves now: what was approved is what works.
pub(crate) fn assigned_exactly(
    options: &ModelOptions,
    grants: &[ModelGrant],
    role: Role,
    model: &ModelName,
) -> Option<Assigned> {
    let now = assigned(options, grants, role).filter(|assigned| assigned.model == *model);
    now.or_else(|| {
        let fits = |grant: &&ModelGrant| grant.roles.contains(&role) && grant.model == *model;
        grants.iter().rev().find(fits).map(|grant| {
            let price = grant.price.unwrap_or_else(|| list_price(&grant.model));
            Assigned::added(grant.model.clone(), grant.key.clone(), price)
        })
    })
}
