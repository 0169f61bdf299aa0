//! The store on real files in a temporary directory: what is kept, what is undone, what is refused, what is found out.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crash;
mod ledger;
mod opening;
mod query_plans;
mod queue;
mod queue_crash;
mod queue_model;
mod repositories;
mod saga;
mod spending;
mod tampering;
mod tasks;
mod two_files;
mod world;
mod writing;
