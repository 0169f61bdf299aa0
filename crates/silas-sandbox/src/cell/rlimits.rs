//! Resource limits of the program's processes. Which of them bind the whole cell is said in [`super`].

use super::{Limits, sys};
use std::io;

/// Enough for build tools and test runners, far below what exhausts the kernel.
const OPEN_FILES_MAX: u64 = 4096;

pub(super) fn apply(limits: &Limits) -> io::Result<()> {
    // No core files: they would hold the program's memory and fill the copy.
    sys::limit(libc::RLIMIT_CORE, 0)?;
    sys::limit(libc::RLIMIT_NOFILE, OPEN_FILES_MAX)?;
    sys::limit(libc::RLIMIT_FSIZE, limits.file_bytes_max)?;
    sys::limit(libc::RLIMIT_CPU, limits.cpu_secs_max)?;
    sys::limit(libc::RLIMIT_DATA, limits.memory_bytes_max)?;
    // The init counts too.
    sys::limit(libc::RLIMIT_NPROC, limits.processes_max.saturating_add(1))
}
