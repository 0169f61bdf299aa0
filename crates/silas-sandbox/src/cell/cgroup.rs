//! Limits for everything in a cell together: a control group of its own, made for one run and removed after it.
//!
//! There are two versions of control groups, a system has one of them for memory and processes, and a user may be
//! allowed neither; [`LimitsInForce`] says what was in force. Groups lie below the caller's own group or beside it, so
//! whatever limits Silas itself still limits its cells. Nothing of this can be seen from inside.
//!
//! Not here: processor time, which stays a limit of each process, and the wall clock, which bounds it.

mod place;
mod settle;
#[cfg(test)]
mod tests;

use super::{Limits, sys};
use crate::cell::supervise::write_file;
use place::{Place, Version};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What holds a program to its limits of memory and processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitsInForce {
    Cgroup2,
    Cgroup1,
    /// No control group could be had. Resource limits bind each process; their number is still bound as a whole.
    PerProcess,
}

impl std::fmt::Display for LimitsInForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LimitsInForce::Cgroup2 => "memory is limited for all processes together (cgroup v2)",
            LimitsInForce::Cgroup1 => "memory is limited for all processes together (cgroup v1)",
            LimitsInForce::PerProcess => {
                "memory is limited for each process alone, because this user may not make control groups"
            }
        })
    }
}

/// Groups of ours are called `silas-<process>-<number>`, so that somebody else can tell whose they were.
const PREFIX: &str = "silas-";
/// A dead process may have left a group with our number; the next name is tried then.
const NAMES_TRIED: usize = 16;
/// The kernel empties a group a moment after its last process was waited for.
const REMOVALS_TRIED: u32 = 200;
const REMOVAL_PAUSE: Duration = Duration::from_millis(1);
/// The highest number that `pids.max` takes.
const PIDS_MAX: u64 = 4 << 20;

static N_MADE: AtomicU32 = AtomicU32::new(0);

/// Removed when it goes, which must be after everything in it is dead.
pub(super) struct Group {
    version: Version,
    /// The first has the files about memory, the last those about processes. They may be one.
    dirs: Vec<PathBuf>,
    way_in: WayIn,
    /// Becomes readable when memory runs out. Version 1 only: version 2 kills the whole group by itself.
    alarm: Option<OwnedFd>,
}

/// How a child gets into its group. Not by being moved: that makes the kernel wait, some 10 ms, until no processor can
/// still believe that the child is elsewhere.
enum WayIn {
    /// Version 2: it is born in this directory.
    Birth(OwnedFd),
    /// Version 1: it goes there itself, by writing to these files of ours.
    OwnFeet(Vec<OwnedFd>),
}

impl Group {
    /// A group for a child that is about to be cloned, if this user may make one.
    pub(super) fn make() -> Option<Group> {
        // What cannot be had is reported as such and not an error.
        Group::make_at(&Place::of_this_process()?).ok()
    }

    fn make_at(place: &Place) -> io::Result<Group> {
        let own = libc::pid_t::try_from(std::process::id()).map_err(io::Error::other)?;
        // With the time of its start, because numbers of processes are used again.
        let maker = format!("{PREFIX}{own}-{}", sys::started(own).ok_or(io::ErrorKind::NotFound)?);
        let name = (0..NAMES_TRIED)
            .map(|_| format!("{maker}-{}", N_MADE.fetch_add(1, Ordering::Relaxed)))
            .find(|name| place.dirs.iter().all(|dir| !dir.join(name).exists()))
            .ok_or(io::ErrorKind::AlreadyExists)?;
        let way_in = WayIn::OwnFeet(Vec::new());
        let mut group = Group { version: place.version, dirs: Vec::new(), way_in, alarm: None };
        for dir in &place.dirs {
            let dir = dir.join(&name);
            fs::create_dir(&dir)?;
            group.dirs.push(dir);
        }
        group.way_in = match place.version {
            Version::Two => WayIn::Birth(fs::File::open(group.memory())?.into()),
            Version::One => {
                let tasks = |dir: &PathBuf| fs::OpenOptions::new().write(true).open(dir.join("tasks"));
                WayIn::OwnFeet(group.dirs.iter().map(|dir| tasks(dir).map(OwnedFd::from)).collect::<io::Result<_>>()?)
            }
        };
        Ok(group)
    }

    pub(super) fn birthplace(&self) -> Option<&OwnedFd> {
        match &self.way_in {
            WayIn::Birth(place) => Some(place),
            WayIn::OwnFeet(_) => None,
        }
    }

    /// For the child, which calls [`enter`] with them.
    pub(super) fn take_doors(&mut self) -> Vec<OwnedFd> {
        match &mut self.way_in {
            WayIn::Birth(_) => Vec::new(),
            WayIn::OwnFeet(doors) => std::mem::take(doors),
        }
    }

    /// Before the child does anything of its own. Answers what is in force from then on.
    pub(super) fn enforce(&mut self, limits: &Limits) -> LimitsInForce {
        if self.limit(limits).is_err() {
            return LimitsInForce::PerProcess;
        }
        match self.version {
            Version::Two => LimitsInForce::Cgroup2,
            Version::One => {
                // Without it a group that is out of memory loses one process after another instead of all at once.
                self.alarm = alarm(self.memory()).ok();
                LimitsInForce::Cgroup1
            }
        }
    }

    fn limit(&self, limits: &Limits) -> io::Result<()> {
        let memory_bytes = limits.memory_bytes_max.to_string();
        // The init counts too.
        let processes = limits.processes_max.saturating_add(1).min(PIDS_MAX).to_string();
        // What is in swap would not count otherwise; systems without swap limits lack the file.
        let (memory, swap) = match self.version {
            Version::Two => ("memory.max", ("memory.swap.max", "0")),
            Version::One => ("memory.limit_in_bytes", ("memory.memsw.limit_in_bytes", memory_bytes.as_str())),
        };
        write(self.memory(), memory, &memory_bytes)?;
        write_if_there(self.memory(), swap.0, swap.1)?;
        if self.version == Version::Two {
            write_if_there(self.memory(), "memory.oom.group", "1")?;
        }
        write(self.processes(), "pids.max", &processes)
    }

    pub(super) fn alarm(&self) -> Option<BorrowedFd<'_>> {
        self.alarm.as_ref().map(AsFd::as_fd)
    }

    /// Whether the kernel killed something because the limit was reached.
    pub(super) fn is_memory_exceeded(&self) -> bool {
        let file = match self.version {
            Version::Two => "memory.events",
            Version::One => "memory.oom_control",
        };
        // It was there a moment ago; if it cannot be read now, the signal that ended the program speaks for itself.
        fs::read_to_string(self.memory().join(file)).is_ok_and(|text| counts_a_kill(&text))
    }

    fn memory(&self) -> &Path {
        self.dirs.first().map_or(Path::new(""), PathBuf::as_path)
    }

    fn processes(&self) -> &Path {
        self.dirs.last().map_or(Path::new(""), PathBuf::as_path)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for dir in &self.dirs {
            for _ in 0..REMOVALS_TRIED {
                match fs::remove_dir(dir) {
                    Err(e) if e.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(REMOVAL_PAUSE),
                    // Removed, or gone already, or for the next sweep.
                    Ok(()) | Err(_) => break,
                }
            }
        }
    }
}

/// In the child: goes into the group whose doors these are. A zero means the one that writes it.
pub(super) fn enter(doors: Vec<OwnedFd>) -> io::Result<()> {
    doors.into_iter().try_for_each(|door| fs::File::from(door).write_all(b"0"))
}

/// Removes groups that processes of ours left behind when they were killed. Those of the living are left alone, and
/// the kernel removes no group that has a process in it.
pub fn sweep() {
    sweep_once();
}

/// Whether nothing was left that is only waiting for the kernel.
fn sweep_once() -> bool {
    let Some(place) = Place::of_this_process() else { return true };
    let mut is_clean = true;
    for dir in &place.dirs {
        // A directory that cannot be read has nothing that we could remove.
        let Ok(entries) = fs::read_dir(dir) else { continue };
        for entry in entries.flatten() {
            let owner = entry.file_name().to_str().and_then(owner);
            if owner.is_some_and(|owner| !owner.is_alive())
                // Otherwise somebody else was faster.
                && let Err(e) = fs::remove_dir(entry.path())
                && e.raw_os_error() == Some(libc::EBUSY)
            {
                is_clean = false;
            }
        }
    }
    is_clean
}

/// For the launcher, once: makes room for groups where that takes something (see [`settle`]), removes what was left
/// behind, and answers what will be in force.
pub(crate) fn settle() -> LimitsInForce {
    settle::settle();
    // Those that were killed a moment ago may still be dying.
    for _ in 0..REMOVALS_TRIED {
        if sweep_once() {
            break;
        }
        std::thread::sleep(REMOVAL_PAUSE);
    }
    Group::make().map_or(LimitsInForce::PerProcess, |mut group| group.enforce(&Limits::default()))
}

/// The process that made a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owner {
    pid: libc::pid_t,
    /// When it started. Groups of earlier versions do not say.
    started: Option<u64>,
}

impl Owner {
    fn is_alive(self) -> bool {
        sys::is_alive(self.pid) && (self.started.is_none() || self.started == sys::started(self.pid))
    }
}

/// Who made a group of this name.
fn owner(name: &str) -> Option<Owner> {
    let parts: Vec<&str> = name.strip_prefix(PREFIX)?.split('-').collect();
    let (pid, started, number) = match parts.as_slice() {
        [pid, number] => (pid, None, number),
        [pid, started, number] => (pid, Some(started.parse().ok()?), number),
        _ => return None,
    };
    number.parse::<u32>().ok()?;
    let pid = pid.parse().ok().filter(|pid| *pid > 0)?;
    Some(Owner { pid, started })
}

fn counts_a_kill(text: &str) -> bool {
    text.lines().filter_map(|line| line.split_once(' ')).any(|(key, count)| key == "oom_kill" && count != "0")
}

/// An event descriptor that the kernel signals when this group (version 1) is out of memory.
fn alarm(memory: &Path) -> io::Result<OwnedFd> {
    let about = fs::File::open(memory.join("memory.oom_control"))?;
    let alarm = sys::event()?;
    write(memory, "cgroup.event_control", &format!("{} {}", alarm.as_raw_fd(), about.as_raw_fd()))?;
    Ok(alarm)
}

fn write(dir: &Path, file: &str, text: &str) -> io::Result<()> {
    write_file(dir.join(file), text)
}

fn write_if_there(dir: &Path, file: &str, text: &str) -> io::Result<()> {
    match write(dir, file, text) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
