//! What the owner signs. A card carries an [`Offer`]; a device adds its key and a verdict and signs the [`TokenBody`].
//!
//! A token is data and proves nothing by itself: [`crate::evidence::verify`] decides, and the approval engine spends it. Each
//! kind has a limit of uses and time that no offer can exceed; the key helper, the engine and the launcher each check it.

use crate::signature::Signature;
use crate::{Digest, InstallationId, KeyId, Nonce, Timestamp, TokenId, canonical};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Decides what is hashed into `plan_hash`. A kind enters together with the code that asks for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The canonical projection of a work item.
    Plan,
    /// The standing rules that the first device signs when it is paired.
    HouseRules,
    /// The canonical projection of a work item, to be carried out with the apply withheld.
    Rehearsal,
    /// Putting in place what a run left in its private copy: a [`crate::rehearsal::ApplyOrder`].
    Apply,
    /// Taking back what an execution applied.
    Undo,
    /// A directory in which plans may be granted.
    Root,
    /// A passkey that may decide: a [`crate::passkey::PasskeyGrant`].
    Device,
    /// One command with everything that it may touch: an [`crate::envelope::Envelope`]; or one call of a tool that its plan
    /// does not cover: a [`crate::call_order::CallOrder`].
    Step,
    /// A model that may be asked, and the consent that what is said goes to it: a [`crate::model::ModelGrant`].
    Model,
    /// More money for models: a [`crate::model::BudgetGrant`].
    Budget,
}

/// The twelve scopes of the approval model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
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

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Everything that the kind of an approval decides. `docs/approvals.md` shows the same table, and a test compares them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// What `plan_hash` covers.
    pub hashed: &'static str,
    /// The scope that a token of this kind must name.
    pub scope: Scope,
    pub asked_by: &'static str,
    /// Assigned by the runtime, never by who proposes.
    pub risk: &'static str,
    /// What an offer asks for unless something else is said.
    pub usually: &'static str,
    /// How often a token may be used at most, and in what time, whatever its offer says. An offer that was tampered
    /// with before it was shown is refused by everyone who checks it, the key that would sign it too.
    pub uses_max: u32,
    pub lasts_max: Duration,
}

impl Kind {
    pub const ALL: [Kind; 10] = [
        Kind::Plan,
        Kind::HouseRules,
        Kind::Rehearsal,
        Kind::Apply,
        Kind::Undo,
        Kind::Root,
        Kind::Device,
        Kind::Step,
        Kind::Model,
        Kind::Budget,
    ];

    /// How often a token of this kind can be used at all.
    pub fn uses_max(self) -> u32 {
        self.terms().uses_max
    }

    /// What a token of this kind is good for.
    ///
    /// Long: a table with a row for each kind; the documentation is made of it.
    pub fn terms(self) -> Terms {
        match self {
            Kind::Plan => Terms {
                hashed: "the canonical projection of the work item",
                scope: Scope::FullPlan,
                asked_by: "a turn; work that was refused a host; or a conflict",
                risk: "medium; high if it reaches into a private network, uses a secret, or lets what a model runs or has changed reach a host; irreversible if it uses a secret at a host",
                usually: "once, within the plan timeout",
                uses_max: 1,
                lasts_max: DAY,
            },
            Kind::HouseRules => Terms {
                hashed: "the list of rules",
                scope: Scope::Standing,
                asked_by: "the pairing screen, or a card when no rules hold",
                risk: "low",
                usually: "1000 times, within a year",
                uses_max: 1000,
                lasts_max: DAY.saturating_mul(366),
            },
            Kind::Rehearsal => Terms {
                hashed: "the canonical projection of the work item",
                scope: Scope::FullPlan,
                asked_by: "the other answer to a plan's card; a rehearsal that was refused a host; or a conflict",
                risk: "as the plan's; nothing that it changes is applied",
                usually: "once, within the plan timeout",
                uses_max: 1,
                lasts_max: DAY,
            },
            Kind::Apply => Terms {
                hashed: "the run, its plan, its changes, and what was shown of them",
                scope: Scope::SingleStep,
                asked_by: "the result of a run that was not applied",
                risk: "low; medium if unproven",
                usually: "once, while the copy is kept",
                uses_max: 1,
                lasts_max: DAY,
            },
            Kind::Undo => Terms {
                hashed: "the execution and the hash of its changes",
                scope: Scope::SingleStep,
                asked_by: "the result of applied work",
                risk: "low",
                usually: "once, within the undo window",
                uses_max: 1,
                lasts_max: DAY.saturating_mul(7),
            },
            Kind::Root => Terms {
                hashed: "path, device and inode of a directory",
                scope: Scope::ToolType,
                asked_by: "a turn, or the first start",
                risk: "medium",
                usually: "once, within the plan timeout; the directory stays allowed until it is revoked",
                uses_max: 1,
                lasts_max: DAY,
            },
            Kind::Device => Terms {
                hashed: "name, public key, site and credential id of a passkey",
                scope: Scope::ConnectionManage,
                asked_by: "\"Add a passkey\" in the page",
                risk: "high",
                usually: "once, within the plan timeout; the passkey counts until it is revoked",
                uses_max: 1,
                lasts_max: DAY,
            },
            Kind::Step => Terms {
                hashed: "the envelope of one command; or a run, and one call of a tool with its final arguments",
                scope: Scope::SingleStep,
                asked_by: "`silas sandbox`, on the spot; or work that wants what its plan does not name",
                risk: "low for a command, of which nothing is applied; a call is medium",
                usually: "once, at once; a call within two minutes",
                uses_max: 1,
                // Whoever signs it waits for it, or something waits for them.
                lasts_max: Duration::from_secs(300),
            },
            Kind::Model => Terms {
                hashed: "model, address, roles, where its key is, price, version of the privacy policy; on this machine, who \
                         answers there",
                scope: Scope::ConnectionManage,
                asked_by: "`silas model add`, a card that chose one, or a turn that needs it",
                risk: "medium; low if a program of yours on this machine answers there",
                usually: "once, within the plan timeout; the model stays allowed until it is revoked",
                uses_max: 1,
                lasts_max: DAY,
            },
            Kind::Budget => Terms {
                hashed: "the day or month, and the sum that is added",
                scope: Scope::Budget,
                asked_by: "a turn or work that would exceed the cap",
                risk: "medium",
                usually: "once, within the plan timeout; it counts for that day or month",
                uses_max: 1,
                lasts_max: DAY,
            },
        }
    }

    pub fn scope(self) -> Scope {
        self.terms().scope
    }

    /// How long a token of this kind may be used at most.
    pub fn lasts(self) -> Duration {
        self.terms().lasts_max
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The only verdict that allows anything.
    Approved,
    Declined,
    /// Not like this: the card is answered, nothing is allowed, and the changed wish makes a card of its own.
    EditRequested,
    /// Only narrower: nothing is allowed by it; the narrowed plan is a new plan whose card is approved.
    Conditional,
}

/// How the person confirmed; friction, not authority. `tap` is the only strength of this version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    Tap,
}

/// Everything that will be signed except who signs and what they say.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    pub offer: Offer,
    pub key: KeyId,
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Token {
    pub body: TokenBody,
    pub signature: Signature,
}

impl Offer {
    pub const VERSION: u32 = 1;

    /// Whether this asks for no more uses and no more time than its kind may.
    pub fn is_within_bounds(&self) -> bool {
        let terms = self.kind.terms();
        (1..=terms.uses_max).contains(&self.max_executions) && self.expires_at.since(self.issued_at) <= terms.lasts_max
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
