//! Recorded programs, and what a loss of power leaves of their files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod program;
mod recorder;
mod survival;
mod unseen;
