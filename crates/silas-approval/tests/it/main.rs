//! The engine against a real store: what is spent, how often, and what nobody gets past.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod in_force;
mod mutations;
mod rehearsing;
mod roads;
mod spending;
mod world;
