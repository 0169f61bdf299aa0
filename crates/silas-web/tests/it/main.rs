//! What the doors speak, compared with what is written about it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod document;
mod page;
