//! What every model can do: take a question of a certain shape, and answer piece by piece.

use crate::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use silas_core::Digest;
use silas_core::model::count_tokens;
use std::future::Future;
use std::pin::Pin;

/// How a model is made to keep to a schema. Each is less binding than the one before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Mode {
    /// The provider itself holds the answer to the schema.
    JsonSchema,
    /// The model must call one tool, whose arguments are the answer.
    ForcedTool,
    /// The schema stands in the prompt, and the answer is read out of prose.
    Prose,
}

impl Mode {
    pub fn next(self) -> Option<Mode> {
        match self {
            Mode::JsonSchema => Some(Mode::ForcedTool),
            Mode::ForcedTool => Some(Mode::Prose),
            Mode::Prose => None,
        }
    }

    /// For the details of a card.
    pub fn words(self) -> &'static str {
        match self {
            Mode::JsonSchema => "Its provider holds each answer to the form that is asked for",
            Mode::ForcedTool => "Each answer comes as the call of a tool, in the form that is asked for",
            Mode::Prose => "The form is asked for in words, and each answer is read out of prose",
        }
    }
}

/// The form of an answer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Shape {
    pub name: &'static str,
    pub about: &'static str,
    pub schema: Value,
    pub mode: Mode,
}

/// A tool as a model is shown it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Offer {
    pub name: String,
    pub about: String,
    pub schema: Value,
}

/// A call as a model wrote it. Nothing about it is known to be right.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    pub name: String,
    /// JSON, if all is well.
    pub arguments: String,
    /// What the provider calls it; its result is given back under the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl ToolCall {
    /// One that no provider has named.
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        ToolCall { name: name.into(), arguments: arguments.into(), id: None }
    }
}

/// What a model said, and what it heard.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// One for each call, in their order.
    pub results: Vec<String>,
    /// What is said to it besides.
    pub note: Option<String>,
    /// What it said in its provider's own form, given back as it came: thoughts are signed, and calls have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbatim: Option<Value>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Request {
    pub system: String,
    pub user: String,
    /// What was said and done since.
    pub turns: Vec<Turn>,
    /// If there are any, the answer is given by calling one more that is called like its shape.
    pub tools: Vec<Offer>,
    pub shape: Shape,
    pub output_tokens_max: u32,
}

impl Request {
    /// Tells one question from another: everything that is sent, and how the answer is wanted.
    pub(crate) fn digest(&self) -> Digest {
        // Structs and maps with names for keys can always be written.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Everything that is sent, in tokens, before anybody has counted them: the house's own count and a quarter more,
    /// because code and numbers are denser than prose. What its provider counts is what counts afterwards.
    pub fn n_tokens(&self) -> u64 {
        let counted = |texts: [&str; 3]| texts.into_iter().map(count_tokens).sum::<u64>();
        let offers: u64 = self
            .tools
            .iter()
            .map(|offer| counted([offer.name.as_str(), offer.about.as_str(), &offer.schema.to_string()]))
            .sum();
        let shape = counted([self.shape.name, self.shape.about, &self.shape.schema.to_string()]);
        let said = counted([self.system.as_str(), self.user.as_str(), &self.said()]);
        (offers + shape + said).saturating_mul(5).div_ceil(4)
    }

    /// The texts of all turns, one after the other.
    pub(crate) fn said(&self) -> String {
        let mut said = String::new();
        for turn in &self.turns {
            let calls = turn.calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str()]);
            let heard = turn.results.iter().map(String::as_str).chain(turn.note.as_deref());
            match &turn.verbatim {
                Some(verbatim) => said.push_str(&verbatim.to_string()),
                None => said.extend([turn.text.as_str()].into_iter().chain(calls)),
            }
            said.extend(heard);
        }
        said
    }
}

/// What the provider says was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// All of them, those that it had kept from an earlier question included.
    pub input_tokens: u64,
    /// Of these, what it had kept and charges less for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept_tokens: u64,
    /// Thoughts included.
    pub output_tokens: u64,
    /// Of these, thoughts, if it says so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thought_tokens: u64,
    /// What it says it charges, in micro-dollars, if it says so.
    pub microusd: Option<u64>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Complete,
    /// The limit of the output was reached first.
    Length,
    /// The provider or the model would not.
    Refused,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Without tools, the structured text, wherever it came in. With them, what was said beside the calls.
    pub text: String,
    /// Only where tools were offered.
    pub calls: Vec<ToolCall>,
    pub finish: Finish,
    /// Absent if the provider does not say.
    pub usage: Option<Usage>,
    /// The same in the provider's own form; see [`Turn::verbatim`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbatim: Option<Value>,
}

pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send + 'a>>;

/// Dropping the future cancels the call.
pub trait Model: Send + Sync {
    /// `told` hears each piece of the answer as it comes, and nothing twice.
    fn call<'a>(&'a self, request: &'a Request, told: &'a mut (dyn FnMut(&str) + Send)) -> Answering<'a>;

    /// The most binding mode that is not known to fail.
    fn mode(&self) -> Mode;

    /// Remembers that more than this does not work.
    fn lower_mode(&self, mode: Mode);

    /// Remembers that the form was asked for and not kept to, until it was shown.
    fn note_shown(&self) {}

    /// Tokens that it needs besides its answer, because it thinks first.
    fn room_to_think(&self) -> u32 {
        0
    }

    /// What a token that its provider had kept costs, of the price of one that it had not.
    fn kept_percent(&self) -> u64 {
        100
    }
}

/// How hard a model thinks before it answers, where it can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    Low,
    Medium,
    High,
}

impl Effort {
    /// In every provider's own word.
    pub fn name(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }
    }

    /// For those who have to be told a number.
    pub(crate) fn tokens(self) -> u32 {
        match self {
            Effort::Low => 2_000,
            Effort::Medium => 8_000,
            Effort::High => 14_000,
        }
    }
}
