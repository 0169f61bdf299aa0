//! Resource limits of the program's processes. Which of them bind the whole cell is said in [`super`].

use super::{Limits, sys};
use std::io;

/// Enough for build tools and test runners. Descriptors that are on their way through a socket are counted for the user, and
/// whoever sends is refused when more are under way than they may have open: up to 253 beyond this can be, which leaves the
/// owner's programs some of the 1024 that they usually have.
const OPEN_FILES_MAX: u64 = 768;
/// Counted for the user as well, of whom others have tens of thousands: signals that wait, and timers.
const SIGNALS_MAX: u64 = 1024;
/// The same in bytes: queues of messages, of which a user usually has 800 KB, and memory that may not be swapped out.
const QUEUES_BYTES_MAX: u64 = 200 << 10;
const LOCKED_BYTES_MAX: u64 = 1 << 20;

pub(super) fn apply(limits: &Limits) -> io::Result<()> {
    // No core files: they would hold the program's memory and fill the copy.
    sys::limit(libc::RLIMIT_CORE, 0)?;
    sys::limit(libc::RLIMIT_NOFILE, OPEN_FILES_MAX)?;
    sys::limit(libc::RLIMIT_SIGPENDING, SIGNALS_MAX)?;
    sys::limit(libc::RLIMIT_MSGQUEUE, QUEUES_BYTES_MAX)?;
    sys::limit(libc::RLIMIT_MEMLOCK, LOCKED_BYTES_MAX)?;
    sys::limit(libc::RLIMIT_FSIZE, limits.file_bytes_max)?;
    sys::limit(libc::RLIMIT_CPU, limits.cpu_secs_max)?;
    sys::limit(libc::RLIMIT_DATA, limits.memory_bytes_max)?;
    // The init counts too.
    sys::limit(libc::RLIMIT_NPROC, limits.processes_max.saturating_add(1))
}
