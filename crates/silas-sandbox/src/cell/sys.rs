//! The system calls that the standard library does not offer, as functions on owned descriptors.
//!
//! Nothing here decides anything. Each function is one call (or one loop around one call) and returns the
//! kernel's own error.
#![allow(unsafe_code)]

mod calls;
mod mounts;
mod network;
mod watches;
pub(super) use calls::*;
pub(super) use mounts::*;
pub(super) use network::*;
pub(super) use watches::*;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

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

/// The same, and the child begins its life in the control group of version 2 that `group` has open.
pub(super) fn clone_into(flags: libc::c_int, group: &OwnedFd) -> io::Result<Cloned> {
    /// From <linux/sched.h>: it has no room in the flags of the older call.
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let mut pidfd: libc::c_int = -1;
    // SAFETY: all-zero bytes are valid: no stack of its own, no thread.
    let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::CLONE_PIDFD) as u64 | CLONE_INTO_CGROUP;
    how.exit_signal = libc::SIGCHLD as u64;
    how.pidfd = (&raw mut pidfd).addr() as u64;
    how.cgroup = group.as_raw_fd() as u64;
    // SAFETY: as in `clone`; `how` and `pidfd` outlive the call, and the size is that of `how`.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone3, &raw const how, size_of::<libc::clone_args>()) })?;
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
    Ok((above_standard(owned(ends[0].into())?)?, above_standard(owned(ends[1].into())?)?))
}

/// The same thing under a number from 3 up. A caller without standard streams would hand out their numbers, and those
/// are replaced in the child.
fn above_standard(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    // SAFETY: only a descriptor that we hold and a number are passed.
    owned(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) }.into())
}

/// Two connected ends, for one process each.
pub(super) fn socket_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (one, other) = UnixStream::pair()?;
    Ok((above_standard(one.into())?.into(), above_standard(other.into())?.into()))
}

pub(super) fn enter_open_dir(dir: &OwnedFd) -> io::Result<()> {
    // SAFETY: a descriptor that we hold.
    checked(unsafe { libc::fchdir(dir.as_raw_fd()) }.into())?;
    Ok(())
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

/// Closes every descriptor but those in `keep`, and leaves the standard streams at `/dev/null`: what is opened later
/// must not get their numbers.
pub(super) fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let null = OwnedFd::from(null).into_raw_fd(); // Closed below, by number.
    for number in 0..3 {
        // SAFETY: descriptors 0 to 2 are not owned by any value of ours.
        checked(unsafe { libc::dup2(null, number) }.into())?;
    }
    let mut keep: Vec<libc::c_uint> = keep.iter().map(|fd| *fd as libc::c_uint).collect();
    keep.sort_unstable();
    keep.dedup();
    let mut first = 3;
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

/// Everything from 3 up is gone at once.
pub(super) fn close_from_3() -> io::Result<()> {
    close_range(3, libc::c_uint::MAX, 0)
}

fn close_range(first: libc::c_uint, last: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the descriptors that are closed belong to values of the forked copy that are never used or dropped.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) })?;
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

/// From now on no file can give a capability.
pub(super) fn empty_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability, 0) {
            Ok(()) => {}
            // Past the last capability that this kernel knows.
            Err(e) if capability > 0 && e.raw_os_error() == Some(libc::EINVAL) => break,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Gives up every capability that is held: ambient, inheritable, permitted and effective.
pub(super) fn drop_capabilities() -> io::Result<()> {
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

/// Lets go of the keys that the caller's session holds.
pub(super) fn new_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    // SAFETY: without a name a new keyring is made; no pointer is read.
    checked(unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0) })?;
    Ok(())
}

/// From now on the control group that this process is in looks like the top.
pub(super) fn new_cgroup_namespace() -> io::Result<()> {
    // SAFETY: only a number is passed.
    checked(unsafe { libc::unshare(libc::CLONE_NEWCGROUP) }.into())?;
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

/// When a process started, in the kernel's own count since the machine did. With its number this names a process for good.
pub(super) fn started(pid: libc::pid_t) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The 22nd value; the name, which may hold anything, is the second.
    stat.rsplit(')').next()?.split_whitespace().nth(19)?.parse().ok()
}

/// Whether a process with this number lives, of whatever user. One that is dead and not yet waited for does not.
pub(super) fn is_alive(pid: libc::pid_t) -> bool {
    // SAFETY: signal 0 is never delivered; only numbers are passed.
    match checked(unsafe { libc::kill(pid, 0) }.into()) {
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => return false,
        Ok(_) | Err(_) => {}
    }
    // <number> (<name, with anything in it>) <state> …; where it cannot be read, it is left alone as if it lived.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z") || rest.starts_with(" X"))
}

/// An event descriptor, not signalled yet.
pub(super) fn event() -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed.
    above_standard(owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) }.into())?)
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
