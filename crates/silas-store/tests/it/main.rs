//! The store on real files in a temporary directory: what is kept, what is undone, what is refused, what is found out.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod audit;
mod backend;
mod crash;
mod dialect;
mod forgetting;
mod helping;
mod ledger;
mod log_length;
mod many;
mod opening;
mod query_plans;
mod queue;
mod queue_crash;
mod queue_model;
mod repositories;
mod retention;
mod saga;
mod snapshot;
mod spending;
mod tampering;
mod tasks;
mod two_files;
mod upgrade;
mod world;
mod writing;
