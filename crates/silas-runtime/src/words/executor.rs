//! What a plan leaves to a model, on its card.

use super::count;
use silas_core::card::Detail;
use silas_core::mandate::Mandate;
use silas_core::model::dollars;
use silas_core::wanted::By;
use silas_core::work::Definition;

pub(crate) fn detail(mandate: &Mandate, d: &Definition) -> Detail {
    let budget = &d.budget;
    let model = mandate.model.as_ref().map_or_else(|| "a model".to_owned(), ToString::to_string);
    let at_most = format!(
        "Silas works on it with {model}, at most {}, {}, {} and {}",
        count(budget.max_attempts as usize, "attempt"),
        count(mandate.max_model_calls as usize, "question"),
        count(mandate.max_tool_calls as usize, "call of a tool"),
        dollars(budget.max_cost_microusd),
    );
    let mut lines = vec![
        at_most.replace("call of a tools", "calls of tools"),
        format!("With {}", mandate.tools.join(", ")),
        match d.hosts_of(&By::Model).as_slice() {
            [] => "Its commands have no network and no secret, whatever else the plan may reach".to_owned(),
            hosts => {
                let hosts = hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                format!("Its commands may reach {hosts}, and have no secret")
            }
        },
    ];
    if let Some(model) = &mandate.model {
        let goes = if model.is_local() {
            "goes to a program on this machine".to_owned()
        } else {
            format!("goes to {}", model.host())
        };
        lines.push(format!("What it reads in the private copy {goes}"));
    }
    Detail { title: "Left to a model".to_owned(), lines }
}
