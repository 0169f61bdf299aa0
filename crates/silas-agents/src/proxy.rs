//! The proxy: answers at once, or says that it takes a plan. Where there is something to look things up with, it may do so
//! first. (RUNTIME §7.1, §19.3)

use crate::dialogue::{Break, Dialogue, Ended, Script};
use crate::extract::{Extractor, Sentences};
use crate::meter::Meter;
use crate::model::Model;
use crate::structured::{self, Outcome, Piece, Question, Shaped, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use silas_core::interaction::{ContextProfile, InteractionRegister};
use silas_core::work::InteractionMode;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteKind {
    Direct,
    Planner,
}

/// What the proxy decides.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteDecision {
    pub route: RouteKind,
    /// One short sentence.
    pub reason: String,
    #[schemars(with = "Register")]
    pub interaction_register: InteractionRegister,
    #[schemars(with = "ModeName")]
    pub interaction_mode: InteractionMode,
    #[schemars(with = "Profile")]
    pub context_profile: ContextProfile,
    /// The id of earlier work that this goes on with, or null.
    pub continuation_of: Option<String>,
    /// The answer if the route is direct, else null.
    pub response: Option<DirectResponse>,
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectResponse {
    pub message: String,
}

// The schemas of enums that live in a room without schemas; a test holds them against each other.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Register {
    Exploration,
    Execution,
    Review,
    Status,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum ModeName {
    DefaultAndOffer,
    ActAndReport,
    ConfirmOnlyWhenRequired,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Profile {
    Conversation,
    Coding,
    Research,
    Support,
}

const REASON_CHARS_MAX: usize = 500;
/// What a person reads in one go; more belongs into a file.
pub(crate) const MESSAGE_CHARS_MAX: usize = 16_000;

impl Shaped for RouteDecision {
    const NAME: &'static str = "route_decision";
    const ABOUT: &'static str = "Answer the owner, or hand the wish to the planner.";

    fn check(&self) -> Result<(), String> {
        if self.reason.chars().count() > REASON_CHARS_MAX {
            return Err("`reason` is too long".to_owned());
        }
        match (self.route, &self.response) {
            (RouteKind::Planner, None) => Ok(()),
            (RouteKind::Planner, Some(_)) => Err("`response` must be null if `route` is planner".to_owned()),
            (RouteKind::Direct, None) => Err("`response` is required if `route` is direct".to_owned()),
            (RouteKind::Direct, Some(response)) => check_message(&response.message),
        }
    }
}

pub(crate) fn check_message(message: &str) -> Result<(), String> {
    match message.chars().count() {
        0 => Err("`message` is empty".to_owned()),
        n if n > MESSAGE_CHARS_MAX => Err("`message` is too long".to_owned()),
        _ if message.trim().is_empty() => Err("`message` is empty".to_owned()),
        _ => Ok(()),
    }
}

/// What the owner sees of an answer while it is being made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// The next sentences.
    More(String),
    /// What was said so far does not count.
    Again,
}

/// Makes sentences of what arrives, for whoever listens. Nothing is heard of an answer that cannot be used by what has come
/// before its words: it would be shown as an answer and then be taken back.
struct Hearing<'a> {
    extractor: Extractor,
    sentences: Sentences,
    /// What came before the first of its words.
    head: String,
    state: Heard,
    said: &'a mut (dyn FnMut(Said) + Send),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// None of its words have come yet.
    Nothing,
    /// As far as it has come, it can be used.
    Usable,
    Unusable,
}

/// Of an answer, everything besides its words is short; who says more before them is not heard before the end.
const HEAD_BYTES_MAX: usize = 4_096;

impl<'a> Hearing<'a> {
    fn new(said: &'a mut (dyn FnMut(Said) + Send)) -> Self {
        let extractor = Extractor::new(&["response", "message"]);
        Hearing { extractor, sentences: Sentences::default(), head: String::new(), state: Heard::Nothing, said }
    }

    fn hear(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => {
                let words = self.words_in(text);
                if self.state == Heard::Usable
                    && let Some(more) = self.sentences.feed(&words)
                {
                    (self.said)(Said::More(more));
                }
            }
            Piece::Again => {
                let was_heard = self.state == Heard::Usable;
                self.extractor = Extractor::new(&["response", "message"]);
                self.sentences = Sentences::default();
                self.head.clear();
                self.state = Heard::Nothing;
                if was_heard {
                    (self.said)(Said::Again);
                }
            }
        }
    }

    /// What this adds to the words. With the first of them it is decided whether they are heard.
    fn words_in(&mut self, text: &str) -> String {
        let mut words = String::new();
        let mut rest = text.chars();
        while self.state == Heard::Nothing {
            let Some(c) = rest.next() else { return words };
            self.head.push(c);
            words = self.extractor.feed(c.encode_utf8(&mut [0; 4]));
            if !words.is_empty() {
                self.state = if could_be_used(&self.head) { Heard::Usable } else { Heard::Unusable };
            } else if self.head.len() > HEAD_BYTES_MAX {
                self.state = Heard::Unusable;
            }
        }
        words.push_str(&self.extractor.feed(rest.as_str()));
        words
    }
}

/// Whether an answer that begins like this, up to its first word, fits the form. Which route it takes may come last.
fn could_be_used(head: &str) -> bool {
    [r#"x"}}"#, r#"x"},"route":"direct"}"#]
        .iter()
        .any(|end| structured::value_in::<RouteDecision>(&format!("{head}{end}")).is_ok())
}

pub(crate) async fn route<M: Meter>(
    model: &dyn Model,
    question: &Question,
    meter: &M,
    said: &mut (dyn FnMut(Said) + Send),
) -> Result<Outcome<RouteDecision>, Stop<M::Refusal>> {
    let mut hearing = Hearing::new(said);
    structured::ask(model, question, meter, &mut |piece| hearing.hear(piece)).await
}

/// The same with tools: the decision is made after what they told.
pub(crate) async fn route_with<M: Meter, R: Script>(
    dialogue: &Dialogue<'_, R>,
    run: &R,
    meter: &M,
    said: &mut (dyn FnMut(Said) + Send),
) -> Result<Ended<RouteDecision>, Break<M::Refusal, R::Error>> {
    let mut hearing = Hearing::new(said);
    dialogue.hold(run, meter, &mut |piece| hearing.hear(piece)).await
}

#[cfg(test)]
pub(crate) mod tests;
