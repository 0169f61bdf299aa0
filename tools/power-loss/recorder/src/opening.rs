//! Opening: files that come into being and files that are emptied by it.

use crate::format::Kind;
use crate::state::{State, state};
use crate::system::{self, PATH_BYTES};
use libc::{AT_FDCWD, c_char, c_int, mode_t};

fn open_at(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let opened = || {
        // SAFETY: the program's own call, passed on.
        unsafe { libc::syscall(libc::SYS_openat, dir, path, flags, mode) as c_int }
    };
    let is_nameless = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    match state() {
        Some(state) if is_nameless || flags & (libc::O_CREAT | libc::O_TRUNC) != 0 => {
            if !is_nameless && system::keep_errno(|| state.locate(dir, path)).is_none() {
                return opened();
            }
            recorded(state, is_nameless, dir, path, flags, opened)
        }
        Some(_) | None => opened(),
    }
}

fn recorded(
    state: &State,
    is_nameless: bool,
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    opened: impl FnOnce() -> c_int,
) -> c_int {
    let log = state.log.lock();
    // All who could make it meanwhile are recorded too, and wait.
    let before = if is_nameless { None } else { system::keep_errno(|| system::status_at(dir, path)) };
    let fd = opened();
    if fd < 0 {
        return fd;
    }
    system::keep_errno(|| {
        let Some(status) = system::file_status(fd) else { return };
        let (inode, mode) = (status.st_ino, u64::from(status.st_mode));
        let mut buffer = [0; PATH_BYTES];
        let Some(place) = state.place_of(fd, &mut buffer) else { return };
        if is_nameless {
            log.append(Kind::Create, [0, inode, mode], b"", b"");
        } else if before.is_none() {
            log.append(Kind::Create, [place.parent, inode, mode], place.name, b"");
        } else if flags & libc::O_TRUNC != 0 {
            log.append(Kind::Truncate, [inode, 0, 0], b"", b"");
        }
    });
    fd
}

/// The C declaration is variadic; the mode is in the same register either way on the systems that Linux runs on here.
#[unsafe(no_mangle)]
pub extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    open_at(AT_FDCWD, path, flags, mode)
}

#[unsafe(no_mangle)]
pub extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    open_at(AT_FDCWD, path, flags, mode)
}

#[unsafe(no_mangle)]
pub extern "C" fn openat(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    open_at(dir, path, flags, mode)
}

#[unsafe(no_mangle)]
pub extern "C" fn openat64(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    open_at(dir, path, flags, mode)
}

#[unsafe(no_mangle)]
pub extern "C" fn creat(path: *const c_char, mode: mode_t) -> c_int {
    open_at(AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode)
}

#[unsafe(no_mangle)]
pub extern "C" fn creat64(path: *const c_char, mode: mode_t) -> c_int {
    creat(path, mode)
}

/// What programs built with fortification call; they never create.
#[unsafe(no_mangle)]
pub extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    open_at(AT_FDCWD, path, flags, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    open_at(AT_FDCWD, path, flags, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn __openat_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    open_at(dir, path, flags, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn __openat64_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    open_at(dir, path, flags, 0)
}
