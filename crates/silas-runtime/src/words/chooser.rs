//! Who chose the checks of a plan. What is green says as much as whoever chose what is looked at, so every card with checks
//! says that.

use super::{count, models};
use serde::{Deserialize, Serialize};
use silas_core::card::FACT_CHARS_MAX;
use silas_core::planned;
use silas_core::work::Definition;
use silas_gates::scrub;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Chooser {
    /// In the wish itself, or in a plan file.
    Owner,
    /// The model that planned, by its own name.
    Model(String),
    /// Whoever chose those of the plan before: one that is planned again keeps its checks.
    PlanBefore,
    /// Of the sample, and of a plan that puts files back.
    Silas,
}

impl Chooser {
    pub(crate) fn of(d: &Definition) -> Self {
        match &d.planned {
            _ if d.is_of_silas() => Chooser::Silas,
            Some(_) if d.spawned_by.is_some() => Chooser::PlanBefore,
            Some(planned) => Chooser::Model(scrub::visible_line(planned.by.model(), models::SPOKEN_CHARS_MAX)),
            None if planned::is_mixed(&d.body) => Chooser::Model("a model".to_owned()),
            None => Chooser::Owner,
        }
    }

    /// Over a list of them.
    pub(crate) fn title(&self, n_checks: usize) -> String {
        let checks = if n_checks == 1 { "check" } else { "checks" };
        match self {
            Chooser::Owner => format!("Your {checks}"),
            Chooser::Model(name) => format!("{}{} chosen by {name}", checks[..1].to_uppercase(), &checks[1..]),
            Chooser::PlanBefore => format!("The {checks} of the plan before"),
            Chooser::Silas => format!("Silas's own {checks}"),
        }
    }

    /// As a fact.
    pub(crate) fn fact(&self) -> String {
        match self {
            Chooser::Owner => "Yours".to_owned(),
            Chooser::Model(name) => {
                let named = format!("Chosen by {name}");
                if named.chars().count() <= FACT_CHARS_MAX { named } else { "Chosen by a model".to_owned() }
            }
            Chooser::PlanBefore => "Those of the plan before".to_owned(),
            Chooser::Silas => "Silas's own".to_owned(),
        }
    }

    /// In a sentence for a reader of this kind: "2 checks chosen by claude-haiku-4-5".
    pub(crate) fn counted(&self, n_checks: usize, owners: &str) -> String {
        let n = count(n_checks, "check");
        match self {
            Chooser::Owner => format!("{n} of {owners}"),
            Chooser::Model(name) => format!("{n} chosen by {name}"),
            Chooser::PlanBefore => format!("{n} of the plan before"),
            Chooser::Silas => format!("{n} of Silas's own"),
        }
    }
}
