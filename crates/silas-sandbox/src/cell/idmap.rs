//! Mounts whose files belong to the cell's user inside and stay as they are on disk.
//!
//! Needed when the caller is root: the program then runs under an unprivileged host user, which could not even read
//! a 0600 file of the project. In such a mount the owner of the granted directory and the cell's user change places;
//! every other id stays what it is.

use super::Error;
use super::prepared::PreparedMount;
use super::supervise::write_file;
use super::sys::{self, Cloned};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The host's user and group under which a program runs when the caller is root: `nobody`.
pub(super) const UNPRIVILEGED: u32 = 65534;

/// One detached, mapped tree for each source of each mount, made in the caller's namespaces, where root may do it.
pub(super) fn trees(mounts: &[PreparedMount<'_>]) -> Result<Vec<OwnedFd>, Error> {
    let mut namespaces: Vec<((u32, u32), File)> = Vec::new();
    let mut trees = Vec::with_capacity(mounts.len());
    for (mount, nth, source) in mounts.iter().flat_map(|m| m.sources().enumerate().map(move |(n, s)| (m, n, s))) {
        let refused = |cause| Error::Idmap { path: mount.mount.source.clone(), cause };
        let place = sys::open_real(source).map_err(|e| mount.error(e))?;
        let status = sys::status_of(&place).map_err(|e| mount.error(e))?;
        let owner = (status.st_uid, status.st_gid);
        let known = namespaces.iter().position(|(of, _)| *of == owner);
        let index = match known {
            Some(index) => index,
            None => {
                let made = swapping_namespace(owner.0, owner.1)?.map_err(refused)?;
                namespaces.push((owner, made));
                namespaces.len() - 1
            }
        };
        let tree = sys::copy_tree(&place).map_err(refused)?;
        sys::map_owners(&tree, namespaces[index].1.as_fd(), mount.attributes_of(nth)).map_err(refused)?;
        trees.push(tree);
    }
    Ok(trees)
}

/// A user namespace in which the owner and the unprivileged user have changed places. It lives as long as the file.
/// The outer error means that there are no user namespaces at all, the inner one that this mapping is refused.
fn swapping_namespace(uid: u32, gid: u32) -> Result<io::Result<File>, Error> {
    let plumbing = |cause| Error::Setup { step: "making an id map", cause };
    let (hold, release) = sys::pipe().map_err(plumbing)?;
    match sys::clone(libc::CLONE_NEWUSER).map_err(Error::user_namespace)? {
        Cloned::Child => {
            // Keeps nothing open but its end of the pipe, and waits until the caller has what it needs or is gone.
            if sys::close_all_but(&[hold.as_raw_fd()]).is_ok() {
                let _end = File::from(hold).read(&mut [0]);
            }
            sys::exit(0)
        }
        Cloned::Parent { pid, pidfd } => {
            let namespace = map_and_open(pid, uid, gid);
            drop(release);
            drop(hold);
            sys::wait_for(&pidfd).map_err(plumbing)?;
            Ok(namespace)
        }
    }
}

fn map_and_open(pid: libc::pid_t, uid: u32, gid: u32) -> io::Result<File> {
    write_file(format!("/proc/{pid}/uid_map"), &swap(uid, UNPRIVILEGED))?;
    write_file(format!("/proc/{pid}/gid_map"), &swap(gid, UNPRIVILEGED))?;
    File::open(format!("/proc/{pid}/ns/user"))
}

/// An id map that exchanges two ids and leaves all others alone.
pub(super) fn swap(one: u32, other: u32) -> String {
    let (low, high) = (one.min(other), one.max(other));
    let mut lines = String::new();
    let mut extent = |from: u32, to: u32, count: u32| {
        if count > 0 {
            lines.push_str(&format!("{from} {to} {count}\n"));
        }
    };
    // The highest number means "no id" and is never mapped.
    if low == high {
        extent(0, 0, u32::MAX);
    } else {
        extent(0, 0, low);
        extent(low, high, 1);
        extent(low + 1, low + 1, high - low - 1);
        extent(high, low, 1);
        extent(high + 1, high + 1, u32::MAX - high - 1);
    }
    lines
}
