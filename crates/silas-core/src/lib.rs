//! The nouns of Silas and the pure rules about them.
//!
//! Everything that two rooms must agree on is here: what a plan is and which bytes of it are hashed, what a card
//! says, what a device signs, when a check has passed, what the ledger may record. The launcher and the front verify
//! evidence with the same functions of this room, so neither can be talked into another reading.
//!
//! Deliberately absent: files, sockets, threads, clocks, randomness, async. Time and random bytes are parameters
//! ([`Clock`], [`Random`]), so a crash can be replayed and a test can stop time.

pub mod books;
pub mod boundary;
pub mod bundle;
pub mod call_order;
pub mod canonical;
pub mod card;
pub mod chain;
pub mod changeset;
pub mod check;
pub mod checkpoint;
pub mod command_run;
pub mod decimal;
pub mod device;
pub mod envelope;
pub mod event;
pub mod evidence;
pub mod excerpt;
pub mod execution;
pub mod exits;
pub mod export;
pub mod fail;
pub mod file_order;
pub mod flags;
pub mod handover;
pub mod hidden;
pub mod host;
pub mod house_rules;
pub mod ids;
pub mod input;
pub mod inquiry;
pub mod instruction;
pub mod interaction;
pub mod judges;
pub mod key_service;
pub mod mandate;
pub mod merge;
pub mod message;
pub mod model;
pub mod number;
pub mod outside;
pub mod passkey;
pub mod patch;
pub mod plan;
pub mod planned;
pub mod probe;
pub mod reflex;
pub mod rehearsal;
pub mod relpath;
pub mod replacing;
pub mod revocation;
pub mod risk;
pub mod roots;
pub mod run;
pub mod runner;
pub mod sample;
pub mod scope;
pub mod secret;
pub mod seen;
pub mod server_keys;
pub mod session;
pub mod shell;
pub mod signature;
pub mod taint;
pub mod task;
pub mod testlog;
pub mod time;
pub mod token;
pub mod tool;
pub mod toolchain;
pub mod unified;
pub mod wanted;
pub mod work;
pub mod written;

pub use canonical::Digest;
pub use ids::{
    CallId, CardId, EventId, ExecutionId, HostId, InstallationId, KeyId, MessageId, Nonce, SessionId, TokenId,
    WorkItemId,
};
pub use run::{AgentId, RunKey};
pub use scope::Scope;
pub use taint::{Taint, Tainted};
pub use time::{Clock, Timestamp};

/// Random bytes from outside, so that tests can replay a run byte for byte.
pub trait Random: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}
