//! Forking, waiting and what a forked child must put down first.
//!
//! Children go on in our own code instead of executing a program, which is sound only because every process that forks
//! here has a single thread. [`is_single_threaded`] is asked before the first fork; none of the children makes threads.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A child that was forked and not yet waited for.
#[derive(Debug)]
pub(crate) struct Child {
    pid: i32,
}

/// Runs `body` in a child. The child never returns into the caller's code and keeps no other descriptor than the
/// three standard ones and those named.
pub(crate) fn fork(keep: &[RawFd], body: impl FnOnce() -> i32) -> io::Result<Child> {
    fork_after(|| close_all_but(keep), body)
}

/// Runs `body` in a child that has everything its parent has, and goes when its parent does.
pub(crate) fn fork_beside(body: impl FnOnce() -> i32) -> io::Result<Child> {
    let parent = std::process::id();
    let follow = || {
        // SAFETY: plain integers. The signal comes when the forking thread ends, and that is the parent's only one.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // The parent may have gone before the line above.
        if std::os::unix::process::parent_id() != parent {
            // SAFETY: ends this process at once; it has done nothing yet.
            unsafe { libc::_exit(1) }
        }
    };
    fork_after(follow, body)
}

fn fork_after(first: impl FnOnce(), body: impl FnOnce() -> i32) -> io::Result<Child> {
    // SAFETY: the process has one thread (see the module), so no lock can be held by somebody who is not copied.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            first();
            let code = catch_unwind(AssertUnwindSafe(body)).unwrap_or(101);
            // SAFETY: ends this process at once; nothing of the parent's copied state is torn down twice.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(Child { pid }),
    }
}

impl Child {
    /// A descriptor that becomes readable when the child has ended.
    pub(crate) fn watch(&self) -> io::Result<OwnedFd> {
        // SAFETY: plain integers. The child is not waited for yet, so its number still means it.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, self.pid, 0) };
        let fd = i32::try_from(fd).map_err(io::Error::other)?;
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor and nobody else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    pub(crate) fn kill(&self) {
        // SAFETY: plain integers. The child is not waited for yet, so its number still means it.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
    }

    /// Waits until the child has ended. Its exit status means nothing to anyone: answers come over sockets.
    pub(crate) fn wait(&self) {
        let mut status = 0;
        // SAFETY: `status` is a live integer.
        while unsafe { libc::waitpid(self.pid, &raw mut status, 0) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

pub(crate) fn is_single_threaded() -> io::Result<bool> {
    Ok(std::fs::read_dir("/proc/self/task")?.count() == 1)
}

/// The launcher and its children live by their sockets, not by the terminal's signals: Ctrl-C reaches the whole process
/// group, and an apply that is committed must be finished. Handlers instead of "ignore", because ignored signals stay
/// ignored in the programs that a cell executes. SIGIO tells that somebody waits for one of our leases.
pub(crate) fn outlive_signals() {
    extern "C" fn nothing(_: i32) {}
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGIO] {
        // SAFETY: the handler touches nothing; `action` is a zeroed struct with its two fields set.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    // A parent that ignored the end of its children would make waiting impossible.
    // SAFETY: restores the default action.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

fn close_all_but(keep: &[RawFd]) {
    let mut keep: Vec<u32> = keep.iter().filter_map(|fd| u32::try_from(*fd).ok()).collect();
    keep.sort_unstable();
    let mut from = 3u32;
    for fd in keep.into_iter().chain([u32::MAX]) {
        if fd > from {
            // SAFETY: the owners of these descriptors are copies of the parent's values, which this child never drops.
            unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, 0) };
        }
        from = fd.saturating_add(1).max(from);
    }
}
