//! The house rules: what Silas may do by itself, signed by the tap that pairs the first device.
//!
//! They are a standing decision like any other: shown in words, counted, expiring. Without them Silas does none of it. The
//! engine and the launcher read the same list; what is not in it is not allowed, whoever asks.

use crate::card::{CardKind, Cta, Detail, Face, Fact, Press, Risk};
use crate::token::Kind;
use serde::{Deserialize, Serialize};

/// One thing that needs no question of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HouseRule {
    /// A task that was interrupted begins again in a fresh copy, within the time it was given.
    ResumeInterrupted,
    /// The kept old versions of changed files go when their undo time is over.
    DropOldVersions,
    /// A wish without outside effects is done in a private copy first, and shown before anything is applied.
    Rehearse(RehearsalBudget),
}

/// What rehearsals may use up. It is part of what is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RehearsalBudget {
    pub per_day: u32,
    pub max_wall_time_seconds: u64,
}

/// The payload of a `house_rules` decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HouseRules {
    pub kind: Kind,
    pub rules: Vec<HouseRule>,
}

/// How often the rules may be used before they are asked for again.
pub const HOUSE_RULE_USES: u32 = crate::evidence::USES_MAX;
/// How long they hold.
pub const HOUSE_RULE_DAYS: u64 = 365;
/// More wishes than a person has in a day, fewer than a program gone wild would have.
const REHEARSALS_PER_DAY: u32 = 100;
/// As long as a command may take that sets no limit itself.
const REHEARSAL_SECS_MAX: u64 = 600;

impl HouseRule {
    pub fn words(self) -> String {
        match self {
            HouseRule::ResumeInterrupted => {
                "Begin a task again if it was interrupted, in a fresh copy and within its time limit".to_owned()
            }
            HouseRule::DropOldVersions => {
                "Drop the old versions of changed files when their undo time is over".to_owned()
            }
            HouseRule::Rehearse(budget) => format!(
                "Try out what you ask for in a private copy of a directory you allowed, without network or secrets, \
                 and show you the result; at most {} times a day, {} minutes each. Nothing is applied without your yes",
                budget.per_day,
                budget.max_wall_time_seconds / 60
            ),
        }
    }
}

impl HouseRules {
    pub fn current() -> Self {
        let budget = RehearsalBudget { per_day: REHEARSALS_PER_DAY, max_wall_time_seconds: REHEARSAL_SECS_MAX };
        let rules = vec![HouseRule::ResumeInterrupted, HouseRule::DropOldVersions, HouseRule::Rehearse(budget)];
        HouseRules { kind: Kind::HouseRules, rules }
    }

    /// What rehearsals may use up, if these rules allow any.
    pub fn rehearsals(&self) -> Option<RehearsalBudget> {
        self.rules.iter().find_map(|rule| match rule {
            HouseRule::Rehearse(budget) => Some(*budget),
            HouseRule::ResumeInterrupted | HouseRule::DropOldVersions => None,
        })
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
            rationale: "Nothing reaches your files before you said yes to it. By itself Silas may only do this:"
                .to_owned(),
            asked: None,
            quote: None,
            details_title: "What Silas may do by itself".to_owned(),
            details: vec![Detail {
                title: "House rules".to_owned(),
                lines: self.rules.iter().map(|rule| rule.words()).collect(),
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
                Fact { label: "Stays".to_owned(), text: "Your files, until you say yes".to_owned() },
            ],
            rationale: "These house rules do not hold now, so Silas does none of this by itself.".to_owned(),
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
