//! What somebody looks for in Activity. Which event is about which topic is in the catalogue.

use serde::Serialize;

/// What somebody looks for in Activity.
// In the order in which a row names them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Files or records became other ones, were put back, or could be by one tap.
    Change,
    /// What the owner signed, gave or took back.
    Decision,
    Refusal,
    /// Money: what models cost, caps that were reached, sums that were added.
    Spending,
}
