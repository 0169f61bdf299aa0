//! The harness: lists, selects, forks for each case, counts. Speaks as much of libtest's language as `cargo test` and
//! nextest use (`--list --format terse`, `NAME --exact --nocapture`, a filter).

use crate::ground::{Ground, Identity};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a case that did not panic showed.
pub(crate) enum Shown {
    Held,
    /// This system lacks something that the case needs.
    Skipped(String),
}

pub(crate) type Case = (&'static str, fn(&Ground) -> Shown);

const CODE_HELD: i32 = 0;
const CODE_SKIPPED: i32 = 77;
const CODE_FAILED: i32 = 101;
/// A case that hangs is ended by SIGALRM and counts as failed.
const CASE_SECS_MAX: u32 = 120;

pub(crate) fn run(groups: &[(&str, &[Case])]) -> i32 {
    let mut list_only = false;
    let mut ignored_only = false;
    let mut exact = false;
    let mut filters = Vec::new();
    let mut skips = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => list_only = true,
            "--ignored" => ignored_only = true,
            "--exact" => exact = true,
            "--skip" => skips.extend(arguments.next()),
            "--format" | "--color" | "--test-threads" | "-Z" | "--logfile" => drop(arguments.next()),
            flag if flag.starts_with('-') => {}
            filter => filters.push(filter.to_owned()),
        }
    }
    let is_meant = |name: &str, pattern: &String| if exact { name == pattern } else { name.contains(pattern) };
    let mut chosen = Vec::new();
    for identity in Identity::all() {
        for (group, cases) in groups {
            for case in *cases {
                let name = format!("{}::{group}::{}", identity.word(), case.0);
                let wanted = filters.is_empty() || filters.iter().any(|filter| is_meant(&name, filter));
                if wanted && !skips.iter().any(|skip| is_meant(&name, skip)) && !ignored_only {
                    chosen.push((name, identity, case.1));
                }
            }
        }
    }
    if list_only {
        chosen.iter().for_each(|(name, ..)| println!("{name}: test"));
        return 0;
    }

    println!("\nrunning {} attempts", chosen.len());
    let (mut n_passed, mut n_failed, mut n_skipped) = (0, 0, 0);
    for (name, identity, case) in chosen {
        match attempt(&name, identity, case) {
            CODE_HELD => {
                n_passed += 1;
                println!("test {name} ... ok");
            }
            CODE_SKIPPED => n_skipped += 1,
            code => {
                n_failed += 1;
                println!("test {name} ... FAILED ({code})");
            }
        }
    }
    println!("\n{n_passed} passed, {n_failed} failed, {n_skipped} skipped\n");
    i32::from(n_failed > 0)
}

/// Runs one case in a process of its own and answers its code.
fn attempt(name: &str, identity: Identity, case: fn(&Ground) -> Shown) -> i32 {
    let ground = Ground::new(identity);
    // SAFETY: this process has one thread.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: only a number is passed.
        unsafe { libc::alarm(CASE_SECS_MAX) };
        let code = catch_unwind(AssertUnwindSafe(|| {
            identity.assume();
            case(&ground)
        }));
        let code = match code {
            Ok(Shown::Held) => CODE_HELD,
            Ok(Shown::Skipped(reason)) => {
                println!("test {name} ... SKIPPED: {reason}");
                CODE_SKIPPED
            }
            Err(_) => CODE_FAILED,
        };
        // The parent removes the ground.
        std::mem::forget(ground);
        std::process::exit(code);
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}
