//! How models are spoken of: by name and place, by role, by key and by price.

use super::fact;
use silas_core::card::{FACT_CHARS_MAX, Fact};
use silas_core::model::{KeySource, ModelName, Price, Role, dollars};
use silas_gates::scrub;

/// Which model, and where it is. Names may be longer than a card is wide; the details have them in full, and half a name
/// would be somebody else's.
pub(crate) fn which(model: &ModelName) -> Vec<Fact> {
    let whole = |text: &str, when_long: &str| {
        let fits = text.chars().count() <= FACT_CHARS_MAX;
        if fits { text.to_owned() } else { when_long.to_owned() }
    };
    let goes_to = if model.is_local() { "A program on this machine" } else { model.host() };
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
pub(crate) const SPOKEN_CHARS_MAX: usize = 60;

pub(crate) fn role(role: Role) -> &'static str {
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
