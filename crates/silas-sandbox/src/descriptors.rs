//! How many files and connections this process may hold open.

#![allow(unsafe_code)]

/// Raises the soft limit towards `wanted`, as far as the hard one allows. What is started later starts with it; a cell
/// sets its own. Where nothing can be raised the old limit stays: whoever comes too many is turned away then.
pub fn raise_descriptor_limit(wanted: u64) {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` outlives both calls, which only read and write it.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) == 0 && now.rlim_cur < wanted {
            now.rlim_cur = wanted.min(now.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const now);
        }
    }
}
