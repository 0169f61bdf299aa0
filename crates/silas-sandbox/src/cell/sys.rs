//! The system calls that the standard library does not offer, as functions on owned descriptors.
//!
//! Nothing here decides anything. Each function is one call (or one loop around one call) and returns the
//! kernel's own error.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

// From <linux/mount.h>; the libc crate has them for some targets only.
pub(super) const ATTR_RDONLY: u64 = 0x1;
pub(super) const ATTR_NOSUID: u64 = 0x2;
pub(super) const ATTR_NODEV: u64 = 0x4;
pub(super) const ATTR_NOEXEC: u64 = 0x8;
const ATTR_IDMAP: u64 = 0x0010_0000;
const OPEN_TREE_CLONE: libc::c_int = 1;
const MOVE_MOUNT_EMPTY_PATHS: libc::c_int = 0x4 | 0x40;
const FSOPEN_CLOEXEC: libc::c_int = 1;
const FSMOUNT_CLOEXEC: libc::c_int = 1;
const FSCONFIG_SET_STRING: libc::c_int = 1;
const FSCONFIG_CMD_CREATE: libc::c_int = 6;

#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the caller passes the result of a call that returns a new descriptor which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

pub(super) enum Cloned {
    Child,
    Parent { pid: libc::pid_t, pidfd: OwnedFd },
}

/// `clone(2)` without shared memory: a fork into the namespaces named by `flags`. Only for single-threaded processes.
pub(super) fn clone(flags: libc::c_int) -> io::Result<Cloned> {
    let mut pidfd: libc::c_int = -1;
    let all = (flags | libc::CLONE_PIDFD | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: no CLONE_VM and no new stack, so the child gets its own copy of this process; `pidfd` outlives the call.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone, all, 0, &raw mut pidfd, 0, 0) })?;
    if pid == 0 {
        return Ok(Cloned::Child);
    }
    // SAFETY: CLONE_PIDFD stored a new descriptor, owned by nobody else.
    Ok(Cloned::Parent { pid: pid as libc::pid_t, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } })
}

/// Ends the process at once: no destructors, no exit handlers of the caller's program.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Close-on-exec pipe: read end, write end.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: `ends` has room for the two descriptors.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }.into())?;
    Ok((owned(ends[0].into())?, owned(ends[1].into())?))
}

pub(super) fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: F_SETFL on a descriptor that we hold.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }.into())?;
    Ok(())
}

/// Makes `fd` also known as `number`, which then survives an exec.
pub(super) fn duplicate_onto(fd: &OwnedFd, number: RawFd) -> io::Result<()> {
    // SAFETY: dup2 of a descriptor that we hold; descriptors 0 to 2 are not owned by any value of ours.
    checked(unsafe { libc::dup2(fd.as_raw_fd(), number) }.into())?;
    Ok(())
}

/// Closes every descriptor but those in `keep`.
pub(super) fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<libc::c_uint> = keep.iter().map(|fd| *fd as libc::c_uint).collect();
    keep.sort_unstable();
    keep.dedup();
    let mut first = 0;
    for fd in keep {
        if fd > first {
            close_range(first, fd - 1, 0)?;
        }
        first = fd + 1;
    }
    close_range(first, libc::c_uint::MAX, 0)
}

/// Everything from 3 up will be gone after the next exec.
pub(super) fn close_on_exec_from_3() -> io::Result<()> {
    close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: libc::c_uint, last: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the descriptors that are closed belong to values of the forked copy that are never used or dropped.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) })?;
    Ok(())
}

/// Opens a path without following any symlink on the way.
pub(super) fn open_real(path: &CStr) -> io::Result<OwnedFd> {
    openat2(libc::AT_FDCWD, path, libc::O_PATH, libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS)
}

/// Opens one name in a directory, as it is: no symlink, nothing outside.
pub(super) fn open_child(dir: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    openat2(dir.as_raw_fd(), name, libc::O_PATH, libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_BENEATH)
}

fn openat2(dir: RawFd, path: &CStr, flags: libc::c_int, resolve: u64) -> io::Result<OwnedFd> {
    // SAFETY: all-zero bytes are a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = resolve;
    // SAFETY: path and `how` outlive the call, and the size is that of `how`.
    owned(unsafe {
        libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), &raw const how, size_of::<libc::open_how>())
    })
}

pub(super) fn make_dir(dir: &OwnedFd, name: &CStr) -> io::Result<()> {
    // SAFETY: the name outlives the call.
    checked(unsafe { libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), 0o755) }.into())?;
    Ok(())
}

/// A new file, open for writing.
pub(super) fn make_file(dir: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
    // SAFETY: the name outlives the call.
    owned(unsafe { libc::openat(dir.as_raw_fd(), name.as_ptr(), flags, 0o644) }.into())
}

pub(super) fn make_symlink(dir: &OwnedFd, name: &CStr, points_to: &CStr) -> io::Result<()> {
    // SAFETY: both strings outlive the call.
    checked(unsafe { libc::symlinkat(points_to.as_ptr(), dir.as_raw_fd(), name.as_ptr()) }.into())?;
    Ok(())
}

pub(super) fn status_of(fd: &OwnedFd) -> io::Result<libc::stat> {
    // SAFETY: all-zero bytes are a valid `stat`.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` outlives the call.
    checked(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut status) }.into())?;
    Ok(status)
}

/// A detached copy of the mounts at and below the place that `fd` names.
pub(super) fn copy_tree(fd: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the empty path outlives the call.
    owned(unsafe { libc::syscall(libc::SYS_open_tree, fd.as_raw_fd(), c"".as_ptr(), flags) })
}

/// Adds mount attributes to the whole tree at `fd`.
pub(super) fn add_attributes(fd: &OwnedFd, attr_set: u64) -> io::Result<()> {
    let attr = MountAttr { attr_set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    set_attributes(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, &attr)
}

/// Adds mount attributes to the one mount at `fd`, not to those below.
pub(super) fn add_attributes_here(fd: &OwnedFd, attr_set: u64) -> io::Result<()> {
    let attr = MountAttr { attr_set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    set_attributes(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH, &attr)
}

/// Maps owners in the detached tree at `fd` the way the user namespace does, and adds attributes.
pub(super) fn map_owners(fd: &OwnedFd, user_namespace: BorrowedFd<'_>, attr_set: u64) -> io::Result<()> {
    let userns_fd = user_namespace.as_raw_fd() as u64;
    let attr = MountAttr { attr_set: attr_set | ATTR_IDMAP, attr_clr: 0, propagation: 0, userns_fd };
    set_attributes(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, &attr)
}

/// No mount event passes between this mount namespace and any other.
pub(super) fn make_all_mounts_private() -> io::Result<()> {
    let attr = MountAttr { attr_set: 0, attr_clr: 0, propagation: libc::MS_PRIVATE, userns_fd: 0 };
    set_attributes(libc::AT_FDCWD, c"/", libc::AT_RECURSIVE, &attr)
}

fn set_attributes(dir: RawFd, path: &CStr, flags: libc::c_int, attr: &MountAttr) -> io::Result<()> {
    // SAFETY: path and attributes outlive the call, and the size is theirs.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            dir,
            path.as_ptr(),
            flags,
            std::ptr::from_ref(attr),
            size_of::<MountAttr>(),
        )
    })?;
    Ok(())
}

/// A new, detached file system.
pub(super) fn new_filesystem(kind: &CStr, options: &[(&CStr, &CStr)], attr: u64) -> io::Result<OwnedFd> {
    // SAFETY: the name outlives the call.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) })?;
    let context_fd = context.as_raw_fd();
    for (key, value) in options {
        // SAFETY: both strings outlive the call.
        checked(unsafe {
            libc::syscall(libc::SYS_fsconfig, context_fd, FSCONFIG_SET_STRING, key.as_ptr(), value.as_ptr(), 0)
        })?;
    }
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes no key and no value.
    checked(unsafe { libc::syscall(libc::SYS_fsconfig, context_fd, FSCONFIG_CMD_CREATE, none, none, 0) })?;
    // SAFETY: only numbers are passed.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context_fd, FSMOUNT_CLOEXEC, attr) })
}

/// Attaches a detached tree on top of the place that `onto` names.
pub(super) fn attach(tree: &OwnedFd, onto: &OwnedFd) -> io::Result<()> {
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
pub(super) fn change_root(new_root: &OwnedFd) -> io::Result<()> {
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

/// Takes on one user and group id, without supplementary groups.
pub(super) fn become_user(uid: libc::uid_t, gid: libc::gid_t) -> io::Result<()> {
    // SAFETY: only numbers and a null list of length 0 are passed. Raw calls, because the C library's own would try to
    // bring other threads along, of which there are none.
    unsafe {
        checked(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()))?;
        checked(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
        checked(libc::syscall(libc::SYS_setresuid, uid, uid, uid))?;
    }
    Ok(())
}

/// Others, even of the same user, can neither read this process's memory nor see its environment.
pub(super) fn forbid_inspection() -> io::Result<()> {
    prctl(libc::PR_SET_DUMPABLE, 0, 0)
}

pub(super) fn forbid_new_privileges() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)
}

/// Gives up every capability for good: bounding, ambient, inheritable, permitted and effective.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability, 0) {
            Ok(()) => {}
            // Past the last capability that this kernel knows.
            Err(e) if capability > 0 && e.raw_os_error() == Some(libc::EINVAL) => break,
            Err(e) => return Err(e),
        }
    }
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)?;
    let header: [u32; 2] = [0x2008_0522, 0]; // version 3, this process
    let sets = [0_u32; 6];
    // SAFETY: version 3 reads a header of two and data of six 32-bit words.
    checked(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) })?;
    Ok(())
}

fn prctl(option: libc::c_int, first: libc::c_ulong, second: libc::c_ulong) -> io::Result<()> {
    let zero: libc::c_ulong = 0;
    // SAFETY: only numbers are passed, and none of the options used here takes a pointer.
    checked(unsafe { libc::prctl(option, first, second, zero, zero) }.into())?;
    Ok(())
}

pub(super) fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    checked(unsafe { libc::setsid() }.into())?;
    Ok(())
}

pub(super) fn set_hostname(name: &CStr) -> io::Result<()> {
    // SAFETY: pointer and length describe `name`.
    checked(unsafe { libc::sethostname(name.as_ptr(), name.count_bytes()) }.into())?;
    Ok(())
}

pub(super) fn set_umask(mask: libc::mode_t) {
    // SAFETY: only a number is passed; the call cannot fail.
    unsafe { libc::umask(mask) };
}

pub(super) fn enter_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: the path outlives the call.
    checked(unsafe { libc::chdir(path.as_ptr()) }.into())?;
    Ok(())
}

/// Every signal back to its default, and exactly `blocked` blocked.
pub(super) fn reset_signals(blocked: &[libc::c_int]) -> io::Result<()> {
    // SAFETY: all-zero bytes are valid for both types; the pointers are to locals. Signals that cannot be changed
    // (KILL, STOP and the C library's own) answer EINVAL, which changes nothing.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        for signal in 1..=64 {
            libc::sigaction(signal, &raw const default, std::ptr::null_mut());
        }
        let set = signal_set(blocked);
        checked(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()).into())?;
    }
    Ok(())
}

/// A descriptor that becomes readable when a child changed its state. SIGCHLD must be blocked.
pub(super) fn child_events() -> io::Result<OwnedFd> {
    let set = signal_set(&[libc::SIGCHLD]);
    // SAFETY: the set outlives the call.
    owned(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) }.into())
}

fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: all-zero bytes are a valid set, `sigemptyset` initialises it, and the pointers are to a local.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// The next dead child and its wait status, if there is one.
pub(super) fn reap() -> Option<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (pid > 0).then_some((pid, status))
}

pub(super) fn kill(pidfd: &OwnedFd) -> io::Result<()> {
    let info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null info makes it an ordinary kill.
    checked(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), libc::SIGKILL, info, 0) })?;
    Ok(())
}

/// Blocks until that child is dead and reaps it.
pub(super) fn wait_for(pidfd: &OwnedFd) -> io::Result<()> {
    loop {
        // SAFETY: all-zero bytes are a valid `siginfo_t`.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `info` outlives the call.
        let result =
            unsafe { libc::waitid(libc::P_PIDFD, pidfd.as_raw_fd() as libc::id_t, &raw mut info, libc::WEXITED) };
        match checked(result.into()) {
            Ok(_) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // The caller ignores SIGCHLD, so the kernel has reaped it.
            Err(e) if e.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}

/// Waits for any of the descriptors; `None` waits without end. An interruption counts as "nothing yet".
pub(super) fn poll(fds: &mut [libc::pollfd], timeout_ms: Option<i32>) -> io::Result<()> {
    // SAFETY: pointer and length describe the slice.
    let result = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms.unwrap_or(-1)) };
    match checked(result.into()) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {
            fds.iter_mut().for_each(|fd| fd.revents = 0);
            Ok(())
        }
        Err(e) => Err(e),
    }
}

/// Only returns when the program could not be started.
pub(super) fn exec(program: &CStr, argv: &[*const libc::c_char], env: &[*const libc::c_char]) -> io::Error {
    debug_assert!(argv.last().is_some_and(|end| end.is_null()) && env.last().is_some_and(|end| end.is_null()));
    // SAFETY: both lists end with a null pointer and point to strings that outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Sets a resource limit, or the highest that the caller may still set where that is lower.
pub(super) fn limit(resource: libc::__rlimit_resource_t, wanted: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` outlives the calls.
    unsafe {
        checked(libc::getrlimit(resource, &raw mut now).into())?;
        let value = wanted.min(now.rlim_max);
        let new = libc::rlimit { rlim_cur: value, rlim_max: value };
        checked(libc::setrlimit(resource, &raw const new).into())?;
    }
    Ok(())
}

pub(super) fn user_and_group() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: no arguments, cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
