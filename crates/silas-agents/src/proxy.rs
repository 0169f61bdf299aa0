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

/// Makes sentences of what arrives, for whoever listens.
struct Hearing<'a> {
    extractor: Extractor,
    sentences: Sentences,
    has_said: bool,
    said: &'a mut (dyn FnMut(Said) + Send),
}

impl<'a> Hearing<'a> {
    fn new(said: &'a mut (dyn FnMut(Said) + Send)) -> Self {
        let extractor = Extractor::new(&["response", "message"]);
        Hearing { extractor, sentences: Sentences::default(), has_said: false, said }
    }

    fn hear(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => {
                if let Some(more) = self.sentences.feed(&self.extractor.feed(text)) {
                    self.has_said = true;
                    (self.said)(Said::More(more));
                }
            }
            Piece::Again => {
                self.extractor = Extractor::new(&["response", "message"]);
                self.sentences = Sentences::default();
                if std::mem::take(&mut self.has_said) {
                    (self.said)(Said::Again);
                }
            }
        }
    }
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
