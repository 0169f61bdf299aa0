//! The harness: lists, selects, forks for each case, counts. Understands what `cargo test` and nextest say to it.

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) type Case = (&'static str, fn());

/// A case that hangs is ended by SIGALRM and counts as failed.
const CASE_SECS_MAX: u32 = 180;
/// Any user without rights serves.
const ORDINARY_UID: u32 = 65_534;

#[derive(Clone, Copy)]
enum Identity {
    Root,
    Ordinary,
}

pub(crate) fn run(groups: &[(&str, &[Case])]) -> i32 {
    let (mut is_list, mut is_ignored, mut is_exact) = (false, false, false);
    let (mut filters, mut skips) = (Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => is_list = true,
            "--ignored" => is_ignored = true,
            "--exact" => is_exact = true,
            "--skip" => skips.extend(arguments.next()),
            "--format" | "--color" | "--test-threads" | "-Z" | "--logfile" => drop(arguments.next()),
            flag if flag.starts_with('-') => {}
            filter => filters.push(filter.to_owned()),
        }
    }
    let fits = |name: &str, pattern: &String| if is_exact { name == pattern } else { name.contains(pattern) };
    let mut chosen = Vec::new();
    for identity in identities() {
        for (group, cases) in groups {
            for (case, body) in *cases {
                let name = format!("{}::{group}::{case}", word(identity));
                let is_wanted = filters.is_empty() || filters.iter().any(|filter| fits(&name, filter));
                if is_wanted && !is_ignored && !skips.iter().any(|skip| fits(&name, skip)) {
                    chosen.push((name, identity, *body));
                }
            }
        }
    }
    if is_list {
        chosen.iter().for_each(|(name, ..)| println!("{name}: test"));
        return 0;
    }
    println!("\nrunning {} tests", chosen.len());
    let (mut n_passed, mut n_failed) = (0, 0);
    for (name, identity, body) in chosen {
        let status = attempt(identity, body);
        if status == 0 {
            n_passed += 1;
            println!("test {name} ... ok");
        } else {
            n_failed += 1;
            println!("test {name} ... FAILED (status {status})");
        }
    }
    println!("\ntest result: {n_passed} passed, {n_failed} failed\n");
    i32::from(n_failed > 0)
}

fn identities() -> Vec<Identity> {
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 { vec![Identity::Root, Identity::Ordinary] } else { vec![Identity::Ordinary] }
}

fn word(identity: Identity) -> &'static str {
    match identity {
        Identity::Root => "root",
        Identity::Ordinary => "user",
    }
}

/// In a process of its own, which is also the leader of its own group.
fn attempt(identity: Identity, body: fn()) -> i32 {
    // SAFETY: this process has one thread.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: only numbers are passed; all of it concerns this child alone.
        unsafe {
            libc::setpgid(0, 0);
            libc::alarm(CASE_SECS_MAX);
            if matches!(identity, Identity::Ordinary) && libc::geteuid() == 0 {
                assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
                assert_eq!(libc::setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID), 0);
                assert_eq!(libc::setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID), 0);
                // Changing users makes a process undumpable, which no process of an ordinary user starts as.
                assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
            }
        }
        let code = catch_unwind(AssertUnwindSafe(body)).map_or(101, |()| 0);
        std::process::exit(code);
    }
    wait(pid)
}

/// The exit code of a child, or minus the signal that ended it.
pub(crate) fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}
