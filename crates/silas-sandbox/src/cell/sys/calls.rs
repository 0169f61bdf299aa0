//! The system calls by which one process judges a system call of another.

use super::{above_standard, checked, owned};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// From <linux/seccomp.h>; the libc crate has the structures.
const NOTIF_RECV: libc::c_ulong = 0xc050_2100;
const NOTIF_SEND: libc::c_ulong = 0xc018_2101;
const FLAG_CONTINUE: u32 = 1;
/// Once it has been received, only death interrupts the wait (since Linux 5.19).
const FLAG_WAIT_KILLABLE: libc::c_ulong = 1 << 5;
/// Where the parts of a call lie for a filter: its number, and the lower halves of its first two arguments.
const NUMBER: u32 = 0;
const FIRST: u32 = if cfg!(target_endian = "little") { 16 } else { 20 };
const SECOND: u32 = FIRST + 8;

/// Calls by which one process reaches for another.
const REACHING: [libc::c_long; 6] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];
/// Requests that have signals sent to somebody when something happens: `F_SETOWN_EX`, `FIOSETOWN`, `SIOCSPGRP`.
const SET_OWNER: [(libc::c_long, u32); 4] = [
    (libc::SYS_fcntl, libc::F_SETOWN as u32),
    (libc::SYS_fcntl, 15),
    (libc::SYS_ioctl, 0x8901),
    (libc::SYS_ioctl, 0x8902),
];

/// A call that waits: of which thread, and what it was given in registers.
pub(in crate::cell) struct Call {
    pub(in crate::cell) id: u64,
    pub(in crate::cell) pid: i32,
    pub(in crate::cell) number: libc::c_long,
    pub(in crate::cell) args: [u64; 6],
}

/// What is handed over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cell) enum Listen {
    /// Calls that add something to what `epoll` watches.
    Watches,
    /// And those by which one process reaches for another.
    WatchesAndSignals,
}

/// From now on each such call of this process and its children waits until somebody at the other end, which is returned, has
/// said what becomes of it.
pub(in crate::cell) fn listen(to: Listen) -> io::Result<OwnedFd> {
    let op = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |what| op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, what);
    let hand_over = || op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_USER_NOTIF);
    let is = |k: u32, jt, jf| op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, k);
    let mut filter = vec![load(NUMBER)];
    // Each of these begins and ends with the number loaded.
    let mut with_second = |number: libc::c_long, second: u32| {
        filter.extend([is(number as u32, 0, 4), load(SECOND), is(second, 0, 1), hand_over(), load(NUMBER)]);
    };
    with_second(libc::SYS_epoll_ctl, libc::EPOLL_CTL_ADD as u32);
    if to == Listen::WatchesAndSignals {
        SET_OWNER.iter().for_each(|(number, second)| with_second(*number, *second));
        for number in REACHING {
            filter.extend([is(number as u32, 0, 1), hand_over()]);
        }
        // Limits of its own are nobody else's business.
        filter.extend([is(libc::SYS_prlimit64 as u32, 0, 3), load(FIRST), is(0, 1, 0), hand_over()]);
    }
    filter.push(op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_mut_ptr() };
    let install = |more: libc::c_ulong| {
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | more;
        // SAFETY: `program` and the filter that it points to outlive the call, which copies them.
        owned(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) })
    };
    let listener = match install(FLAG_WAIT_KILLABLE) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => install(0)?,
        other => other?,
    };
    above_standard(listener)
}

/// The next call that waits.
pub(in crate::cell) fn next_call(listener: &OwnedFd) -> io::Result<Call> {
    // SAFETY: all-zero bytes are a valid `seccomp_notif`, and what the kernel wants to find there.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: `call` outlives the request and is what it writes.
    checked(unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_RECV, &raw mut call) }.into())?;
    let pid = call.pid.cast_signed();
    Ok(Call { id: call.id, pid, number: call.data.nr.into(), args: call.data.args })
}

/// The kernel carries it out, or it fails with this error.
pub(in crate::cell) fn answer_call(listener: &OwnedFd, id: u64, error: Option<i32>) -> io::Result<()> {
    let flags = if error.is_none() { FLAG_CONTINUE } else { 0 };
    let mut answer = libc::seccomp_notif_resp { id, val: 0, error: error.map_or(0, |errno| -errno), flags };
    // SAFETY: `answer` outlives the request and is what it reads.
    checked(unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_SEND, &raw mut answer) }.into())?;
    Ok(())
}
