//! What the owner has allowed, and the devices that sign.

use serde::{Deserialize, Serialize};
use silas_core::device::DeviceKind;
use silas_core::passkey::Site;
use silas_core::{KeyId, Timestamp, TokenId};

/// Grants, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct GrantsPage {
    pub grants: Vec<GrantView>,
    /// How many come after these.
    pub n_more_grants: usize,
}

/// Something the owner has allowed, in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GrantView {
    /// What a withdrawal names.
    pub token: TokenId,
    pub title: String,
    /// What it allows, in a sentence or two.
    pub text: String,
    /// The directory that it allows plans to work in, if it is about one: its whole path.
    pub directory: Option<String>,
    /// How often it can still be used, and how often at first; `None` if it does not run out by use.
    pub uses: Option<Uses>,
    pub since: Timestamp,
    /// `None` if it holds until it is revoked.
    pub until: Option<Timestamp>,
    /// The device that signed it.
    pub signed_on: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Uses {
    pub left: u32,
    pub of: u32,
}

/// A device of the owner's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeviceView {
    pub key: KeyId,
    pub name: String,
    pub kind: DeviceKind,
    pub since: Timestamp,
    pub is_revoked: bool,
    /// The house rules and directories that it signed and that go with it.
    pub n_grants: u32,
    /// Where a passkey counts, so that the page can ask for it; other devices have none.
    pub site: Option<Site>,
    /// What its page showed before it was paired ([`silas_core::device::digits`]).
    pub digits: String,
}
