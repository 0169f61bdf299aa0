//! The system calls about places and mounts. All of them take descriptors, so that no path is looked up twice.

use super::{above_standard, checked, owned};
use crate::cell::disk::Room;
use crate::layers::{Layer, in_force};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

// From <linux/mount.h>; the libc crate has them for some targets only.
pub(in crate::cell) const ATTR_RDONLY: u64 = 0x1;
pub(in crate::cell) const ATTR_NOSUID: u64 = 0x2;
pub(in crate::cell) const ATTR_NODEV: u64 = 0x4;
pub(in crate::cell) const ATTR_NOEXEC: u64 = 0x8;
const ATTR_IDMAP: u64 = 0x0010_0000;
const OPEN_TREE_CLONE: libc::c_int = 1;
const MOVE_MOUNT_EMPTY_PATHS: libc::c_int = 0x4 | 0x40;
const FSOPEN_CLOEXEC: libc::c_int = 1;
const FSMOUNT_CLOEXEC: libc::c_int = 1;
const FSCONFIG_SET_FLAG: libc::c_int = 0;
const FSCONFIG_SET_STRING: libc::c_int = 1;
const FSCONFIG_CMD_CREATE: libc::c_int = 6;

#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Opens a path without following any symlink on the way.
pub(in crate::cell) fn open_real(path: &CStr) -> io::Result<OwnedFd> {
    openat2(libc::AT_FDCWD, path, libc::O_PATH, libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS)
}

/// Opens one name in a directory, as it is: no symlink, nothing outside.
pub(in crate::cell) fn open_child(dir: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    openat2(dir.as_raw_fd(), name, libc::O_PATH, libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_BENEATH)
}

fn openat2(dir: RawFd, path: &CStr, flags: libc::c_int, resolve: u64) -> io::Result<OwnedFd> {
    // SAFETY: all-zero bytes are a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = resolve;
    // SAFETY: path and `how` outlive the call, and the size is that of `how`.
    owned(unsafe { libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), &raw const how, size_of::<libc::open_how>()) })
}

pub(in crate::cell) fn make_dir(dir: &OwnedFd, name: &CStr) -> io::Result<()> {
    // SAFETY: the name outlives the call.
    checked(unsafe { libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), 0o755) }.into())?;
    Ok(())
}

/// A new file, open for writing.
pub(in crate::cell) fn make_file(dir: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
    // SAFETY: the name outlives the call.
    owned(unsafe { libc::openat(dir.as_raw_fd(), name.as_ptr(), flags, 0o644) }.into())
}

pub(in crate::cell) fn make_symlink(dir: &OwnedFd, name: &CStr, points_to: &CStr) -> io::Result<()> {
    // SAFETY: both strings outlive the call.
    checked(unsafe { libc::symlinkat(points_to.as_ptr(), dir.as_raw_fd(), name.as_ptr()) }.into())?;
    Ok(())
}

pub(in crate::cell) fn status_of(fd: &OwnedFd) -> io::Result<libc::stat> {
    // SAFETY: all-zero bytes are a valid `stat`.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` outlives the call.
    checked(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut status) }.into())?;
    Ok(status)
}

/// What is free in the file system that `fd` lies in.
pub(in crate::cell) fn room(fd: &OwnedFd) -> io::Result<Room> {
    // SAFETY: all-zero bytes are a valid `statvfs`.
    let mut status: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `status` outlives the call.
    checked(unsafe { libc::fstatvfs(fd.as_raw_fd(), &raw mut status) }.into())?;
    let files = (status.f_files > 0).then_some(status.f_favail);
    Ok(Room { bytes: status.f_bavail.saturating_mul(status.f_frsize), files })
}

/// A detached copy of the mounts at and below the place that `fd` names.
pub(in crate::cell) fn copy_tree(fd: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the empty path outlives the call.
    above_standard(owned(unsafe { libc::syscall(libc::SYS_open_tree, fd.as_raw_fd(), c"".as_ptr(), flags) })?)
}

/// Adds mount attributes to the whole tree at `fd`.
pub(in crate::cell) fn add_attributes(fd: &OwnedFd, attr_set: u64) -> io::Result<()> {
    let attr = MountAttr { attr_set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    set_attributes(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, &attr)
}

/// Adds mount attributes to the one mount at `fd`, not to those below.
pub(in crate::cell) fn add_attributes_here(fd: &OwnedFd, attr_set: u64) -> io::Result<()> {
    let attr = MountAttr { attr_set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    set_attributes(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH, &attr)
}

/// Maps owners in the detached tree at `fd` the way the user namespace does, and adds attributes.
pub(in crate::cell) fn map_owners(fd: &OwnedFd, user_namespace: BorrowedFd<'_>, attr_set: u64) -> io::Result<()> {
    let userns_fd = user_namespace.as_raw_fd() as u64;
    let attr = MountAttr { attr_set: attr_set | ATTR_IDMAP, attr_clr: 0, propagation: 0, userns_fd };
    set_attributes(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, &attr)
}

/// No mount event passes between this mount namespace and any other.
pub(in crate::cell) fn make_all_mounts_private() -> io::Result<()> {
    let attr = MountAttr { attr_set: 0, attr_clr: 0, propagation: libc::MS_PRIVATE, userns_fd: 0 };
    set_attributes(libc::AT_FDCWD, c"/", libc::AT_RECURSIVE, &attr)
}

/// Everything that was asked for, as long as those layers are in force.
fn of_layers(attributes: u64) -> u64 {
    let without = |layer, bit: u64| if in_force(layer) { 0 } else { bit };
    attributes & !without(Layer::ReadOnly, ATTR_RDONLY) & !without(Layer::NoSetId, ATTR_NOSUID)
}

fn set_attributes(dir: RawFd, path: &CStr, flags: libc::c_int, attr: &MountAttr) -> io::Result<()> {
    let attr = MountAttr { attr_set: of_layers(attr.attr_set), ..*attr };
    // SAFETY: path and attributes outlive the call, and the size is theirs.
    checked(unsafe {
        libc::syscall(libc::SYS_mount_setattr, dir, path.as_ptr(), flags, &raw const attr, size_of::<MountAttr>())
    })?;
    Ok(())
}

/// A new, detached file system. An option without a value is a flag.
pub(in crate::cell) fn new_filesystem(kind: &CStr, options: &[(&CStr, &CStr)], attr: u64) -> io::Result<OwnedFd> {
    // SAFETY: the name outlives the call.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) })?;
    let context_fd = context.as_raw_fd();
    for (key, value) in options {
        let (command, value) = match value.to_bytes() {
            b"" => (FSCONFIG_SET_FLAG, std::ptr::null()),
            _ => (FSCONFIG_SET_STRING, value.as_ptr()),
        };
        // SAFETY: both strings outlive the call.
        checked(unsafe { libc::syscall(libc::SYS_fsconfig, context_fd, command, key.as_ptr(), value, 0) })?;
    }
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes no key and no value.
    checked(unsafe { libc::syscall(libc::SYS_fsconfig, context_fd, FSCONFIG_CMD_CREATE, none, none, 0) })?;
    // SAFETY: only numbers are passed.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context_fd, FSMOUNT_CLOEXEC, of_layers(attr)) })
}

/// Attaches a detached tree on top of the place that `onto` names.
pub(in crate::cell) fn attach(tree: &OwnedFd, onto: &OwnedFd) -> io::Result<()> {
    // SAFETY: the empty paths outlive the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            onto.as_raw_fd(),
            c"".as_ptr(),
            MOVE_MOUNT_EMPTY_PATHS,
        )
    })?;
    Ok(())
}

/// Makes the mount at `new_root` the root directory and lets go of the old one.
pub(in crate::cell) fn change_root(new_root: &OwnedFd) -> io::Result<()> {
    // SAFETY: only a descriptor that we hold and constant strings are passed. With "." twice, the old root ends up on
    // top of the new one, where the unmount finds it.
    unsafe {
        checked(libc::fchdir(new_root.as_raw_fd()).into())?;
        checked(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        checked(libc::umount2(c".".as_ptr(), libc::MNT_DETACH).into())?;
        checked(libc::chdir(c"/".as_ptr()).into())?;
    }
    Ok(())
}
