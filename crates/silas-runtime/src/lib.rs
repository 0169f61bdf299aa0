//! The only room that sees both a wish and a hand that can act.
//!
//! A message comes in ([`turn`]), reflex or a model makes something of it, a question goes to the owner ([`review`]),
//! and what the owner approved is carried out in a private copy ([`work`]), verified there, applied, and can be taken
//! back ([`undo`]). Messages and work travel through the durable queue, and what was interrupted there is taken up again
//! ([`consumer`]). What is said gets to whoever follows the Stream by way of the outbox ([`listeners`]). Every step is in the ledger, from which [`activity`] and [`proof`] tell it.
//!
//! Deliberately absent: private keys, the owner's files (the launcher's helpers touch those, never this process), and
//! any decision of a model's. What is sent to one passes [`spending`] and the checks of [`models`] first.

mod activity;
mod allowing;
mod call_log;
mod calls;
mod conflicts;
mod consumer;
mod epoch;
mod forget;
mod gauges;
mod going_on;
mod grants;
mod inputs;
mod leaving;
mod letters;
mod listeners;
mod measures;
mod models;
mod pairing;
mod passkeys;
mod period;
mod places;
mod proof;
mod reading;
mod rehearsal;
mod research;
mod review;
mod search;
mod secrets;
mod spending;
mod start;
mod stopping;
mod stream;
mod tasks;
mod telling;
#[cfg(test)]
mod testing;
mod trouble;
mod turn;
mod undo;
mod upkeep;
mod verification;
pub mod view;
mod words;
mod work;
mod work_list;

pub use forget::words as forget_words;
pub use gauges::{Gauges, Tally};
pub use inputs::Chosen;
pub use listeners::{Attached, Listener, Resume};
pub use models::{Key as ModelKey, KeyRing, Look as ModelLook, ModelOptions, probes as model_probes};
pub use pairing::Newcomer;
pub use places::Places;
pub use proof::Story;
pub use secrets::{SecretView, VaultView};
/// So many wait, of so many that may.
pub use silas_store::{Pressure, Waiting};
pub use stream::{Options, Parts, Stream};
pub use trouble::Trouble;
pub use words::inputs::{suggested as suggested_model, title as provider_title};
pub use words::{OnTheWall, WallClock, Words};
