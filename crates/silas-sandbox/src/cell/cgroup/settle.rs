//! Version 2 wants a group to have processes or limited groups, not both. So the launcher, where a group was handed to
//! it, moves itself and the front one level down and has the level in between for cells.
//!
//! Only a group in which there is nobody else is treated so: a shell's or a desktop's is not ours to rearrange. Give
//! Silas its own (a service with `Delegate=yes`, `systemd-run --user --scope -p Delegate=yes silas …`).

use super::place::{has_both, own_dir};
use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

/// The group into which we move.
pub(super) const OWN_GROUP: &str = "silas-self";

/// Where it is not possible everything stays as it was, and cells report that they are limited by process.
pub(super) fn settle() {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let own = own_dir(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"), None);
    if let Some(own) = own.filter(|own| own.file_name().is_none_or(|name| name != OWN_GROUP)) {
        let ours = BTreeSet::from([std::process::id(), std::os::unix::process::parent_id()]);
        let _ = move_down(&own, &ours);
    }
}

pub(super) fn move_down(group: &Path, ours: &BTreeSet<u32>) -> io::Result<()> {
    let refuse = |why| Err(io::Error::new(io::ErrorKind::Unsupported, why));
    if !has_both(&fs::read_to_string(group.join("cgroup.controllers"))?) {
        return refuse("memory and processes cannot be limited by this version here");
    }
    let members = fs::read_to_string(group.join("cgroup.procs"))?;
    let members: Vec<&str> = members.lines().collect();
    if !members.iter().all(|pid| pid.parse().is_ok_and(|pid| ours.contains(&pid))) {
        return refuse("others live in this group");
    }
    let below = group.join(OWN_GROUP);
    match fs::create_dir(&below) {
        // Left by an earlier life of ours.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        result => result?,
    }
    let all_to = |to: &Path| members.iter().try_for_each(|pid| super::write(to, "cgroup.procs", pid));
    let done = all_to(&below).and_then(|()| super::write(group, "cgroup.subtree_control", "+memory +pids"));
    if done.is_err() {
        all_to(group)?;
        fs::remove_dir(&below)?;
    }
    done
}
