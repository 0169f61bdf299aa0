//! What the owner signs. A card carries an [`Offer`]; a device adds its key and a verdict and signs the [`TokenBody`].
//!
//! A token is data and proves nothing by itself: [`crate::evidence::verify`] decides, and the approval engine spends it.

use crate::signature::Signature;
use crate::{Digest, InstallationId, KeyId, Nonce, Timestamp, TokenId, canonical};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Decides what is hashed into `plan_hash`. A kind enters together with the code that asks for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The canonical projection of a work item.
    Plan,
    /// The standing rules that the first device signs when it is paired.
    HouseRules,
    /// Taking back what an execution applied.
    Undo,
    /// A directory in which plans may be granted.
    Root,
    /// One command with everything that it may touch: an [`crate::envelope::Envelope`].
    Step,
}

/// The twelve scopes of the approval model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    FullPlan,
    SingleStep,
    StepRange,
    ToolType,
    SkillInstall,
    CredentialUse,
    Budget,
    SelfUpdate,
    ConnectionAct,
    ConnectionManage,
    AutonomyThreshold,
    Standing,
}

impl Kind {
    /// The scope that a token of this kind must name.
    pub fn scope(self) -> Scope {
        match self {
            Kind::Plan => Scope::FullPlan,
            Kind::HouseRules => Scope::Standing,
            Kind::Undo | Kind::Step => Scope::SingleStep,
            Kind::Root => Scope::ToolType,
        }
    }
}

impl Kind {
    /// How often a token of this kind can be used at all.
    pub fn uses_max(self) -> u32 {
        self.bounds().0
    }

    /// How often a token of this kind may be used at most, and how long it may last, whatever its offer says. An offer
    /// that was tampered with before it was shown is refused by everyone who checks it, the key that would sign it too.
    fn bounds(self) -> (u32, Duration) {
        const DAY: u64 = 24 * 3600;
        match self {
            Kind::Plan | Kind::Root => (1, Duration::from_secs(DAY)),
            Kind::Undo => (1, Duration::from_secs(7 * DAY)),
            Kind::HouseRules => (1000, Duration::from_secs(366 * DAY)),
            // Signed on the spot by whoever waits for it.
            Kind::Step => (1, Duration::from_secs(60)),
        }
    }

    /// How long a token of this kind may be used at most.
    pub fn lasts(self) -> Duration {
        self.bounds().1
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approved,
    Declined,
    EditRequested,
    Conditional,
}

/// How the person confirmed; friction, not authority. `tap` is the only strength of this version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    Tap,
}

/// Everything that will be signed except who signs and what they say.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    pub v: u32,
    pub kind: Kind,
    pub scope: Scope,
    pub installation: InstallationId,
    /// Counts restores and resets: a token of an earlier epoch is void.
    pub epoch: u64,
    /// What the approval is about: a work item, an execution, a directory. Ids only, for reading.
    pub work_item_id: String,
    /// SHA-256 of the canonical payload.
    pub plan_hash: Digest,
    /// SHA-256 of the canonical text of the card as it was shown.
    pub shown: Digest,
    pub nonce: Nonce,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub max_executions: u32,
    pub approval_strength: Strength,
    pub conditions: BTreeMap<String, String>,
}

/// The signed payload: the offer as it was carried, the signer's key, and the verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    pub offer: Offer,
    pub key: KeyId,
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    pub body: TokenBody,
    pub signature: Signature,
}

impl Offer {
    pub const VERSION: u32 = 1;

    /// Whether this asks for no more uses and no more time than its kind may.
    pub fn is_within_bounds(&self) -> bool {
        let (uses, lasts) = self.kind.bounds();
        (1..=uses).contains(&self.max_executions) && self.expires_at.since(self.issued_at) <= lasts
    }

    pub fn answered(&self, key: KeyId, verdict: Verdict) -> TokenBody {
        TokenBody { offer: self.clone(), key, verdict }
    }
}

impl TokenBody {
    /// The bytes that are signed.
    pub fn message(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }
}

impl Token {
    pub fn id(&self) -> Result<TokenId, canonical::Error> {
        Ok(TokenId::of(&canonical::digest(&self.body)?))
    }
}
