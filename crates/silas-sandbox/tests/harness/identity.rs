//! As whom a case runs. Everything that isolates must do so for root and for an ordinary user.

use std::sync::OnceLock;

/// An ordinary user that no file of the system belongs to, and no process: what the kernel counts for a user would otherwise be
/// counted for two runs of the tests together. The same in all that this process forks, once [`Identity::all`] was asked.
pub(crate) fn ordinary_id() -> u32 {
    static ID: OnceLock<u32> = OnceLock::new();
    *ID.get_or_init(|| 20_000 + std::process::id() % 40_000)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Root,
    Ordinary,
}

impl Identity {
    /// Whoever started the tests, and for root also an ordinary user.
    pub(crate) fn all() -> Vec<Identity> {
        ordinary_id();
        if is_root() { vec![Identity::Root, Identity::Ordinary] } else { vec![Identity::Ordinary] }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Identity::Root => "root",
            Identity::Ordinary => "user",
        }
    }

    /// Becomes that user for good.
    pub(crate) fn assume(self) {
        if self == Identity::Ordinary && is_root() {
            let id = ordinary_id();
            // SAFETY: only numbers and an empty list are passed. Being dumpable is what an ordinary process is, and
            // changing the user id took it away.
            unsafe {
                assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
                assert_eq!(libc::setresgid(id, id, id), 0);
                assert_eq!(libc::setresuid(id, id, id), 0);
                assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
            }
        }
    }
}

pub(crate) fn is_root() -> bool {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() == 0 }
}
