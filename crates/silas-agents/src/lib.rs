//! Where models are talked to: providers, structured output, prompts, and the scripted model of the tests.
//!
//! A model only ever proposes. What it is given is a payload that was admitted ([`silas_core::boundary`]) rendered by a
//! template; what it gives is read against a schema that follows from a Rust type, repaired once, and otherwise replaced by
//! the fallback of that kind of call. Every call asks a [`Meter`] first, which belongs to the runtime.
//!
//! The tool chain is here too: which tools a model sees, and the one path of a call. Deliberately absent: the sandbox,
//! approvals, the store, and the hands of any tool. This room can read, think, say and ask.

mod client;
mod dialogue;
mod error;
mod executor;
mod extract;
mod meter;
mod minds;
mod model;
mod planner;
mod prompt;
mod proxy;
mod schema;
pub mod scripted;
pub mod search;
mod structured;
pub mod tools;
mod wire;

pub use client::{HttpModel, Timeouts};
pub use dialogue::{Break, Ended, Script, Why};
pub use error::Error;
pub use executor::ExecutorAgentOutput;
pub use meter::{Answered, Meter, Settled, Worth};
pub use minds::{Asking, Check, Minds};
pub use model::{Answering, Effort, Finish, Mode, Model, Offer, Reply, Request, Shape, ToolCall, Turn, Usage};
pub use planner::{AgentResponse, OwnerQuestion, PlanAction, PlanActionType, check_plan};
pub use prompt::{Prompt, prompt_size};
pub use proxy::{DirectResponse, RouteDecision, RouteKind, Said};
pub use structured::{Outcome, Stop};
