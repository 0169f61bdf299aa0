//! The vocabulary from outside: what may be read from the wire and what may not.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod approvals_page;
mod event_names;
mod wire;
