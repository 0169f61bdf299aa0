//! The house rules: what Silas may do by itself, signed by the tap that pairs the first device.
//!
//! They are a standing decision like any other: shown in words, counted, expiring. Without them Silas does none of it.

use serde::{Deserialize, Serialize};
use silas_core::card::{CardKind, Cta, Detail, Face, Fact, Press, Risk};
use silas_core::token::Kind;

/// One thing that needs no question of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HouseRule {
    /// An approved task that was interrupted begins again in a fresh copy, within the time it was given.
    ResumeInterrupted,
    /// The kept old versions of changed files go when their undo time is over.
    DropOldVersions,
}

/// The payload of a `house_rules` decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HouseRules {
    pub kind: Kind,
    pub rules: Vec<HouseRule>,
}

/// How often the rules may be used before they are asked for again.
pub const HOUSE_RULE_USES: u32 = silas_core::evidence::USES_MAX;
/// How long they hold.
pub const HOUSE_RULE_DAYS: u64 = 365;

impl HouseRule {
    pub fn words(self) -> &'static str {
        match self {
            HouseRule::ResumeInterrupted => {
                "Begin an approved task again if it was interrupted, in a fresh copy and within its time limit"
            }
            HouseRule::DropOldVersions => "Drop the old versions of changed files when their undo time is over",
        }
    }
}

impl HouseRules {
    pub fn current() -> Self {
        HouseRules { kind: Kind::HouseRules, rules: vec![HouseRule::ResumeInterrupted, HouseRule::DropOldVersions] }
    }

    /// How they are shown while the first browser is paired.
    pub fn pairing_face(&self) -> Face {
        Face {
            kind: CardKind::Pairing,
            risk: Some(Risk::Low),
            state: "Pairing".to_owned(),
            intent: "Pair this browser with Silas".to_owned(),
            facts: Vec::new(),
            evidence: None,
            rationale: "Every command that Silas runs for you is a question first. By itself it may only do this:"
                .to_owned(),
            details_title: "What Silas may do by itself".to_owned(),
            details: vec![Detail {
                title: "House rules".to_owned(),
                lines: self.rules.iter().map(|rule| rule.words().to_owned()).collect(),
            }],
            diffs: Vec::new(),
            ctas: vec![Cta {
                press: Press::Approve,
                label: "Pair this browser".to_owned(),
                consequence: "This browser can approve work from now on.".to_owned(),
            }],
        }
    }

    /// How they are asked for when none hold any more: they ran out, were revoked, or went with the device that signed.
    pub fn card_face(&self) -> Face {
        Face {
            kind: CardKind::HouseRules,
            state: "House rules".to_owned(),
            intent: "Let Silas do small things by itself".to_owned(),
            facts: vec![
                Fact { label: "Uses".to_owned(), text: format!("{HOUSE_RULE_USES} times, for a year") },
                Fact { label: "Stays".to_owned(), text: "Every plan still asks you".to_owned() },
            ],
            rationale: "No house rules hold now, so Silas does none of this by itself.".to_owned(),
            ctas: vec![
                Cta {
                    press: Press::Approve,
                    label: "Allow these by itself".to_owned(),
                    consequence: "Silas may do what is listed without asking.".to_owned(),
                },
                Cta { press: Press::Decline, label: "Keep asking me".to_owned(), consequence: String::new() },
            ],
            ..self.pairing_face()
        }
    }
}
