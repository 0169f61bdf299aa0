//! What text must pass before a person sees it.
//!
//! So far this room has one gate, the scrubber: characters that would make a text look like something else are made
//! visible. It decides nothing about meaning. Policy and quality gates, with their providers, enter here later; there is
//! no runner for them yet, and plans that name gates are refused when they are read.

pub mod scrub;
