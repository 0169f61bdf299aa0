//! Each layer is needed: what it alone stops succeeds as soon as it is left out, and not before.
//!
//! Where several layers stop the same thing, they are left out together, and the attempt must still fail when any one of
//! them is put back: so each of them stops it. The table is printed with `--nocapture`.
//!
//! A cell is started from a process with one thread, which the usual harness is not. So the test starts itself again,
//! alone, and forks for each attempt from there.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod attempts;
#[path = "../../tests/escape/ground.rs"]
#[allow(dead_code, reason = "the escape suite uses the rest")]
mod ground;
#[path = "../../tests/harness/identity.rs"]
mod identity;

use super::Layer;
use super::omission::omit;
use attempts::{ATTEMPTS, Attempt};
use ground::Ground;
use identity::Identity;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

/// What an attempt came to.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    /// It got what it wanted.
    Out,
    Held,
    /// This system, or this user, cannot show it, for this reason.
    NotHere(String),
}

const CODE_OUT: i32 = 10;
const CODE_HELD: i32 = 11;
const CODE_NOT_HERE: i32 = 12;
/// An attempt that hangs is ended by SIGALRM and counts as failed.
const ATTEMPT_SECS_MAX: u32 = 120;

const ALL: [Layer; 22] = [
    Layer::User,
    Layer::Root,
    Layer::Processes,
    Layer::Network,
    Layer::Ipc,
    Layer::HostName,
    Layer::Group,
    Layer::GroupView,
    Layer::ReadOnly,
    Layer::Apart,
    Layer::NoSetId,
    Layer::Descriptors,
    Layer::Inspection,
    Layer::Session,
    Layer::BoundingSet,
    Layer::Capabilities,
    Layer::NoNewPrivileges,
    Layer::Environment,
    Layer::ResourceLimits,
    Layer::Landlock,
    Layer::Seccomp,
    Layer::Lifeline,
];

#[test]
fn every_layer_has_an_attempt_that_needs_it_gone() {
    for layer in ALL {
        assert!(ATTEMPTS.iter().any(|attempt| attempt.stopped_by.contains(&layer)), "{layer:?}");
        assert_eq!(ALL[layer as usize], layer, "the list is complete and in order");
    }
    // Alone, unless something else always stops the same thing; these few are only ever a second or third wall.
    let with_others = [
        Layer::ReadOnly,
        Layer::NoSetId,
        Layer::Inspection,
        Layer::Session,
        Layer::BoundingSet,
        Layer::NoNewPrivileges,
    ];
    for layer in ALL.iter().filter(|layer| !with_others.contains(layer)) {
        assert!(ATTEMPTS.iter().any(|attempt| attempt.stopped_by == [*layer]), "{layer:?} alone");
    }
}

#[test]
fn each_layer_stops_what_nothing_else_does() {
    const NAME: &str = "layers::tests::each_layer_stops_what_nothing_else_does";
    if !std::env::args().any(|argument| argument == "--exact") {
        let again =
            Command::new(std::env::current_exe().unwrap()).args(["--exact", NAME, "--nocapture"]).output().unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        println!("{said}{}", String::from_utf8_lossy(&again.stderr));
        assert!(again.status.success() && said.contains("1 passed"), "see above");
        return;
    }
    let mut wrong = Vec::new();
    for identity in Identity::all() {
        for attempt in ATTEMPTS {
            let (line, is_right) = judge(identity, attempt);
            println!("{line}");
            if !is_right {
                wrong.push(line);
            }
        }
    }
    crate::cell::sweep();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// One line of the table, and whether it is as it should be.
fn judge(identity: Identity, attempt: &Attempt) -> (String, bool) {
    let say = |what: &str| format!("{:4} {:58} {:?}: {what}", identity.word(), attempt.what, attempt.stopped_by);
    match play(identity, attempt, &[]) {
        Ok(Came::Held) => {}
        Ok(Came::NotHere(_)) => return (say("SKIPPED: not possible here (see above)"), true),
        other => return (say(&format!("with all layers it must fail, and was {other:?}")), false),
    }
    match play(identity, attempt, attempt.stopped_by) {
        Ok(Came::Out) => {}
        Ok(Came::NotHere(_)) => return (say("fails; SKIPPED without: not possible here (see above)"), true),
        other => return (say(&format!("without these it must succeed, and was {other:?}")), false),
    }
    for back in attempt.stopped_by.iter().filter(|_| attempt.stopped_by.len() > 1) {
        let rest: Vec<Layer> = attempt.stopped_by.iter().copied().filter(|layer| layer != back).collect();
        match play(identity, attempt, &rest) {
            Ok(Came::Held) => {}
            other => return (say(&format!("with {back:?} back it must fail, and was {other:?}")), false),
        }
    }
    (say("fails; succeeds without"), true)
}

/// One attempt in a process of its own, with these layers left out there and nowhere else.
fn play(identity: Identity, attempt: &Attempt, omitted: &[Layer]) -> Result<Came, i32> {
    let ground = Ground::new(identity);
    // SAFETY: the only other thread of this process waits for this one and holds nothing that the child needs.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: only numbers are passed.
        unsafe { libc::alarm(ATTEMPT_SECS_MAX) };
        let came = catch_unwind(AssertUnwindSafe(|| {
            (attempt.prepare)(&ground);
            identity.assume();
            omit(omitted);
            (attempt.run)(&ground)
        }));
        let code = match came {
            Ok(Came::Out) => CODE_OUT,
            Ok(Came::Held) => CODE_HELD,
            Ok(Came::NotHere(why)) => {
                println!("     {}: {why}", attempt.what);
                CODE_NOT_HERE
            }
            Err(_) => 101,
        };
        // SAFETY: ends this copy of the harness without running its exit handlers; the parent removes the ground.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    match libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)) {
        Some(CODE_OUT) => Ok(Came::Out),
        Some(CODE_HELD) => Ok(Came::Held),
        Some(CODE_NOT_HERE) => Ok(Came::NotHere(String::new())),
        _ => Err(status),
    }
}
