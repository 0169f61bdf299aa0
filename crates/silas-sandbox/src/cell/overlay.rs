//! Layered mounts: an overlay for each, put together in the child's own mount namespace, where any user may do it.
//!
//! The trees are hung into the old root, which goes away with it; the overlays keep their own hold on them. They are named
//! by descriptor, so no path of the host is looked up and none needs quoting.

use super::prepared::PreparedMount;
use super::report::{Failure, Step, at};
use super::sys;
use crate::overlay::{UPPER, WORK};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const SCRATCH_OPTIONS: [(&CStr, &CStr); 2] = [(c"size", c"1m"), (c"nr_inodes", c"1024")];

/// Turns the trees of all sources into one tree for each mount.
pub(super) fn put_together(
    mounts: &[PreparedMount<'_>],
    trees: Vec<OwnedFd>,
    place: &OwnedFd,
) -> Result<Vec<OwnedFd>, Failure> {
    if mounts.iter().all(|mount| mount.layers.is_empty() && !mount.is_apart()) {
        return Ok(trees);
    }
    let base = at(Step::Base, 0);
    let scratch = sys::new_filesystem(c"tmpfs", &SCRATCH_OPTIONS, sys::ATTR_NOSUID | sys::ATTR_NODEV).map_err(&base)?;
    sys::attach(&scratch, place).map_err(&base)?;
    let mut trees = trees.into_iter();
    let mut whole = Vec::with_capacity(mounts.len());
    for (index, mount) in mounts.iter().enumerate() {
        let failed = at(Step::Mount, index);
        let of_this: Vec<OwnedFd> = trees.by_ref().take(1 + mount.layers.len()).collect();
        if mount.is_apart() {
            for tree in &of_this {
                whole.push(apart(tree, &scratch, index, mount.attributes()).map_err(&failed)?);
            }
        } else if mount.layers.is_empty() {
            whole.extend(of_this);
        } else {
            whole.push(overlay(&of_this, &scratch, index, mount.attributes()).map_err(&failed)?);
        }
    }
    Ok(whole)
}

/// The same tree, seen through a layer. Pipes, sockets, leases and locks belong to a file of the layer then, which nobody
/// outside has: what is done with them in the cell does not reach the owner. Where the kernel puts no layer over a file
/// system, the tree itself is shown.
fn apart(tree: &OwnedFd, scratch: &OwnedFd, index: usize, attributes: u64) -> io::Result<OwnedFd> {
    let source = hang(tree, scratch, &format!("{index}-source"))?;
    // The kernel wants two where nothing can be written.
    let name = CString::new(format!("{index}-nothing"))?;
    sys::make_dir(scratch, &name)?;
    let nothing = sys::open_child(scratch, &name)?;
    let lower = CString::new(format!("{}:{}", path_of(&source), path_of(&nothing)))?;
    sys::new_filesystem(c"overlay", &[(c"lowerdir", &lower), (c"userxattr", c"")], attributes)
        .or_else(|_| sys::copy_tree(&source))
}

/// Attaches a tree in the scratch space, and opens it there.
fn hang(tree: &OwnedFd, scratch: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    sys::make_dir(scratch, &name)?;
    sys::attach(tree, &sys::open_child(scratch, &name)?)?;
    sys::open_child(scratch, &name)
}

/// `trees` are the source and its layers, the topmost layer first.
fn overlay(trees: &[OwnedFd], scratch: &OwnedFd, index: usize, attributes: u64) -> io::Result<OwnedFd> {
    let mut hung = Vec::with_capacity(trees.len());
    for (nth, tree) in trees.iter().enumerate() {
        hung.push(hang(tree, scratch, &format!("{index}-{nth}"))?);
    }
    let [source, top, between @ ..] = hung.as_slice() else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let part = |layer: &OwnedFd, name: &str| sys::open_child(layer, &CString::new(name)?);
    let (upper, work) = (part(top, UPPER)?, part(top, WORK)?);
    let lowers = between.iter().map(|layer| part(layer, UPPER)).collect::<io::Result<Vec<_>>>()?;
    let lower: Vec<String> = lowers.iter().chain([source]).map(path_of).collect();
    sys::new_filesystem(
        c"overlay",
        &[
            (c"lowerdir", &CString::new(lower.join(":"))?),
            (c"upperdir", &CString::new(path_of(&upper))?),
            (c"workdir", &CString::new(path_of(&work))?),
            // Marks that an ordinary user may write. The kernel keeps them from whoever looks through the overlay.
            (c"userxattr", c""),
        ],
        attributes,
    )
}

fn path_of(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
