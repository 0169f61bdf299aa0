//! The harness that all forking tests share, as this suite uses it: a ground for each case, and beside its name what
//! stops it.

#[path = "../harness/runner.rs"]
mod shared;

use crate::ground::Ground;
use crate::{identity, table};
pub(crate) use shared::Shown;

pub(crate) type Case = (&'static str, fn(&Ground) -> Shown);

pub(crate) fn run(groups: &[(&str, &[Case])]) -> i32 {
    table::check(groups);
    shared::run(groups, Ground::new, |body, ground| body(ground), table::remark)
}

/// `needs_python!()` ends a case visibly where there is none.
#[macro_export]
macro_rules! needs_python {
    () => {
        if !std::path::Path::new($crate::ground::PYTHON).exists() {
            return $crate::runner::Shown::Skipped(format!("there is no {}", $crate::ground::PYTHON));
        }
    };
}

/// The same for any other program of the system.
#[macro_export]
macro_rules! needs {
    ($program:literal) => {
        if !std::path::Path::new($program).exists() {
            return $crate::runner::Shown::Skipped(concat!("there is no ", $program).to_owned());
        }
    };
}

/// Takes the case into a network of its own, with servers and names to its liking.
#[macro_export]
macro_rules! enter_the_internet {
    ($ground:expr) => {
        if let Err(reason) = $crate::internet::enter($ground.identity) {
            return $crate::runner::Shown::Skipped(reason);
        }
    };
}
