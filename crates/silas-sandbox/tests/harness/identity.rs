//! As whom a case runs. Everything that isolates must do so for root and for an ordinary user.

/// An ordinary user that no file of the system belongs to.
pub(crate) const ORDINARY_ID: u32 = 12345;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Root,
    Ordinary,
}

impl Identity {
    /// Whoever started the tests, and for root also an ordinary user.
    pub(crate) fn all() -> Vec<Identity> {
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
            let id = ORDINARY_ID;
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
