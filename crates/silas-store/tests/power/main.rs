//! The store after a loss of power, a kill, and on disks that fail: what was acknowledged is there, the rest is whole or
//! absent, and nobody has to repair anything by hand.
//!
//! `SILAS_SEED` chooses another campaign, `SILAS_SOAK` a long one. What a campaign finds is printed with what it takes to
//! see it again.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod campaign;
mod child;
mod clock;
mod corruption;
mod failing_disk;
mod full_disk;
mod kills;
mod queues;
mod records;
mod sagas;
mod survey;
#[path = "../it/words.rs"]
mod words;
mod workload;
mod world;
