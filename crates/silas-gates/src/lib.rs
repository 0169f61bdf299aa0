//! What text must pass before a person sees it, and before text from outside enters anything that a model may read.
//!
//! [`runner`] is asked wherever something comes in or goes out; [`talk`] and [`calls`] are the gates that it asks. [`scrub`]
//! makes characters visible that would make a text look like something else; it is for people, and removes nothing.
//! [`injection`] takes orders out of text from outside; it is for what is kept and rendered, and decides nothing about what
//! such text may do. Gates that a plan or the configuration names enter here later; plans that name gates are refused when
//! they are read.

pub mod calls;
pub mod injection;
pub mod runner;
pub mod scrub;
pub mod talk;
