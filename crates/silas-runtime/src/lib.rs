//! The only crate that sees both a wish and a hand that can act.
//!
//! It is made of rooms. Each owns its state and its files, and knows only the rooms before it: [`house`], [`running`], [`hub`]
//! (what is shown), [`trust`] (what is allowed), [`minds`] (who may be asked), [`questions`] (cards before they are asked),
//! [`work`] (what was approved), [`tasks`], [`conversation`] (what is said), [`review`] (what is decided). [`stream`] makes
//! them, starts them and lets them finish. Beside the rooms stand nouns that know none of them: words, views, records.
//!
//! Deliberately absent: any key that could approve (the server's, which is here, vouches for heads of the ledger and nothing
//! else), the owner's files (the launcher's helpers touch those, never this process), and any decision of a model's.

mod assignment;
mod commands;
mod conversation;
mod house;
mod hub;
mod minds;
mod places;
mod post;
mod question;
mod questions;
mod review;
mod running;
mod stream;
mod tasks;
#[cfg(test)]
mod testing;
mod trouble;
mod trust;
pub mod view;
mod words;
mod work;
mod work_record;

pub use assignment::ModelOptions;
pub use commands::note_command;
pub use conversation::{Came, Ended};
pub use house::{House, Leaving, Options};
pub use hub::{Attached, Gauges, Listener, Resume, Tally};
pub use minds::{
    Key as ModelKey, KeyRing, ListensAt, Look as ModelLook, Options as MindsOptions, probes as model_probes,
};
pub use places::Places;
pub use review::Chosen;
pub use review::kinds::model_choice::{suggested as suggested_model, title as provider_title};
/// So many wait, of so many that may.
pub use silas_store::{Pressure, Waiting};
pub use stream::Stream;
pub use trouble::Trouble;
pub use trust::{Newcomer, Options as TrustOptions, SecretView, Story, VaultView, forget_words};
pub use words::{OnTheWall, WallClock, Words};
