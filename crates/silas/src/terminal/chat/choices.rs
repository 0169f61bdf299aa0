//! The choices of a card, in the order of its buttons, and what has to be typed before a risky one counts.

use crate::terminal::answering::{first_word, is_word};
use crate::terminal::{face, names};
use serde_json::{Value, json};
use silas_core::card::{Card, CardState, Press, Risk};
use silas_core::hidden;
use silas_core::input::{Input, KeyState, KeyWanted, ModelOption, SecureInput};
use silas_core::number::grouped;
use silas_core::token::Verdict;

pub(super) enum Choice {
    Decide(Press),
    /// A message about the card that signs nothing.
    Send(Value),
    Proof(Value),
    /// What was recorded; decides nothing.
    Look,
    /// What is typed next goes to the vault, unseen.
    Secret(Box<SecureInput>),
    /// Which model is meant, and with which key.
    Model(String, KeyWanted),
    /// What a model is answered, in words that it proposed.
    Answer(String),
    /// What is typed next is the answer.
    OwnWords,
}

pub(super) fn of(card: &Card) -> Vec<(String, Choice)> {
    if card.state == CardState::Parked {
        let again = ("Ask me again".to_owned(), Choice::Send(json!({ "type": "renew" })));
        let rehearse = card.show_first.as_ref().map(|_| {
            let message = json!({ "type": "renew", "rehearse": true });
            ("Rehearse it instead".to_owned(), Choice::Send(message))
        });
        let drop = ("Drop it".to_owned(), Choice::Send(json!({ "type": "dismiss" })));
        return [again].into_iter().chain(rehearse).chain([drop]).collect();
    }
    let choices = card.face.ctas.iter().filter(|cta| cta.press != Press::Choose).filter_map(|cta| {
        let choice = match cta.press {
            Press::Store => Choice::Secret(Box::new(card.input.as_ref().and_then(Input::secret)?.clone())),
            Press::Dismiss => Choice::Send(json!({ "type": "dismiss" })),
            Press::Proof => Choice::Proof(proof_of(card)?),
            Press::Look => Choice::Look,
            Press::Answer => Choice::OwnWords,
            Press::Again => Choice::Send(json!({ "type": "model_again" })),
            Press::Another => Choice::Send(json!({ "type": "model_another" })),
            press => Choice::Decide(card.asked_by(press).map(|_| press)?),
        };
        Some((cta.label.clone(), choice))
    });
    models(card).into_iter().chain(proposed(card)).chain(choices).collect()
}

/// The models that can be chosen without naming one; for any other there is `silas model add`.
fn models(card: &Card) -> Vec<(String, Choice)> {
    let Some(Input::Model(choice)) = &card.input else { return Vec::new() };
    let named = choice.choices.iter().filter(|option| !option.takes_url);
    let choices = named.map(|ModelOption { provider, title, note, model, key, .. }| {
        let key = if *key == KeyState::None { KeyWanted::None } else { KeyWanted::Kept };
        (
            format!("{title}, {model} ({})", note.to_lowercase()),
            Choice::Model(format!("{}:{model}", provider.name()), key),
        )
    });
    choices.collect()
}

/// The answers that a model proposes, marked as its words.
fn proposed(card: &Card) -> Vec<(String, Choice)> {
    let options = card.input.as_ref().and_then(Input::inquiry).map(|inquiry| inquiry.options.as_slice());
    let choice = |option: &String| (hidden::quotation(option), Choice::Answer(option.clone()));
    options.unwrap_or_default().iter().map(choice).collect()
}

/// What a button means, as the card says it.
pub(super) fn consequence<'c>(card: &'c Card, label: &str) -> Option<&'c str> {
    let cta = card.face.ctas.iter().find(|cta| cta.label == label)?;
    Some(cta.consequence.as_str()).filter(|meaning| !meaning.is_empty() && *meaning != label)
}

/// The execution that a result is about: its undo names it.
fn proof_of(card: &Card) -> Option<Value> {
    let payload: Value = serde_json::from_str(card.payload.as_deref()?).ok()?;
    payload.get("execution").filter(|execution| execution.is_string()).cloned()
}

/// An approval that waits for a second, different word: what is low needs none, what is high needs its own verb.
pub(super) struct Confirm {
    pub(super) card: Card,
    pub(super) press: Press,
    consequence: String,
    word: String,
}

impl Confirm {
    pub(super) fn for_choice(card: &Card, press: Press) -> Option<Self> {
        if press.verdict() != Some(Verdict::Approved) {
            return None;
        }
        let cta = card.face.ctas.iter().find(|cta| cta.press == press)?;
        let word = match card.face.risk {
            // Not all of it is on the screen, so whoever signs it says which it is.
            _ if face::n_hidden(card) > 0 => names::name(&card.id),
            None | Some(Risk::Low) => return None,
            Some(Risk::Medium) => "y".to_owned(),
            Some(Risk::High | Risk::Irreversible) => first_word(cta),
        };
        Some(Confirm { card: card.clone(), press, consequence: cta.consequence.clone(), word })
    }

    pub(super) fn question(&self) -> String {
        let n_not_shown = face::n_not_shown(&self.card.face.diffs);
        let mut hidden = match face::n_hidden(&self.card).saturating_sub(n_not_shown) {
            0 => String::new(),
            n => format!(
                "{} lines of this change are not on the screen; `silas show {}` has them. ",
                grouped(n),
                self.word
            ),
        };
        if n_not_shown > 0 {
            hidden.push_str(&format!("{} changed lines are not on the card at all. ", grouped(n_not_shown)));
        }
        format!("{hidden}{} Type `{}` to confirm; anything else leaves it.", self.consequence, self.word)
    }

    pub(super) fn is_given_by(&self, typed: &str) -> bool {
        is_word(typed, &self.word)
    }
}
