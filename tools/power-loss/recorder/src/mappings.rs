//! Notes where a file may change without a call: shared writable mappings.

use crate::format::Kind;
use crate::place::Watched;
use crate::state::state;
use crate::system::{self, PATH_BYTES};
use libc::{c_int, c_void, off_t, size_t};

/// Says in the log that the recording has a blind spot here.
pub(crate) fn note(fd: c_int, how: &[u8]) {
    let Some(state) = state() else { return };
    system::keep_errno(|| {
        let Watched::Inode(inode) = state.look(fd) else { return };
        let mut buffer = [0; PATH_BYTES];
        let path = system::path_of(fd, &mut buffer).unwrap_or(b"");
        state.log.lock().append(Kind::Blind, [inode, 0, 0], path, how);
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn mmap(
    start: *mut c_void,
    n: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    if fd >= 0 && protection & libc::PROT_WRITE != 0 && flags & libc::MAP_SHARED != 0 {
        note(fd, b"mmap");
    }
    // SAFETY: the program's own call, passed on.
    (unsafe { libc::syscall(libc::SYS_mmap, start, n, protection, flags, fd, offset) }) as *mut c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn mmap64(
    start: *mut c_void,
    n: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    mmap(start, n, protection, flags, fd, offset)
}
