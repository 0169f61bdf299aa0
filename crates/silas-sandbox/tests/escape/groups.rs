//! Control groups: taking more together than was given to all, seeing them, and leaving one behind.

use crate::ground::{Ground, PYTHON, eventually, marker, processes_with, run, text};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use silas_sandbox::cell::{self, CellSpec, Error, LimitsInForce};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("take_too_much_memory_together", take_too_much_memory_together),
    ("take_too_much_memory_as_files", take_too_much_memory_as_files),
    ("go_on_after_memory_ran_out", go_on_after_memory_ran_out),
    ("be_outside_the_group", be_outside_the_group),
    ("see_the_groups", see_the_groups),
    ("leave_a_group_behind", leave_a_group_behind),
    ("leave_a_group_behind_by_killing_the_caller", leave_a_group_behind_by_killing_the_caller),
];

/// Ends the case where only single processes are limited; the cell has said so itself.
macro_rules! needs_groups {
    ($ground:expr) => {
        let limits = $ground.cell(&["/bin/true"]).limits;
        if limits == LimitsInForce::PerProcess {
            return Shown::Skipped(limits.to_string());
        }
    };
}

const LIMIT_BYTES: u64 = 150 << 20;

/// Must be killed within little memory and must work with much.
fn dies_with_little_memory(mut spec: CellSpec) {
    spec.limits.memory_bytes_max = LIMIT_BYTES;
    let inside = run(&spec);
    assert_eq!((inside.ended, inside.is_memory_exceeded), (Ended::Signalled(libc::SIGKILL), true));
    spec.limits.memory_bytes_max = 2 << 30;
    let control = run(&spec);
    assert_eq!((control.ended, control.is_memory_exceeded), (Ended::Exited(0), false), "{}", text(&control.stderr));
}

fn take_too_much_memory_together(ground: &Ground) -> Shown {
    needs_python!();
    needs_groups!(ground);
    // Each of the four stays far below the limit.
    let code = "import os, time
ready, done = os.pipe(), os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(done[1])
        held = b'x' * (60 << 20)
        os.write(ready[1], b'r')
        os.read(done[0], 1)
        os._exit(0)
for _ in range(4): os.read(ready[0], 1)";
    dies_with_little_memory(ground.spec(&[PYTHON, "-c", code]));
    Shown::Held
}

fn take_too_much_memory_as_files(ground: &Ground) -> Shown {
    needs_groups!(ground);
    dies_with_little_memory(ground.spec(&["/bin/sh", "-c", "head -c 300000000 /dev/zero > /tmp/big"]));
    Shown::Held
}

fn go_on_after_memory_ran_out(ground: &Ground) -> Shown {
    needs_groups!(ground);
    // One process fails, the others would hide it.
    let sleeper = marker(6);
    let script =
        format!("sleep {sleeper} & head -c 300000000 /dev/zero > /tmp/big; kill $!; wait; rm /tmp/big; exit 0");
    dies_with_little_memory(ground.spec(&["/bin/sh", "-c", &script]));
    assert_eq!(processes_with(&sleeper), Vec::<i32>::new());
    Shown::Held
}

fn be_outside_the_group(ground: &Ground) -> Shown {
    needs_groups!(ground);
    let place = OwnPlace::enter(ground);
    let sleeper = marker(7);
    let mut spec = ground.spec(&["/bin/sh", "-c", &format!("setsid setsid sleep {sleeper} & sleep {sleeper}")]);
    spec.limits.processes_max = 33;
    let caller = fork_to(|| drop(cell::run(&spec, None)));
    eventually("the program runs", || processes_with(&format!("sleep\0{sleeper}")).len() == 2);
    let groups = place.groups_of(caller);
    let with = |file: &str| groups.iter().map(|group| group.join(file)).find(|path| path.exists());
    let memory = with("memory.max").or_else(|| with("memory.limit_in_bytes"));
    assert_eq!(read(&memory.unwrap()), spec.limits.memory_bytes_max.to_string());
    assert_eq!(read(&with("pids.max").unwrap()), "34", "and the init");
    for group in &groups {
        let members = read(&group.join("cgroup.procs"));
        for pid in processes_with(&format!("sleep\0{sleeper}")) {
            assert!(members.lines().any(|line| line == pid.to_string()), "{pid} is not among {members:?}");
        }
    }
    end(caller);
    eventually("it is swept", || {
        cell::sweep();
        place.groups_of(caller).is_empty()
    });
    Shown::Held
}

fn see_the_groups(ground: &Ground) -> Shown {
    let inside = text(&ground.sh("cat /proc/self/cgroup").stdout);
    assert!(!inside.is_empty());
    assert!(inside.lines().all(|line| line.ends_with(":/")), "{inside}");
    assert_ne!(ground.sh("ls /sys/fs/cgroup").ended, Ended::Exited(0));
    assert_eq!(text(&ground.sh("grep -c cgroup /proc/self/mountinfo").stdout), "0");
    let control = ground.sh_outside("grep -c cgroup /proc/self/mountinfo");
    if text(&control.stdout) == "0" {
        return Shown::NoControl("this system has no control groups mounted".to_owned());
    }
    Shown::Held
}

fn leave_a_group_behind(ground: &Ground) -> Shown {
    needs_groups!(ground);
    let place = OwnPlace::enter(ground);
    let own = std::process::id() as i32;
    let none = Vec::<PathBuf>::new();
    ground.cell(&["/bin/true"]);
    assert_eq!(place.groups_of(own), none, "after an ordinary end");

    let missing = cell::run(&ground.spec(&["/no/such/program"]), None);
    assert!(matches!(missing, Err(Error::Program { .. })), "{missing:?}");
    assert_eq!(place.groups_of(own), none, "after a program that could not be started");

    let mut spec = ground.spec(&["/bin/sh", "-c", "setsid sleep 1000 & sleep 1000"]);
    spec.limits.wall = Duration::from_secs(1);
    assert_eq!(run(&spec).ended, Ended::TimedOut { after_secs: 1 });
    assert_eq!(place.groups_of(own), none, "after a timeout");

    spec.limits.wall = Duration::from_secs(60);
    let (cancel, holder) = std::io::pipe().unwrap();
    fork_to(|| eventually("the group is there", || !place.groups_of(own).is_empty()));
    drop(holder);
    assert!(matches!(cell::run(&spec, Some(cancel.as_fd())), Err(Error::Cancelled)));
    assert_eq!(place.groups_of(own), none, "after a stop");
    Shown::Held
}

fn leave_a_group_behind_by_killing_the_caller(ground: &Ground) -> Shown {
    needs_groups!(ground);
    let place = OwnPlace::enter(ground);
    let sleeper = marker(8);
    let caller = fork_to(|| drop(ground.cell(&["/bin/sleep", &sleeper])));
    eventually("the program runs", || !processes_with(&format!("sleep\0{sleeper}")).is_empty());
    cell::sweep();
    assert!(!place.groups_of(caller).is_empty(), "those of the living are left alone");
    end(caller);
    eventually("it is gone", || processes_with(&sleeper).is_empty());
    assert!(!place.groups_of(caller).is_empty(), "nobody was left to remove it");
    eventually("it is swept", || {
        cell::sweep();
        place.groups_of(caller).is_empty()
    });
    Shown::Held
}

/// Runs something in a process of its own that ends with it.
fn fork_to(body: impl FnOnce()) -> i32 {
    // SAFETY: this process has one thread.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        body();
        std::process::exit(0);
    }
    pid
}

fn end(caller: i32) {
    // SAFETY: a child of ours that has not been waited for.
    unsafe {
        libc::kill(caller, libc::SIGKILL);
        libc::waitpid(caller, std::ptr::null_mut(), 0);
    }
}

/// A place in which only this case and what it forks make groups, and nobody else sweeps. It is left when this goes.
struct OwnPlace {
    /// Each of its directories, and the group that this process was in.
    dirs: Vec<(PathBuf, PathBuf)>,
}

impl OwnPlace {
    fn enter(ground: &Ground) -> OwnPlace {
        let sleeper = marker(11);
        let caller = fork_to(|| drop(ground.cell(&["/bin/sleep", &sleeper])));
        eventually("the program runs", || !processes_with(&format!("sleep\0{sleeper}")).is_empty());
        let places = parents_of_groups_of(caller);
        end(caller);
        eventually("it is gone", || processes_with(&sleeper).is_empty());
        let own = std::process::id().to_string();
        let dirs = places.into_iter().map(|place| {
            let dir = place.join(format!("case-{own}"));
            // Version 2 makes groups beside the one that the process is in, version 1 below it.
            let (from, to) = match place.join("cgroup.controllers").exists() {
                true => (place.join(BESIDE), dir.join(BESIDE)),
                false => (place, dir.clone()),
            };
            std::fs::create_dir_all(&to).unwrap();
            std::fs::write(to.join("cgroup.procs"), &own).unwrap();
            if to != dir {
                std::fs::write(dir.join("cgroup.subtree_control"), "+memory +pids").unwrap();
            }
            (dir, from)
        });
        OwnPlace { dirs: dirs.collect() }
    }

    /// The groups that a process has made here.
    fn groups_of(&self, pid: i32) -> Vec<PathBuf> {
        let entries = self.dirs.iter().flat_map(|(dir, _)| std::fs::read_dir(dir).unwrap().flatten());
        let is_its = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&format!("silas-{pid}-"));
        entries.map(|entry| entry.path()).filter(is_its).collect()
    }
}

/// Where a launcher is in version 2.
const BESIDE: &str = "silas-self";

impl Drop for OwnPlace {
    fn drop(&mut self) {
        for (dir, from) in &self.dirs {
            // What cannot be tidied up is for whoever looks at why the case failed.
            let _ = std::fs::write(from.join("cgroup.procs"), std::process::id().to_string());
            let _ = std::fs::remove_dir(dir.join(BESIDE));
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Where a process has made its groups, wherever control groups are mounted.
fn parents_of_groups_of(pid: i32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut to_visit: Vec<PathBuf> = (std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines())
        .filter(|line| line.contains(" - cgroup ") || line.contains(" - cgroup2 "))
        .map(|line| PathBuf::from(line.split(' ').nth(4).unwrap()))
        .collect();
    while let Some(dir) = to_visit.pop() {
        // Others come and go meanwhile.
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(&format!("silas-{pid}-")) {
                    found.push(dir.clone());
                }
                to_visit.push(entry.path());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}
