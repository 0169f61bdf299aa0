//! The words on cards about models and money.

use super::{approve, decline, fact};
use silas_core::card::{CardKind, Detail, FACT_CHARS_MAX, Face, Fact, Risk};
use silas_core::model::{BudgetGrant, KeySource, ModelGrant, Price, Role, dollars, list_price};

/// Names of models may be longer than a card is wide; the details have them in full.
pub(super) fn short(text: &str) -> String {
    let n = text.chars().count();
    if n <= FACT_CHARS_MAX {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(n - (FACT_CHARS_MAX - 1)).collect();
    format!("…{tail}")
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Proxy => "Answering",
        Role::Planner => "Planning",
        Role::Executor => "Working",
    }
}

pub(crate) fn key(key: &KeySource) -> String {
    match key {
        KeySource::None => "none".to_owned(),
        KeySource::Vault(reference) => format!("the secret {reference} of the vault"),
        KeySource::Variable(name) => format!("the variable {name} of the server"),
    }
}

pub(crate) fn price(price: Price) -> String {
    match price {
        Price::FREE => "nothing".to_owned(),
        price if price.is_unknown() => {
            format!(
                "not known; counted as {} and {} for a million tokens in and out",
                dollars(price.input),
                dollars(price.output)
            )
        }
        price => format!("{} and {} for a million tokens in and out", dollars(price.input), dollars(price.output)),
    }
}

/// May this model be asked, and may what is said go there?
pub(super) fn model(grant: &ModelGrant) -> Face {
    let (host, is_local) = (grant.model.host(), grant.model.is_local());
    let goes_to = if is_local { "This machine only".to_owned() } else { short(host) };
    let roles: Vec<&str> = grant.roles.iter().map(|one| role(*one)).collect();
    let has = |role: Role| grant.roles.contains(&role);
    let mut sent = vec!["Today's date"];
    if has(Role::Proxy) || has(Role::Planner) {
        sent.push("What you write, and the last things said in the Stream");
    }
    if has(Role::Proxy) {
        sent.push("The sentences that Silas understands by itself");
    }
    if has(Role::Planner) {
        sent.push("For plans: the names of the directories that you allowed, and what was found out there for a plan");
    }
    if has(Role::Executor) {
        sent.push("While it works: the plan, contents and names of files in the plan's directories, and what commands print there");
        sent.push("To find something out for a plan: contents and names of files in the directories that you allowed");
    }
    sent.push(match has(Role::Executor) || has(Role::Planner) {
        true => "Never: files elsewhere, your keys, the ledger",
        false => "Never: your files, your keys, the ledger, what commands printed unless it was said in the Stream",
    });
    Face {
        kind: CardKind::Model,
        risk: Some(if is_local { Risk::Low } else { Risk::Medium }),
        state: "Model".to_owned(),
        intent: if is_local {
            "Ask a model on this machine".to_owned()
        } else {
            match has(Role::Executor) {
                true => "Send what you say, and files it works on, to a model",
                false => "Send what you say to a model",
            }
            .to_owned()
        },
        facts: vec![
            fact("Model", &short(grant.model.model())),
            fact("Goes to", &goes_to),
            fact("For", &roles.join(", ")),
            fact("Key", &short(&grant.key.to_string())),
            Fact { label: "Spends".to_owned(), text: "Up to your caps, never above".to_owned() },
        ],
        evidence: None,
        versions: None,
        rationale: "A model only proposes. Plans still ask you, and nothing is sent before you agree.".to_owned(),
        details_title: "What is sent, and to whom".to_owned(),
        details: vec![
            Detail { title: "To".to_owned(), lines: vec![grant.model.url().to_owned(), grant.model.to_string()] },
            Detail { title: "Sent".to_owned(), lines: sent.iter().map(|line| (*line).to_owned()).collect() },
            Detail {
                title: "Costs".to_owned(),
                lines: vec![capitalised(&price(grant.price.unwrap_or_else(|| list_price(&grant.model))))],
            },
            Detail { title: "Key".to_owned(), lines: vec![capitalised(&key(&grant.key))] },
            Detail {
                title: "Agreement".to_owned(),
                lines: vec![format!("Version {} of what is sent; more than that asks again", grant.policy_version)],
            },
        ],
        diffs: Vec::new(),
        ctas: vec![
            approve(
                "Agree and use it",
                &match has(Role::Executor) {
                    true => format!("What you say, and files of your plans, go to {host} from now on."),
                    false => format!("What you say goes to {host} from now on."),
                },
            ),
            decline("Not now"),
        ],
    }
}

/// The same as a step of setting a model up: a test question follows the agreement.
pub(super) fn model_to_test(grant: &ModelGrant) -> Face {
    let host = grant.model.host();
    let consequence =
        format!("What you say goes to {host} from now on. One test question, with nothing of yours in it.");
    let agree = approve("Agree, make 1 test call", &consequence);
    Face { state: "Step 2 of 3".to_owned(), ctas: vec![agree, decline("Stay without")], ..model(grant) }
}

/// May more be spent?
pub(super) fn budget(grant: &BudgetGrant) -> Face {
    let (sum, when) = (dollars(grant.microusd), if grant.period.is_day() { "day" } else { "month" });
    Face {
        kind: CardKind::Budget,
        risk: Some(Risk::Medium),
        state: "Budget".to_owned(),
        intent: format!("Spend up to {sum} more on models this {when}"),
        facts: vec![fact("Adds", &sum), fact("For", grant.period.as_str()), fact("After that", "The cap is as before")],
        evidence: None,
        versions: None,
        rationale: format!("The next question could exceed the cap of this {when}, so it was not sent."),
        details_title: "Exactly what is allowed".to_owned(),
        details: vec![Detail {
            title: "Limits".to_owned(),
            lines: vec![format!("{sum} on top of the cap of {} (UTC)", grant.period)],
        }],
        diffs: Vec::new(),
        ctas: vec![approve(&format!("Add {sum}"), "The question that waits is asked at once."), decline("Not now")],
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
