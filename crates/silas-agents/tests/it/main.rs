//! Models at the other end of a connection, good and bad.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod misbehaving;
mod providers;
mod published;
mod world;
