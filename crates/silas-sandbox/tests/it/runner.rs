//! The harness that all forking tests share, as this suite uses it: cases without a ground, some of them once for each way
//! to make a private copy.

#[path = "../harness/identity.rs"]
mod identity;
#[path = "../harness/runner.rs"]
mod shared;

use silas_sandbox::Copies;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why the case of this process could not show all that it is about.
static SKIPPED: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Says that this system lacks something that the case needs. A case has a process of its own, so this is about one.
pub(crate) fn skip(why: &str) {
    SKIPPED.get_or_init(|| why.to_owned());
}

/// The exit code of a child, or minus the signal that ended it.
pub(crate) fn wait(pid: i32) -> i32 {
    shared::wait_for(pid).1
}

pub(crate) use identity::ordinary_id;

/// For a process that was forked for it.
pub(crate) fn become_ordinary() {
    identity::Identity::Ordinary.assume();
}

pub(crate) type Case = (&'static str, fn());

/// Everything about files, and about what judges them, holds for both ways to make a copy.
const BOTH_WAYS: [&str; 14] = [
    "whole_path",
    "files",
    "fixed",
    "conflicts",
    "merging",
    "editors",
    "crashes",
    "directories",
    "landing",
    "ignored",
    "limits",
    "cheats::python",
    "cheats::node",
    "cheats::commands",
];

/// A long campaign may take an hour before it counts as hanging.
const CASE_SECS_MAX_SOAK: u32 = 3600;

/// How the case that runs here makes its copies; each case has a process of its own.
static IS_WHOLE: AtomicBool = AtomicBool::new(false);

pub(crate) fn copies() -> Copies {
    if IS_WHOLE.load(Ordering::Relaxed) { Copies::Whole } else { Copies::Auto }
}

/// Whether the long campaigns are wanted.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("SILAS_SOAK").is_some()
}

pub(crate) fn run(groups: &[(&str, &[Case])]) -> i32 {
    let cases_of = |cases: &[Case], copies: Copies| cases.iter().map(|(name, body)| (*name, (*body, copies))).collect();
    let mut both: Vec<(String, Vec<_>)> = Vec::new();
    for (group, cases) in groups {
        both.push(((*group).to_owned(), cases_of(cases, Copies::Auto)));
        if BOTH_WAYS.contains(group) {
            both.push((format!("whole::{group}"), cases_of(cases, Copies::Whole)));
        }
    }
    let groups: Vec<(&str, &[_])> = both.iter().map(|(name, cases)| (name.as_str(), cases.as_slice())).collect();
    let play = |(body, copies): (fn(), Copies), (): &()| {
        IS_WHOLE.store(copies == Copies::Whole, Ordering::Relaxed);
        if is_soak() {
            // SAFETY: only a number is passed; it takes the place of the shorter alarm.
            unsafe { libc::alarm(CASE_SECS_MAX_SOAK) };
        }
        body();
        SKIPPED.get().map_or(shared::Shown::Held, |why| shared::Shown::Skipped(why.clone()))
    };
    shared::run(&groups, |_| (), play, |_| String::new())
}
