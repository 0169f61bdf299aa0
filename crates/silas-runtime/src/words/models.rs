//! The words on cards about models. Money has a file of its own.

use super::{approve, decline, fact};
use silas_core::card::{CardKind, Cta, Detail, FACT_CHARS_MAX, Face, Fact, INTENT_CHARS_MAX, Press, Risk};
use silas_core::model::{KeySource, ModelGrant, ModelName, Price, Role, dollars, list_price};
use silas_gates::scrub;

/// Which model, and where it is. Names may be longer than a card is wide; the details have them in full, and half a name
/// would be somebody else's.
pub(super) fn which(model: &ModelName) -> Vec<Fact> {
    let whole = |text: &str, when_long: &str| {
        let fits = text.chars().count() <= FACT_CHARS_MAX;
        if fits { text.to_owned() } else { when_long.to_owned() }
    };
    let goes_to = if model.is_local() { "This machine only" } else { model.host() };
    vec![
        fact("Uses", &whole(model.model(), "1 model, listed below")),
        fact("Goes to", &whole(goes_to, "1 host, listed below")),
    ]
}

/// A model as a person calls it: its own name, and where it is. Sentences have no room for an address, and nobody reads
/// `compatible:name@http://…`; the details of a card and of a row have that.
pub(crate) fn spoken(model: &ModelName) -> String {
    let name = scrub::visible_line(model.model(), SPOKEN_CHARS_MAX);
    match model.is_local() {
        true => format!("{name} on this machine"),
        false => format!("{name} at {}", scrub::visible_line(model.host(), SPOKEN_CHARS_MAX)),
    }
}

/// The same of a name as it was written down.
pub(crate) fn spoken_of(text: &str) -> String {
    ModelName::parse(text).map_or_else(|_| scrub::visible_line(text, SPOKEN_CHARS_MAX), |model| spoken(&model))
}

/// Of a name and of a host in a sentence.
const SPOKEN_CHARS_MAX: usize = 60;

/// What agreeing means, for every card that asks for it.
fn what_goes_there(grant: &ModelGrant) -> String {
    let host = grant.model.host();
    match grant.roles.contains(&Role::Executor) || grant.roles.contains(&Role::Planner) {
        true => format!("What you say, and files of your plans, go to {host} from now on."),
        false => format!("What you say goes to {host} from now on."),
    }
}

pub(super) fn role(role: Role) -> &'static str {
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

/// What a question has cost, as far as that is known.
pub(crate) fn cost(price: Price, microusd: u64) -> String {
    match price {
        Price::FREE if microusd == 0 => "It costs nothing.".to_owned(),
        price if price.is_unknown() => {
            format!("Its price is not known, so {} were counted towards your caps.", dollars(microusd))
        }
        _ => format!("It cost {}.", dollars(microusd)),
    }
}

/// May this model be asked, and may what is said go there?
pub(super) fn model(grant: &ModelGrant) -> Face {
    let is_local = grant.model.is_local();
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
    let mut facts = vec![fact("Leaves", leaves), fact("Stays", stays)];
    facts.extend(which(&grant.model).into_iter().rev());
    facts.push(fact("Cap", if costs == Price::FREE { "Costs nothing" } else { "Your caps, checked each call" }));
    let sends = format!("Send your requests to {}", grant.model.host());
    let fits = sends.chars().count() <= INTENT_CHARS_MAX;
    Face {
        kind: CardKind::Model,
        risk: Some(if is_local { Risk::Low } else { Risk::Medium }),
        state: "Model".to_owned(),
        intent: match is_local {
            true => "Ask a model on this machine".to_owned(),
            false if fits => sends,
            false => "Send your requests to a host, named below".to_owned(),
        },
        facts,
        evidence: None,
        versions: None,
        rationale: "Open questions need a model. It only proposes: plans still ask you.".to_owned(),
        asked: None,
        quote: None,
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
        ctas: vec![approve("Agree and use it", &what_goes_there(grant)), decline("Not now")],
    }
}

/// The same as a step of setting a model up: a test question follows the agreement.
pub(super) fn model_to_test(grant: &ModelGrant) -> Face {
    let consequence = format!("{} One test question, with nothing of yours in it.", what_goes_there(grant));
    let agree = approve("Agree, make 1 test call", &consequence);
    let another = Cta { press: Press::Change, label: "Choose another".to_owned(), consequence: String::new() };
    Face { state: "Step 2 of 3".to_owned(), ctas: vec![agree, another, decline("Stay without")], ..model(grant) }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
