//! How a process of ours ends when it should not tidy up: by a fail point of a test, or because nobody reads it.

#![allow(unsafe_code)]

/// Kills the whole process group without a chance to tidy up, as a power cut would.
pub fn pull_the_plug() -> ! {
    // SAFETY: signals only our own process group; there is no state to keep.
    unsafe { libc::kill(0, libc::SIGKILL) };
    std::process::abort()
}

/// For commands that print: when nobody reads any more, the process ends instead of complaining.
pub fn end_when_nobody_reads() {
    // SAFETY: the default action is a valid disposition, and no handler of ours is replaced.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
