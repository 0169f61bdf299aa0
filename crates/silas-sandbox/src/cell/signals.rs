//! Which programs of a cell reached for others, as told by the calls that wait for the supervisor.
//!
//! A check that speaks for itself is believed because of who prints. A program that it started could print in its place and end
//! it before it says anything else. So it is noted whether a program sent a signal to one from which it descends, or to one that
//! somebody else started; what it does to those that it started itself is its own business. Nothing is refused here but the call
//! that names its target by a descriptor, which could be exchanged meanwhile; programs then take the older one.

use super::sys::Call;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Command lines that are kept, and as much of each as tells it from others.
const ELDERS_MAX: usize = 256;
const LINE_BYTES_MAX: usize = 4096;

/// What the programs of a cell did to each other.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Signalled {
    /// A program reached for one from which it descends, or for somebody that could not be told.
    pub above: bool,
    /// Command lines of those that somebody else had started than whoever reached for them.
    pub elders: BTreeSet<String>,
    /// Programs that outlived the one which had started them.
    pub left_behind: u32,
}

/// Whom a call is about, by the numbers that the caller knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Process(i32),
    Thread(i32),
    Group(i32),
    All,
    /// It stands in memory, where it could be exchanged.
    Hidden,
}

/// One process as seen from outside, with the numbers that it has inside.
#[derive(Clone, Debug)]
struct Process {
    parent: i32,
    inside: i32,
    group: i32,
    started: u64,
}

/// Notes what a call is about to do. `first` is the cell's own first process.
pub(super) fn note(call: &Call, first: i32, signalled: &mut Signalled) {
    let Some(target) = target(call) else { return };
    let all = processes(first);
    let caller = leader(call.pid).and_then(|pid| Some((pid, all.get(&pid)?)));
    let Some((pid, caller)) = caller else {
        // Who cannot be read may be anybody.
        signalled.above = true;
        return;
    };
    let is_meant = |pid: i32, process: &Process| match target {
        Target::Process(inside) => process.inside == inside,
        Target::Thread(inside) => process.inside == inside || has_thread(pid, inside),
        Target::Group(0) => process.group == caller.group,
        Target::Group(group) => process.group == group,
        Target::All => true,
        Target::Hidden => false,
    };
    signalled.above |= target == Target::Hidden;
    let mut above = BTreeSet::new();
    let mut at = caller.parent;
    while let Some(process) = all.get(&at).filter(|_| above.insert(at)) {
        at = process.parent;
    }
    // The first one belongs to the sandbox, and no signal from inside reaches it.
    for (other, process) in all.iter().filter(|(other, _)| **other != pid && **other != first) {
        if is_own(process, (pid, caller), first, &all) && !above.contains(other) || !is_meant(*other, process) {
            continue;
        }
        signalled.above |= above.contains(other) || signalled.elders.len() >= ELDERS_MAX;
        signalled.elders.insert(line(*other));
    }
}

/// Whether the caller started it, or one of those that it started: from it up to the caller, or to the sandbox where the caller's
/// own are left behind, nobody was there before the caller. To be younger is not enough: of two programs that a pipe joins,
/// either may be the first to get going.
fn is_own(process: &Process, (pid, caller): (i32, &Process), first: i32, all: &BTreeMap<i32, Process>) -> bool {
    let is_older = |process: &Process| (process.started, process.inside) < (caller.started, caller.inside);
    let mut at = process;
    for _ in 0..=all.len() {
        match all.get(&at.parent) {
            _ if is_older(at) => return false,
            Some(parent) if at.parent != pid && at.parent != first => at = parent,
            _ => return true,
        }
    }
    false
}

/// `None` if it asks only, or is about the caller itself.
fn target(call: &Call) -> Option<Target> {
    let number = |n: usize| call.args[n] as i32;
    let of_kill = |pid: i32| match pid {
        -1 => Target::All,
        pid if pid <= 0 => Target::Group(-pid),
        pid => Target::Process(pid),
    };
    let (target, is_real) = match call.number {
        libc::SYS_kill => (of_kill(number(0)), number(1) != 0),
        libc::SYS_tkill => (Target::Thread(number(0)), number(1) != 0),
        libc::SYS_tgkill => (Target::Process(number(0)), number(2) != 0),
        libc::SYS_rt_sigqueueinfo => (Target::Process(number(0)), number(1) != 0),
        libc::SYS_rt_tgsigqueueinfo => (Target::Process(number(0)), number(2) != 0),
        // Without new limits it only asks for the old.
        libc::SYS_prlimit64 => (Target::Thread(number(0)), call.args[2] != 0),
        libc::SYS_fcntl if number(1) == libc::F_SETOWN => (of_kill(number(2)), number(2) != 0),
        libc::SYS_fcntl | libc::SYS_ioctl => (Target::Hidden, true),
        _ => return None,
    };
    is_real.then_some(target)
}

/// Everybody in the cell, by the number outside.
fn processes(first: i32) -> BTreeMap<i32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let all: BTreeMap<i32, Process> = pids.filter_map(|pid| Some((pid, read(pid)?))).collect();
    let is_inside = |pid: i32| {
        let up = std::iter::successors(Some(pid), |pid| all.get(pid).map(|process| process.parent));
        up.take(all.len() + 1).any(|pid| pid == first)
    };
    all.iter().filter(|(pid, _)| is_inside(**pid)).map(|(pid, process)| (*pid, process.clone())).collect()
}

fn read(pid: i32) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let last = |name: &str| field(&status, name)?.split_whitespace().last()?.parse::<i32>().ok();
    let started = super::sys::started(pid)?;
    Some(Process { parent: last("PPid:")?, inside: last("NStgid:")?, group: last("NSpgid:")?, started })
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name))
}

/// The process of a thread.
fn leader(thread: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    field(&status, "Tgid:")?.trim().parse().ok()
}

fn has_thread(pid: i32, inside: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok()).any(|status| {
        let number = field(&status, "NSpid:").and_then(|numbers| numbers.split_whitespace().last());
        number.and_then(|number| number.parse().ok()) == Some(inside)
    })
}

fn line(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    as_in_every_run(&String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX)]))
}

/// A command line without what is another one in each run: names of temporary files, and numbers.
fn as_in_every_run(line: &str) -> String {
    let words = line.split('\0').filter(|word| !word.is_empty());
    let words = words.map(|word| match word.split_once("/tmp/") {
        Some((before, _)) => format!("{before}/tmp/"),
        None => word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
