//! What changes the content or the size of a file.

use crate::format::{AT_WRITES, Kind};
use crate::log::Guard;
use crate::place::Watched;
use crate::state::{On, State, state};
use crate::system;
use libc::{c_char, c_int, c_void, iovec, off_t, size_t, ssize_t};

/// How much of a copied range is read back at once.
const COPY_BYTES: usize = 64 << 10;

/// Does the call, unless a fault is due; records what `data` says that it wrote.
fn written(
    fd: c_int,
    offset: Option<off_t>,
    call: impl FnOnce() -> ssize_t,
    data: impl FnOnce(&mut [u8], u64),
) -> ssize_t {
    let Some(state) = state() else { return call() };
    let watched = system::keep_errno(|| state.look(fd));
    if let Watched::No = watched {
        return call();
    }
    let log = state.log.lock();
    let inode = match watched {
        Watched::Inode(inode) => Some(inode),
        Watched::Marks | Watched::No => None,
    };
    if inode.is_some()
        && let Some(errno) = fault(state, &log)
    {
        system::set_errno(errno);
        return -1;
    }
    let n_written = call();
    let Ok(n_bytes) = usize::try_from(n_written) else { return n_written };
    if n_bytes == 0 {
        return n_written;
    }
    system::keep_errno(|| {
        let flags = system::flags_of(fd);
        // A file opened for appending takes everything at its end, whatever offset was asked for.
        let end = match offset {
            Some(offset) if flags & libc::O_APPEND == 0 => Some(offset as u64 + n_bytes as u64),
            Some(_) => system::file_status(fd).map(|status| status.st_size as u64),
            None => system::position(fd),
        };
        let start = end.map_or(0, |end| end.saturating_sub(n_bytes as u64));
        match inode {
            Some(inode) => {
                log.append_with(Kind::Write, [inode, start, 0], n_bytes, b"", |into| data(into, start));
                if flags & libc::O_DSYNC != 0 {
                    log.append(Kind::Sync, [inode, 0, 0], b"", b"");
                }
            }
            None => log.append_with(Kind::Mark, [0; 3], n_bytes, b"", |into| data(into, start)),
        }
    });
    n_written
}

fn fault(state: &State, log: &Guard<'_>) -> Option<c_int> {
    let n = log.count(AT_WRITES);
    state.fault.as_ref()?.strikes(On::Write, n)
}

fn write_one(fd: c_int, data: *const c_void, n: size_t, offset: Option<off_t>) -> ssize_t {
    let call = || {
        // SAFETY: the program's own call, passed on.
        let n_written = unsafe {
            match offset {
                Some(offset) => libc::syscall(libc::SYS_pwrite64, fd, data, n, offset),
                None => libc::syscall(libc::SYS_write, fd, data, n),
            }
        };
        n_written as ssize_t
    };
    written(fd, offset, call, |into, _| {
        // SAFETY: the kernel has just read as many bytes from there.
        into.copy_from_slice(unsafe { std::slice::from_raw_parts(data.cast(), into.len()) });
    })
}

fn write_parts(fd: c_int, parts: *const iovec, n: c_int, offset: Option<off_t>) -> ssize_t {
    let call = || {
        // SAFETY: the program's own call, passed on. The offset goes in two halves, of which 64-bit kernels read the first.
        let n_written = unsafe {
            match offset {
                Some(offset) => libc::syscall(libc::SYS_pwritev, fd, parts, n, offset, 0),
                None => libc::syscall(libc::SYS_writev, fd, parts, n),
            }
        };
        n_written as ssize_t
    };
    written(fd, offset, call, |mut into, _| {
        // SAFETY: the kernel has just read this list, whose length it checked.
        let parts = unsafe { std::slice::from_raw_parts(parts, n as usize) };
        for part in parts {
            let n_bytes = part.iov_len.min(into.len());
            // SAFETY: the kernel has just read as many bytes from there.
            let data = unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>().cast_const(), n_bytes) };
            let (here, rest) = into.split_at_mut(n_bytes);
            here.copy_from_slice(data);
            into = rest;
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn write(fd: c_int, data: *const c_void, n: size_t) -> ssize_t {
    write_one(fd, data, n, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn pwrite(fd: c_int, data: *const c_void, n: size_t, offset: off_t) -> ssize_t {
    write_one(fd, data, n, Some(offset))
}

#[unsafe(no_mangle)]
pub extern "C" fn pwrite64(fd: c_int, data: *const c_void, n: size_t, offset: off_t) -> ssize_t {
    write_one(fd, data, n, Some(offset))
}

#[unsafe(no_mangle)]
pub extern "C" fn writev(fd: c_int, parts: *const iovec, n: c_int) -> ssize_t {
    write_parts(fd, parts, n, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn pwritev(fd: c_int, parts: *const iovec, n: c_int, offset: off_t) -> ssize_t {
    write_parts(fd, parts, n, Some(offset))
}

#[unsafe(no_mangle)]
pub extern "C" fn pwritev64(fd: c_int, parts: *const iovec, n: c_int, offset: off_t) -> ssize_t {
    write_parts(fd, parts, n, Some(offset))
}

/// The flags ask for more than is recorded at most; what is recorded is right.
#[unsafe(no_mangle)]
pub extern "C" fn pwritev2(fd: c_int, parts: *const iovec, n: c_int, offset: off_t, _flags: c_int) -> ssize_t {
    write_parts(fd, parts, n, (offset != -1).then_some(offset))
}

#[unsafe(no_mangle)]
pub extern "C" fn pwritev64v2(fd: c_int, parts: *const iovec, n: c_int, offset: off_t, flags: c_int) -> ssize_t {
    pwritev2(fd, parts, n, offset, flags)
}

/// The kernel copied; what it wrote is read back. The descriptor itself may be for writing only.
fn read_back(fd: c_int, into: &mut [u8], start: u64) {
    let Some(fd) = system::open_again_to_read(fd) else { return };
    let mut done = 0;
    for piece in into.chunks_mut(COPY_BYTES) {
        done += system::read_at(fd, piece.as_mut_ptr().cast(), piece.len(), start + done as u64);
    }
    system::close(fd);
}

#[unsafe(no_mangle)]
pub extern "C" fn copy_file_range(
    from: c_int,
    from_at: *mut off_t,
    to: c_int,
    to_at: *mut off_t,
    n: size_t,
    flags: u32,
) -> ssize_t {
    // SAFETY: either nothing or the program's own number.
    let offset = (!to_at.is_null()).then(|| unsafe { *to_at });
    let call = || {
        // SAFETY: the program's own call, passed on.
        (unsafe { libc::syscall(libc::SYS_copy_file_range, from, from_at, to, to_at, n, flags) }) as ssize_t
    };
    written(to, offset, call, |into, start| read_back(to, into, start))
}

#[unsafe(no_mangle)]
pub extern "C" fn sendfile(to: c_int, from: c_int, from_at: *mut off_t, n: size_t) -> ssize_t {
    let call = || {
        // SAFETY: the program's own call, passed on.
        (unsafe { libc::syscall(libc::SYS_sendfile, to, from, from_at, n) }) as ssize_t
    };
    written(to, None, call, |into, start| read_back(to, into, start))
}

#[unsafe(no_mangle)]
pub extern "C" fn sendfile64(to: c_int, from: c_int, from_at: *mut off_t, n: size_t) -> ssize_t {
    sendfile(to, from, from_at, n)
}

/// Does the call and records the size that the file has afterwards.
fn resized(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let Some(state) = state() else { return call() };
    let Watched::Inode(inode) = system::keep_errno(|| state.look(fd)) else { return call() };
    let log = state.log.lock();
    if let Some(errno) = fault(state, &log) {
        system::set_errno(errno);
        return -1;
    }
    let answer = call();
    if answer == 0
        && let Some(status) = system::file_status(fd)
    {
        log.append(Kind::Truncate, [inode, status.st_size as u64, 0], b"", b"");
    }
    answer
}

#[unsafe(no_mangle)]
pub extern "C" fn ftruncate(fd: c_int, size: off_t) -> c_int {
    // SAFETY: the program's own call, passed on.
    resized(fd, || unsafe { libc::syscall(libc::SYS_ftruncate, fd, size) as c_int })
}

#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(fd: c_int, size: off_t) -> c_int {
    ftruncate(fd, size)
}

#[unsafe(no_mangle)]
pub extern "C" fn truncate(path: *const c_char, size: off_t) -> c_int {
    // SAFETY: opens only; the path is the program's own.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_WRONLY | libc::O_CLOEXEC, 0) };
    let Some(fd) = c_int::try_from(fd).ok().filter(|fd| *fd >= 0) else { return -1 };
    let answer = ftruncate(fd, size);
    system::keep_errno(|| system::close(fd));
    answer
}

#[unsafe(no_mangle)]
pub extern "C" fn truncate64(path: *const c_char, size: off_t) -> c_int {
    truncate(path, size)
}

/// Reserving room may move the end of the file; holes that are punched are recorded as a blind spot.
#[unsafe(no_mangle)]
pub extern "C" fn fallocate(fd: c_int, mode: c_int, offset: off_t, n: off_t) -> c_int {
    if mode & !libc::FALLOC_FL_KEEP_SIZE != 0 {
        crate::mappings::note(fd, b"fallocate");
    }
    // SAFETY: the program's own call, passed on.
    resized(fd, || unsafe { libc::syscall(libc::SYS_fallocate, fd, mode, offset, n) as c_int })
}

#[unsafe(no_mangle)]
pub extern "C" fn fallocate64(fd: c_int, mode: c_int, offset: off_t, n: off_t) -> c_int {
    fallocate(fd, mode, offset, n)
}

/// This one returns the error and leaves `errno` alone.
#[unsafe(no_mangle)]
pub extern "C" fn posix_fallocate(fd: c_int, offset: off_t, n: off_t) -> c_int {
    let before = system::errno();
    let answer = match fallocate(fd, 0, offset, n) {
        0 => 0,
        _ => system::errno(),
    };
    system::set_errno(before);
    answer
}

#[unsafe(no_mangle)]
pub extern "C" fn posix_fallocate64(fd: c_int, offset: off_t, n: off_t) -> c_int {
    posix_fallocate(fd, offset, n)
}
