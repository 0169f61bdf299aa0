//! What became of a message whose question was answered with no: it was said that it waits, so it is said that it does not.

use silas_core::card::CardKind;

/// Nothing where nobody waited.
pub(super) fn in_words(kind: CardKind, n_waited: usize) -> Option<&'static str> {
    words(kind).filter(|_| n_waited > 0)
}

/// Whether messages wait for the answer to cards of this kind: then there is something to say about them.
pub(super) fn holds_up_wishes(kind: CardKind) -> bool {
    words(kind).is_some()
}

fn words(kind: CardKind) -> Option<&'static str> {
    match kind {
        CardKind::Budget => Some(
            "No more may be spent, so your message was not sent to a model. It waits no longer; say it again when there is \
             more to spend.",
        ),
        CardKind::Model => Some(
            "You did not agree, so nothing was sent. Your message waits no longer; say it again when you have chosen a model.",
        ),
        CardKind::Root => Some(
            "Plans may not work there, so nothing was done. Your wish waits no longer; say it again if you change your mind.",
        ),
        CardKind::Decision => Some(
            "The question was not answered, so nothing was planned. Your wish waits no longer; say it again if you like.",
        ),
        CardKind::SecureInput => Some(
            "The secret was not given, so nothing was done. Your message waits no longer; say it again when you have it.",
        ),
        CardKind::Pairing
        | CardKind::Passkey
        | CardKind::UnknownEffect
        | CardKind::Refusal
        | CardKind::ModelChoice
        | CardKind::HouseRules
        | CardKind::Plan
        | CardKind::Step
        | CardKind::Rehearsed
        | CardKind::Done
        | CardKind::Report
        | CardKind::Conflict => None,
    }
}
