//! Where this process may make groups: read from `/proc` and from the control groups themselves, never configured.

use super::settle::OWN_GROUP;
use std::path::{Path, PathBuf};

/// Of control groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    One,
    Two,
}

/// The directories in which a group is made, one in each.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) version: Version,
    /// Of memory, then of processes, if they are not the same.
    pub(super) dirs: Vec<PathBuf>,
}

impl Place {
    /// `None` where there is none. Whether it can be written is not asked here; making a group shows it.
    pub(super) fn of_this_process() -> Option<Place> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        Place::version_2(&groups, &mounts).or_else(|| Place::version_1(&groups, &mounts))
    }

    /// Beside our own group, which [`super::settle`] has made for the purpose: a group of version 2 has either processes
    /// or limited groups below it, not both.
    fn version_2(groups: &str, mounts: &str) -> Option<Place> {
        let own = own_dir(groups, mounts, None)?;
        if own.file_name()? != OWN_GROUP {
            return None;
        }
        let parent = own.parent()?;
        let handed_down = std::fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
        has_both(&handed_down).then(|| Place { version: Version::Two, dirs: vec![parent.to_owned()] })
    }

    /// Below our own groups in the two hierarchies.
    pub(super) fn version_1(groups: &str, mounts: &str) -> Option<Place> {
        let mut dirs = vec![own_dir(groups, mounts, Some("memory"))?, own_dir(groups, mounts, Some("pids"))?];
        dirs.dedup();
        Some(Place { version: Version::One, dirs })
    }
}

/// Whether a list of controllers has the two that we need.
pub(super) fn has_both(controllers: &str) -> bool {
    ["memory", "pids"].iter().all(|wanted| controllers.split_whitespace().any(|name| name == *wanted))
}

/// Our own group as a directory: in the hierarchy of version 1 with this controller, or in that of version 2.
pub(super) fn own_dir(groups: &str, mounts: &str, controller: Option<&str>) -> Option<PathBuf> {
    // <number>:<controllers>:<path>, and the controllers of version 2 are not named.
    let path = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        let is_it = controller.map_or(names.is_empty(), |wanted| names.split(',').any(|name| name == wanted));
        is_it.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        // <id> <parent> <device> <root> <mount point> … - <type> <source> <options>
        let (left, right) = line.split_once(" - ")?;
        let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
        let (root, point) = (left.next()?, left.next()?);
        let (kind, options) = (right.next()?, right.nth(1)?);
        let is_it = match controller {
            None => kind == "cgroup2",
            Some(wanted) => kind == "cgroup" && options.split(',').any(|option| option == wanted),
        };
        // A group outside what is mounted cannot be reached, and a name that is written with escapes is none of ours.
        let below = Path::new(path).strip_prefix(root).ok().filter(|_| is_it && !line.contains('\\'))?;
        let is_plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        // Joining nothing would leave a slash at the end, and a directory has one name here.
        is_plain.then(|| Path::new(point).join(below).components().collect())
    })
}
