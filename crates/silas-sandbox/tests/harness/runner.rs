//! The harness of tests that fork: lists, selects, runs each case in a process of its own, counts. Speaks as much of
//! libtest's language as `cargo test` and nextest use (`--list --format terse`, `NAME --exact --nocapture`, a filter).
//!
//! It knows nothing of what a case does. Cells must be started from a process with one thread, so there are none here.

use super::identity::Identity;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a case that did not panic showed.
pub(crate) enum Shown {
    /// As it should be, and the control did what the case could not.
    Held,
    /// As it should be, but this system does not allow the control, for this reason.
    #[allow(dead_code, reason = "not every suite has controls")]
    NoControl(String),
    /// This system lacks something that the case needs.
    #[allow(dead_code, reason = "not every suite skips")]
    Skipped(String),
}

const CODE_HELD: i32 = 0;
const CODE_NO_CONTROL: i32 = 76;
const CODE_SKIPPED: i32 = 77;
const CODE_FAILED: i32 = 101;
/// A case that hangs is ended by SIGALRM and counts as failed. Long, because a machine may have a lot else to do: cases wait
/// for what has to happen, and this is their only clock.
const CASE_SECS_MAX: u32 = 600;

/// Runs what the command line selects and answers the exit code. `ground` is made before the identity is assumed and
/// goes after the case's process has; `remark` is printed beside a case's name.
pub(crate) fn run<F: Copy, G>(
    groups: &[(&str, &[(&'static str, F)])],
    ground: impl Fn(Identity) -> G,
    play: impl Fn(F, &G) -> Shown,
    remark: impl Fn(&str) -> String,
) -> i32 {
    let wanted = Wanted::from_arguments();
    let mut lanes = Vec::new();
    for identity in Identity::all() {
        let mut chosen = Vec::new();
        for (group, cases) in groups {
            for (case, body) in *cases {
                let name = format!("{}::{group}::{case}", identity.word());
                if wanted.has(&name) {
                    chosen.push((name, remark(&format!("{group}::{case}")), *body));
                }
            }
        }
        lanes.push(Lane { identity, waiting: chosen.into(), running: None });
    }
    if wanted.is_list {
        lanes.iter().flat_map(|lane| &lane.waiting).for_each(|(name, ..)| println!("{name}: test"));
        return 0;
    }

    println!("\nrunning {} cases", lanes.iter().map(|lane| lane.waiting.len()).sum::<usize>());
    let (mut n_passed, mut n_without_control, mut n_skipped, mut n_failed) = (0, 0, 0, 0);
    loop {
        lanes.iter_mut().for_each(|lane| lane.go_on(&ground, &play));
        if lanes.iter().all(|lane| lane.running.is_none()) {
            break;
        }
        let (pid, code) = wait_for(-1);
        let Some(Running { name, remark, .. }) = lanes.iter_mut().find_map(|lane| lane.ended(pid)) else { continue };
        match code {
            CODE_HELD => {
                n_passed += 1;
                println!("test {name} ... ok{remark}");
            }
            // The case has said so itself, with its reason.
            CODE_NO_CONTROL => n_without_control += 1,
            CODE_SKIPPED => n_skipped += 1,
            code => {
                n_failed += 1;
                println!("test {name} ... FAILED ({code}){remark}");
            }
        }
    }
    println!(
        "\n{n_passed} passed, {n_without_control} passed without their control, {n_skipped} skipped, {n_failed} failed\n"
    );
    i32::from(n_failed > 0)
}

/// The cases of one identity, one after the other: what is counted for a user is counted for all processes of theirs.
/// The identities go on side by side.
struct Lane<F, G> {
    identity: Identity,
    waiting: VecDeque<(String, String, F)>,
    running: Option<Running<G>>,
}

struct Running<G> {
    pid: i32,
    name: String,
    remark: String,
    _ground: G,
}

impl<F: Copy, G> Lane<F, G> {
    /// Starts the next case, unless one is running.
    fn go_on(&mut self, ground: impl Fn(Identity) -> G, play: impl Fn(F, &G) -> Shown) {
        if self.running.is_some() {
            return;
        }
        let Some((name, remark, body)) = self.waiting.pop_front() else { return };
        let ground = ground(self.identity);
        let pid = attempt(self.identity, &ground, &name, |ground| play(body, ground));
        self.running = Some(Running { pid, name, remark, _ground: ground });
    }

    fn ended(&mut self, pid: i32) -> Option<Running<G>> {
        self.running.take_if(|running| running.pid == pid)
    }
}

/// Which cases the command line means.
struct Wanted {
    is_list: bool,
    is_ignored: bool,
    is_exact: bool,
    filters: Vec<String>,
    skips: Vec<String>,
}

impl Wanted {
    fn from_arguments() -> Wanted {
        let mut wanted =
            Wanted { is_list: false, is_ignored: false, is_exact: false, filters: Vec::new(), skips: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => wanted.is_list = true,
                "--ignored" => wanted.is_ignored = true,
                "--exact" => wanted.is_exact = true,
                "--skip" => wanted.skips.extend(arguments.next()),
                "--format" | "--color" | "--test-threads" | "-Z" | "--logfile" => drop(arguments.next()),
                flag if flag.starts_with('-') => {}
                filter => wanted.filters.push(filter.to_owned()),
            }
        }
        wanted
    }

    fn has(&self, name: &str) -> bool {
        let fits = |pattern: &String| if self.is_exact { name == pattern } else { name.contains(pattern.as_str()) };
        let is_wanted = self.filters.is_empty() || self.filters.iter().any(fits);
        // None of our cases is ever ignored.
        is_wanted && !self.is_ignored && !self.skips.iter().any(fits)
    }
}

/// Begins one case in a process of its own, which leads its own group, and answers its id.
fn attempt<G>(identity: Identity, ground: &G, name: &str, body: impl FnOnce(&G) -> Shown) -> i32 {
    // SAFETY: this process has one thread.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: only numbers are passed; all of it concerns this child alone.
        unsafe {
            libc::setpgid(0, 0);
            libc::alarm(CASE_SECS_MAX);
        }
        let code = catch_unwind(AssertUnwindSafe(|| {
            identity.assume();
            body(ground)
        }));
        let code = match code {
            Ok(Shown::Held) => CODE_HELD,
            Ok(Shown::NoControl(reason)) => {
                println!("test {name} ... ok, CONTROL SKIPPED: {reason}");
                CODE_NO_CONTROL
            }
            Ok(Shown::Skipped(reason)) => {
                println!("test {name} ... SKIPPED: {reason}");
                CODE_SKIPPED
            }
            Err(_) => CODE_FAILED,
        };
        // Nothing is dropped here: the ground is the parent's to remove.
        std::process::exit(code);
    }
    pid
}

/// Which child ended (any, for -1), and its exit code or minus the signal that ended it.
pub(crate) fn wait_for(pid: i32) -> (i32, i32) {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert!(waited > 0, "waitpid: {}", std::io::Error::last_os_error());
    (waited, if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) })
}
