//! The system calls themselves. Everything here goes past the functions that this library stands in for.

use libc::{c_char, c_int, c_long, c_void, stat};
use std::ffi::CStr;

/// Longest path the kernel takes.
pub(crate) const PATH_BYTES: usize = 4096;

pub(crate) fn errno() -> c_int {
    // SAFETY: the location is this thread's own and always valid.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the location is this thread's own and always valid.
    unsafe { *libc::__errno_location() = errno }
}

/// Runs what may disturb `errno` after the call that the program asked for has set it.
pub(crate) fn keep_errno<T>(act: impl FnOnce() -> T) -> T {
    let before = errno();
    let result = act();
    set_errno(before);
    result
}

pub(crate) fn file_status(fd: c_int) -> Option<stat> {
    // SAFETY: `stat` is plain numbers, for which zeros are valid.
    let mut status: stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills a structure of its own layout that lives here.
    (unsafe { libc::fstat(fd, &raw mut status) } == 0).then_some(status)
}

/// Follows no symbolic link at the end of the path.
pub(crate) fn status_at(dir: c_int, path: *const c_char) -> Option<stat> {
    // SAFETY: `stat` is plain numbers, for which zeros are valid.
    let mut status: stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path is the caller's C string, the structure lives here.
    (unsafe { libc::fstatat(dir, path, &raw mut status, libc::AT_SYMLINK_NOFOLLOW) } == 0).then_some(status)
}

/// The path of an open file as the kernel knows it, without links. Longer ones than `PATH_BYTES` are not ours.
pub(crate) fn path_of(fd: c_int, buffer: &mut [u8; PATH_BYTES]) -> Option<&[u8]> {
    let link = link_to(fd)?;
    let link = CStr::from_bytes_until_nul(&link).ok()?;
    // SAFETY: the link is a C string, and the kernel writes at most the length it is given.
    let n = unsafe { libc::readlink(link.as_ptr(), buffer.as_mut_ptr().cast(), PATH_BYTES) };
    buffer.get(..usize::try_from(n).ok()?)
}

/// Text without allocation: this runs inside programs that may just be out of memory, or between fork and exec.
fn link_to(fd: c_int) -> Option<[u8; 32]> {
    let mut link = [0u8; 32];
    let prefix = b"/proc/self/fd/";
    let mut rest = u32::try_from(fd).ok()?;
    let mut digits = [0u8; 10];
    let mut n = 0;
    loop {
        digits[n] = b'0' + (rest % 10) as u8;
        rest /= 10;
        n += 1;
        if rest == 0 {
            break;
        }
    }
    link[..prefix.len()].copy_from_slice(prefix);
    for (place, digit) in link[prefix.len()..].iter_mut().zip(digits[..n].iter().rev()) {
        *place = *digit;
    }
    Some(link)
}

pub(crate) fn open_again_to_read(fd: c_int) -> Option<c_int> {
    let link = link_to(fd)?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: opens only; the path is a C string that lives here.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, link.as_ptr(), flags, 0) };
    c_int::try_from(fd).ok().filter(|fd| *fd >= 0)
}

pub(crate) fn open_directory(dir: c_int, path: *const c_char) -> Option<c_int> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: opens only; the path is a C string of the caller.
    let fd = unsafe { libc::syscall(libc::SYS_openat, dir, path, flags, 0) };
    c_int::try_from(fd).ok().filter(|fd| *fd >= 0)
}

pub(crate) fn close(fd: c_int) {
    // SAFETY: closes a descriptor that we opened ourselves.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

pub(crate) fn position(fd: c_int) -> Option<u64> {
    // SAFETY: moves nothing.
    u64::try_from(unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) }).ok()
}

/// O_APPEND, O_DSYNC and their like, as they stand now.
pub(crate) fn flags_of(fd: c_int) -> c_int {
    // SAFETY: asks only.
    unsafe { libc::fcntl(fd, libc::F_GETFL) }
}

pub(crate) fn read_at(fd: c_int, into: *mut c_void, n: usize, offset: u64) -> usize {
    // SAFETY: the caller owns `n` bytes at `into`.
    let n = unsafe { libc::syscall(libc::SYS_pread64, fd, into, n, offset) };
    usize::try_from(n).unwrap_or(0)
}

pub(crate) fn thread_id() -> u32 {
    // SAFETY: asks only.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

pub(crate) fn is_alive(thread: u32) -> bool {
    // SAFETY: signal 0 is no signal; it only asks whether there is somebody.
    let answer: c_long = unsafe { libc::syscall(libc::SYS_kill, thread, 0) };
    answer == 0 || errno() != libc::ESRCH
}
