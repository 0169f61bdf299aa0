//! What changes names: directories that are made, names that move, appear a second time or go.

use crate::format::Kind;
use crate::log::Guard;
use crate::place::Place;
use crate::state::state;
use crate::system;
use libc::{AT_FDCWD, c_char, c_int, c_uint, mode_t};
use std::ffi::CStr;

/// Does a call that changes the name at a path, and records it if it worked.
fn named(
    dir: c_int,
    path: *const c_char,
    call: impl FnOnce() -> c_int,
    record: impl FnOnce(&Guard<'_>, &Place<'_>),
) -> c_int {
    let Some(state) = state() else { return call() };
    let Some(place) = system::keep_errno(|| state.locate(dir, path)) else { return call() };
    let log = state.log.lock();
    let answer = call();
    if answer == 0 {
        system::keep_errno(|| record(&log, &place));
    }
    answer
}

/// Records what a path newly names.
fn record_new(log: &Guard<'_>, place: &Place<'_>, dir: c_int, path: *const c_char, target: &[u8]) {
    if let Some(status) = system::status_at(dir, path) {
        log.append(Kind::Create, [place.parent, status.st_ino, u64::from(status.st_mode)], place.name, target);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mkdirat(dir: c_int, path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the program's own call, passed on.
    let call = || unsafe { libc::syscall(libc::SYS_mkdirat, dir, path, mode) as c_int };
    named(dir, path, call, |log, place| record_new(log, place, dir, path, b""))
}

#[unsafe(no_mangle)]
pub extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    mkdirat(AT_FDCWD, path, mode)
}

#[unsafe(no_mangle)]
pub extern "C" fn symlinkat(target: *const c_char, dir: c_int, path: *const c_char) -> c_int {
    // SAFETY: the program's own call, passed on.
    let call = || unsafe { libc::syscall(libc::SYS_symlinkat, target, dir, path) as c_int };
    named(dir, path, call, |log, place| {
        // SAFETY: the kernel has just read this C string.
        record_new(log, place, dir, path, unsafe { CStr::from_ptr(target) }.to_bytes());
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn symlink(target: *const c_char, path: *const c_char) -> c_int {
    symlinkat(target, AT_FDCWD, path)
}

#[unsafe(no_mangle)]
pub extern "C" fn unlinkat(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the program's own call, passed on.
    let call = || unsafe { libc::syscall(libc::SYS_unlinkat, dir, path, flags) as c_int };
    named(dir, path, call, |log, place| log.append(Kind::Unlink, [place.parent, 0, 0], place.name, b""))
}

#[unsafe(no_mangle)]
pub extern "C" fn unlink(path: *const c_char) -> c_int {
    unlinkat(AT_FDCWD, path, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn rmdir(path: *const c_char) -> c_int {
    unlinkat(AT_FDCWD, path, libc::AT_REMOVEDIR)
}

#[unsafe(no_mangle)]
pub extern "C" fn linkat(
    from_dir: c_int,
    from: *const c_char,
    to_dir: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the program's own call, passed on.
    let call = || unsafe { libc::syscall(libc::SYS_linkat, from_dir, from, to_dir, to, flags) as c_int };
    named(to_dir, to, call, |log, place| {
        if let Some(status) = system::status_at(to_dir, to) {
            log.append(Kind::Link, [place.parent, status.st_ino, 0], place.name, b"");
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn link(from: *const c_char, to: *const c_char) -> c_int {
    linkat(AT_FDCWD, from, AT_FDCWD, to, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn renameat2(
    from_dir: c_int,
    from: *const c_char,
    to_dir: c_int,
    to: *const c_char,
    flags: c_uint,
) -> c_int {
    // SAFETY: the program's own call, passed on.
    let call = || unsafe { libc::syscall(libc::SYS_renameat2, from_dir, from, to_dir, to, flags) as c_int };
    let Some(state) = state() else { return call() };
    let (before, after) = system::keep_errno(|| (state.locate(from_dir, from), state.locate(to_dir, to)));
    if before.is_none() && after.is_none() {
        return call();
    }
    let log = state.log.lock();
    let answer = call();
    if answer == 0 {
        match (before, after) {
            (Some(before), Some(after)) => {
                let numbers = [before.parent, after.parent, u64::from(flags)];
                log.append(Kind::Rename, numbers, before.name, after.name);
            }
            // What comes in from outside has a content that was never recorded.
            (None, Some(after)) => log.append(Kind::Blind, [after.parent, 0, 0], after.name, b"rename from outside"),
            (Some(before), None) => log.append(Kind::Unlink, [before.parent, 0, 0], before.name, b""),
            (None, None) => {}
        }
    }
    answer
}

#[unsafe(no_mangle)]
pub extern "C" fn renameat(from_dir: c_int, from: *const c_char, to_dir: c_int, to: *const c_char) -> c_int {
    renameat2(from_dir, from, to_dir, to, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    renameat2(AT_FDCWD, from, AT_FDCWD, to, 0)
}
