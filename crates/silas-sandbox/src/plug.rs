//! What a fail point of a test does when it is reached.

#![allow(unsafe_code)]

/// Kills the whole process group without a chance to tidy up, as a power cut would.
pub fn pull_the_plug() -> ! {
    // SAFETY: signals only our own process group; there is no state to keep.
    unsafe { libc::kill(0, libc::SIGKILL) };
    std::process::abort()
}
