//! The words on cards about models and money.

use super::{approve, decline, fact};
use silas_core::card::{CardKind, Cta, Detail, FACT_CHARS_MAX, Face, Press, Risk};
use silas_core::model::{BudgetGrant, KeySource, ModelGrant, Price, Role, dollars, list_price};
use silas_gates::scrub;

/// Longest host in an intent; the details have it in full.
const HOST_CHARS_MAX: usize = 36;

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
    let costs = grant.price.unwrap_or_else(|| list_price(&grant.model));
    let sees_files = has(Role::Executor) || has(Role::Planner);
    let (leaves, stays) = match (is_local, sees_files) {
        (true, _) => ("Nothing", "Everything"),
        (false, true) => ("What you say, files in plans", "Other files, keys, the log"),
        (false, false) => ("What you say in the Stream", "Your files, keys, the log"),
    };
    let mut example = vec![
        "You write: Tide times are an hour off. Fix it in tidepool.",
        "It gets: that sentence, the date, and what was said just before",
    ];
    if sees_files {
        example.push("Once you asked for work there: the files of tidepool that it reads, and what commands print");
    }
    Face {
        kind: CardKind::Model,
        risk: Some(if is_local { Risk::Low } else { Risk::Medium }),
        state: "Model".to_owned(),
        intent: match is_local {
            true => "Ask a model on this machine".to_owned(),
            false => format!("Send your requests to {}", scrub::visible_line(host, HOST_CHARS_MAX)),
        },
        facts: vec![
            fact("Leaves", leaves),
            fact("Stays", stays),
            fact("Goes to", &goes_to),
            fact("Uses", &short(grant.model.model())),
            fact("Cap", if costs == Price::FREE { "Costs nothing" } else { "Your caps, checked each call" }),
        ],
        evidence: None,
        rationale: "Open questions need a model. It only proposes: plans still ask you.".to_owned(),
        details_title: "An example of what is sent".to_owned(),
        details: vec![
            Detail { title: "For example".to_owned(), lines: example.iter().map(|line| (*line).to_owned()).collect() },
            Detail { title: "To".to_owned(), lines: vec![grant.model.url().to_owned(), grant.model.to_string()] },
            Detail { title: "For".to_owned(), lines: vec![roles.join(", ")] },
            Detail { title: "Sent".to_owned(), lines: sent.iter().map(|line| (*line).to_owned()).collect() },
            Detail { title: "Costs".to_owned(), lines: vec![capitalised(&price(costs))] },
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
    let another = Cta { press: Press::Change, label: "Choose another".to_owned(), consequence: String::new() };
    Face { state: "Step 2 of 3".to_owned(), ctas: vec![agree, another, decline("Stay without")], ..model(grant) }
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
        rationale: format!(
            "The cap of this {when} is used up, as far as the next question could cost. It was not sent. What needs a \
             model is paused, nothing is lost."
        ),
        details_title: "Exactly what is allowed".to_owned(),
        details: vec![Detail {
            title: "Limits".to_owned(),
            lines: vec![format!("{sum} on top of the cap of {} (UTC)", grant.period)],
        }],
        diffs: Vec::new(),
        ctas: vec![
            approve(&format!("Allow {sum} more"), "The question that waits is asked at once."),
            decline("Go on without a model"),
        ],
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
