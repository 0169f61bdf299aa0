//! The system calls by which the kernel tells what is opened in a directory.

use super::{checked, owned};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Watches nothing yet. Reading it never waits.
pub(in crate::cell) fn new_watches() -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed.
    owned(unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) }.into())
}

/// What comes to be in a directory, by whatever name. Answers the number of the watch.
pub(in crate::cell) fn watch_arrivals(watches: &impl AsRawFd, directory: &CStr) -> io::Result<libc::c_long> {
    let what = libc::IN_CREATE | libc::IN_MOVED_TO | libc::IN_ONLYDIR | libc::IN_DONT_FOLLOW;
    // SAFETY: `directory` is alive and ends in a zero byte.
    checked(unsafe { libc::inotify_add_watch(watches.as_raw_fd(), directory.as_ptr(), what) }.into())
}

/// Which file of a directory is opened, run, written to, or moved or taken away. Answers the number of the watch.
pub(in crate::cell) fn watch_openings(watches: &OwnedFd, directory: &CStr) -> io::Result<libc::c_long> {
    let opened = libc::IN_OPEN | libc::IN_MOVED_FROM;
    // What is written through a mapping is told when the file is closed.
    let written = libc::IN_MODIFY | libc::IN_CLOSE_WRITE | libc::IN_MOVED_TO | libc::IN_DELETE;
    let what = opened | written | libc::IN_CREATE | libc::IN_ONLYDIR | libc::IN_DONT_FOLLOW;
    // SAFETY: `directory` is alive and ends in a zero byte.
    checked(unsafe { libc::inotify_add_watch(watches.as_raw_fd(), directory.as_ptr(), what) }.into())
}
