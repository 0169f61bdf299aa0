//! What makes changes survive a loss of power, and the two ways to spoil it: syncing turned off, and a sync that fails.

use crate::format::{AT_SYNCS, Kind};
use crate::place::Watched;
use crate::state::{On, Syncing, state};
use crate::system::{self, PATH_BYTES};
use libc::{c_int, c_uint, c_void, off_t, size_t};

/// `fdatasync` counts like `fsync`: what it may leave out (times) is not recorded anyway.
fn synced(fd: c_int, kind: Kind, call: impl FnOnce() -> c_int) -> c_int {
    let Some(state) = state() else { return call() };
    let Watched::Inode(inode) = system::keep_errno(|| state.look(fd)) else { return call() };
    let log = state.log.lock();
    let n = log.count(AT_SYNCS);
    if let Some(errno) = state.fault.as_ref().and_then(|fault| fault.strikes(On::Sync, n)) {
        let mut buffer = [0; PATH_BYTES];
        let path = system::path_of(fd, &mut buffer).unwrap_or(b"");
        log.append(Kind::FailedSync, [inode, 0, 0], path, b"");
        system::set_errno(errno);
        return -1;
    }
    let answer = match state.syncing {
        Syncing::Off => return 0,
        Syncing::Claimed => 0,
        Syncing::Real => call(),
    };
    if answer == 0 {
        log.append(kind, [inode, 0, 0], b"", b"");
    }
    answer
}

#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the program's own call, passed on.
    synced(fd, Kind::Sync, || unsafe { libc::syscall(libc::SYS_fsync, fd) as c_int })
}

#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: the program's own call, passed on.
    synced(fd, Kind::Sync, || unsafe { libc::syscall(libc::SYS_fdatasync, fd) as c_int })
}

#[unsafe(no_mangle)]
pub extern "C" fn syncfs(fd: c_int) -> c_int {
    // SAFETY: the program's own call, passed on.
    synced(fd, Kind::SyncAll, || unsafe { libc::syscall(libc::SYS_syncfs, fd) as c_int })
}

#[unsafe(no_mangle)]
pub extern "C" fn sync() {
    let call = || {
        // SAFETY: no arguments.
        unsafe { libc::syscall(libc::SYS_sync) };
    };
    let Some(state) = state() else { return call() };
    match state.syncing {
        Syncing::Off => return,
        Syncing::Claimed => {}
        Syncing::Real => call(),
    }
    state.log.lock().append(Kind::SyncAll, [0; 3], b"", b"");
}

/// Starts writing and promises nothing (its manual says so), so nothing is recorded; but with syncing off it must not
/// sync either.
#[unsafe(no_mangle)]
pub extern "C" fn sync_file_range(fd: c_int, offset: off_t, n: off_t, flags: c_uint) -> c_int {
    match state() {
        Some(state) if state.syncing != Syncing::Real => 0,
        // SAFETY: the program's own call, passed on.
        Some(_) | None => unsafe { libc::syscall(libc::SYS_sync_file_range, fd, offset, n, flags) as c_int },
    }
}

/// Stores to a mapping are not recorded, so neither is their sync; the mapping itself was noted.
#[unsafe(no_mangle)]
pub extern "C" fn msync(start: *mut c_void, n: size_t, flags: c_int) -> c_int {
    match state() {
        Some(state) if state.syncing != Syncing::Real => 0,
        // SAFETY: the program's own call, passed on.
        Some(_) | None => unsafe { libc::syscall(libc::SYS_msync, start, n, flags) as c_int },
    }
}
