//! What text must pass before a person sees it, and before text from outside enters anything that a model may read.
//!
//! [`scrub`] makes characters visible that would make a text look like something else; it is for people, and removes
//! nothing. [`injection`] takes orders out of text from outside; it is for what is kept and rendered, and decides nothing
//! about what such text may do. Policy and quality gates, with their providers, enter here later; there is no runner for
//! them yet, and plans that name gates are refused when they are read.

pub mod injection;
pub mod scrub;
