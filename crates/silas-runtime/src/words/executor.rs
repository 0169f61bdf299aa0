//! What a plan leaves to a model, on its card.

use super::count;
use silas_core::card::Detail;
use silas_core::mandate::Mandate;
use silas_core::model::dollars;
use silas_core::work::Budget;

pub(super) fn detail(mandate: &Mandate, budget: &Budget) -> Detail {
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
        "Its commands have no network and no secret, whatever else the plan may reach".to_owned(),
    ];
    if let Some(model) = &mandate.model {
        let goes =
            if model.is_local() { "stays on this machine".to_owned() } else { format!("goes to {}", model.host()) };
        lines.push(format!("What it reads in the private copy {goes}"));
    }
    Detail { title: "Left to a model".to_owned(), lines }
}
