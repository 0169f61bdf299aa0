//! Reading what the kernel says about groups. Whether limits hold is tried in `tests/escape`.
#![allow(clippy::unwrap_used)]

use super::place::{Place, Version, own_dir};
use super::settle::{OWN_GROUP, move_down};
use super::{Group, Owner, WayIn, counts_a_kill, owner};
use crate::cell::sys::{self, Cloned};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const HYBRID_GROUPS: &str = "9:name=systemd:/x\n8:pids:/\n4:memory:/box/one\n1:cpu,cpuacct:/\n0::/user/1\n";
const HYBRID_MOUNTS: &str = "\
23 1 0:5 / /proc rw - proc proc rw
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

#[test]
fn version_1_has_a_directory_for_each_controller() {
    let dirs = ["/sys/fs/cgroup/memory/box/one", "/sys/fs/cgroup/pids"].map(PathBuf::from).to_vec();
    let place = Place::version_1(HYBRID_GROUPS, HYBRID_MOUNTS);
    assert_eq!(place, Some(Place { version: Version::One, dirs }));
    let own = own_dir(HYBRID_GROUPS, HYBRID_MOUNTS, None);
    assert_eq!(own, Some(PathBuf::from("/sys/fs/cgroup/unified/user/1")));
}

#[test]
fn controllers_that_are_mounted_together_have_one_directory() {
    let mounts = "35 31 0:32 / /cg rw - cgroup cgroup rw,memory,pids\n";
    let place = Place::version_1("4:pids,memory:/a\n", mounts).unwrap();
    assert_eq!(place.dirs, [PathBuf::from("/cg/a")]);
}

#[test]
fn a_group_outside_what_is_mounted_cannot_be_reached() {
    let mounts = "35 31 0:32 /box /cg rw - cgroup cgroup rw,memory\n";
    let check = |groups| own_dir(groups, mounts, Some("memory"));
    assert_eq!(check("4:memory:/box/a\n"), Some(PathBuf::from("/cg/a")));
    assert_eq!(check("4:memory:/box\n"), Some(PathBuf::from("/cg")));
    for outside in ["4:memory:/other\n", "4:memory:/box/../../a\n", "4:cpu:/box\n", ""] {
        assert_eq!(check(outside), None, "{outside}");
    }
    assert_eq!(own_dir("0::/\n", mounts, None), None);
}

#[test]
fn a_group_tells_whose_it_was() {
    assert_eq!(owner("silas-17-3"), Some(Owner { pid: 17, started: None }));
    assert_eq!(owner("silas-17-4711-3"), Some(Owner { pid: 17, started: Some(4711) }));
    for other in [
        "silas-self",
        "silas-17",
        "silas-x-3",
        "silas-17-x-1",
        "silas-17-4711-3-1",
        "silas--1-3",
        "silas-0-3",
        "user.slice",
    ] {
        assert_eq!(owner(other), None, "{other}");
    }
}

#[test]
fn only_a_kill_counts() {
    assert!(counts_a_kill("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"));
    assert!(!counts_a_kill("low 0\nhigh 0\nmax 12\noom 3\noom_kill 0\noom_group_kill 0\n"));
    assert!(!counts_a_kill(""));
}

/// What a launcher does where version 2 has memory and processes, tried in a group that limits nothing.
#[test]
fn a_child_can_be_born_in_a_group() {
    let read = |path| fs::read_to_string(path).unwrap();
    let own = own_dir(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"), None);
    let Some(group) = own.map(|own| own.join(format!("silas-{}-{}", std::process::id(), u32::MAX))) else {
        return eprintln!("SKIPPED: no control groups of version 2 are mounted");
    };
    if let Err(e) = fs::create_dir(&group) {
        return eprintln!("SKIPPED: this user may not make one ({e})");
    }
    let (hold, release) = sys::pipe().unwrap();
    let born = sys::clone_into(0, &fs::File::open(&group).unwrap().into());
    if matches!(born, Ok(Cloned::Child)) {
        // Other threads of this process are not here, so nothing is done that could wait for them.
        drop(release);
        let _ended = std::io::Read::read(&mut fs::File::from(hold), &mut [0]);
        sys::exit(0);
    }
    let members = fs::read_to_string(group.join("cgroup.procs"));
    drop(release);
    let pid = match born {
        Ok(Cloned::Parent { pid, pidfd }) => {
            sys::wait_for(&pidfd).unwrap();
            pid.to_string()
        }
        Ok(Cloned::Child) | Err(_) => "nobody was born".to_owned(),
    };
    let way_in = WayIn::OwnFeet(Vec::new());
    drop(Group { version: Version::Two, dirs: vec![group.clone()], way_in, alarm: None });
    assert_eq!(members.unwrap().trim(), pid);
    assert!(!group.exists());
}

/// A directory with the files that a group of version 2 has. What is written there stays as it was written.
fn group(dir: &Path, controllers: &str, members: &str) {
    for (file, text) in [("cgroup.controllers", controllers), ("cgroup.procs", members), ("cgroup.subtree_control", "")]
    {
        fs::write(dir.join(file), text).unwrap();
    }
    fs::create_dir(dir.join(OWN_GROUP)).unwrap();
    fs::write(dir.join(OWN_GROUP).join("cgroup.procs"), "").unwrap();
}

#[test]
fn a_group_of_our_own_is_split_in_two() {
    let dir = tempfile::tempdir().unwrap();
    group(dir.path(), "cpu memory pids\n", "17\n18\n");
    move_down(dir.path(), &BTreeSet::from([17, 18])).unwrap();
    let read = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
    // The kernel moves one for each write; a plain file keeps the last.
    assert_eq!(read("silas-self/cgroup.procs"), "18");
    assert_eq!(read("cgroup.subtree_control"), "+memory +pids");
}

#[test]
fn a_group_with_others_in_it_is_left_alone() {
    for (controllers, members) in [("cpu memory pids\n", "17\n99\n"), ("cpu pids\n", "17\n")] {
        let dir = tempfile::tempdir().unwrap();
        group(dir.path(), controllers, members);
        move_down(dir.path(), &BTreeSet::from([17, 18])).unwrap_err();
        let read = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
        assert_eq!((read("silas-self/cgroup.procs").as_str(), read("cgroup.subtree_control").as_str()), ("", ""));
    }
}

#[test]
fn a_number_that_is_used_again_is_not_the_owner() {
    let pid = libc::pid_t::try_from(std::process::id()).unwrap();
    let own = sys::started(pid).unwrap();
    assert!(Owner { pid, started: Some(own) }.is_alive() && Owner { pid, started: None }.is_alive());
    assert!(!Owner { pid, started: Some(own + 1) }.is_alive());
}
