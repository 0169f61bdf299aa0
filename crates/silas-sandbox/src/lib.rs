//! The hands of Silas: a launcher that starts nothing without evidence, workshops that work in a private copy, cells
//! that isolate every command, and an apply that is all or nothing across crashes.
//!
//! Three kinds of process meet here. The *front* serves people and is confined ([`confine`]); it holds a [`Launcher`]
//! and asks. The *launcher* was forked from it before it had anything to lose; it keeps its own memory of what was spent,
//! and forks a child for each request. A *workshop* is such a child, for exactly one approved execution: first it verifies
//! the approval again, with the same function as the trust kernel; then it copies the directory, runs checks and steps in
//! cells ([`cell`]), and puts the result in place only if it was proved, or if the owner decided about this very result.
//!
//! A granted host, secret or port leads out of a cell through a *broker*, one process for one run, which decides where
//! each connection may go and reports it.
//!
//! Deliberately absent: models, databases, threads. Nothing here decides what is worth doing.

// The ground of the escape suite names this crate as every test of it does.
#[cfg(test)]
extern crate self as silas_sandbox;

mod apart;
mod apply;
mod attributes;
mod bench;
mod beside;
mod broker;
mod callers;
pub mod cell;
mod changes;
mod clock;
mod commits;
pub mod confine;
mod counted;
mod descriptors;
mod diff;
mod dir;
mod door;
mod durable;
mod errand;
mod error;
mod extent;
mod fd_passing;
mod files;
mod fitting;
mod fixed;
mod flood;
mod forget;
mod frame;
mod ground;
mod hand;
pub mod handed_over;
mod helpers;
mod ignoring;
mod journal;
mod kept;
mod key_use;
mod landing;
mod later_edits;
mod launcher;
mod layers;
mod left_out;
mod lifeline;
mod look;
mod memory;
mod merges;
pub mod mounted;
mod movable;
mod moves;
mod observe;
mod originals;
mod overlay;
mod pairing;
mod passkeys;
mod permit;
mod plug;
mod private_copy;
pub mod probes;
mod process;
mod protocol;
mod recover;
mod relay;
mod removal;
mod renames;
mod rest;
pub mod restored;
mod revoke;
mod sample;
mod secret_client;
mod serve;
mod stage;
mod step;
mod syscall;
mod take_back;
mod terminal;
mod tester;
mod toolchains;
mod trade;
mod tree;
mod two_steps;
mod undo;
mod view;
mod waiting;
mod workshop;
mod workspace;

pub use apart::{apart, hide_memory};
pub use clock::SystemClock;
pub use descriptors::raise_descriptor_limit;
pub use error::Error;
pub use extent::Bounds;
pub use fixed::{FixedBy, FixedFile};
pub use ground::{CellLimits, Copies, Seal, Sealed};
pub use hand::Hand;
pub use launcher::Launcher;
pub use look::{History, Look, Looked};
pub use plug::{end_when_nobody_reads, pull_the_plug};
pub use protocol::{
    Applied, Case, ChangedDirectory, Changes, Collided, Collision, Copied, Finished, InPart, KeptText, LaidOut,
    LeftOut, Merged, Recovered, Undone, Waits,
};
pub use rest::REST_MAX;
pub use secret_client::secret_client;
pub use serve::serve;
pub use terminal::{terminal_arm, terminal_pairing_code, terminal_sign};
pub use toolchains::ToolPlaces;
pub use two_steps::is_expected_at as replaces_in_two_steps;
pub use workshop::{Canceller, Workshop};
