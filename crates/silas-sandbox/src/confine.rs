//! Confinement that a process puts on itself: file rules (Landlock) and a system call filter (seccomp).
//!
//! [`confine_front`] is for the process that talks to the network. The programs in a cell use the same two means with
//! other rules, on top of their namespaces. Nothing here can be taken back, and nothing here starts a process.
//!
//! What this cannot do for the front: descriptors that are already open keep their rights, so confine before opening
//! more than is needed. Landlock does not judge `chmod` (set-id bits are refused by the filter, other modes are not),
//! and before its ABI 9 it does not judge connecting to a Unix socket by its path.

pub(crate) mod files;
pub(crate) mod syscalls;

use crate::cell::Error;
use std::path::PathBuf;

/// What the front may touch. Whatever is beneath a directory counts.
#[derive(Clone, Copy, Debug)]
pub struct FrontRules<'a> {
    /// Must exist. Writable means readable too.
    pub writable: &'a [PathBuf],
    /// Those that do not exist are left out.
    pub readable: &'a [PathBuf],
}

/// What is in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Confinement {
    /// Version of the kernel's file rules, 2 or higher.
    pub landlock_abi: u32,
}

impl std::fmt::Display for Confinement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file rules (Landlock ABI {}), no program can be started, system calls filtered", self.landlock_abi)?;
        if self.landlock_abi < 6 {
            f.write_str("; signals to other processes are not confined by this kernel")?;
        }
        if self.landlock_abi < 9 {
            f.write_str("; Unix sockets with a path are not confined by this kernel")?;
        }
        Ok(())
    }
}

/// Write only beneath `writable`, `/dev/null` and `/dev/tty`; read only there and beneath `readable`; start nothing.
/// TCP stays allowed. Threads that are made later are confined too, and so this must be called before the first.
///
/// If the kernel cannot enforce it, this is an error and the process must not go on.
pub fn confine_front(rules: &FrontRules<'_>) -> Result<Confinement, Error> {
    crate::cell::refuse_threads()?;
    let landlock_abi = files::restrict_front(rules.writable, rules.readable)
        .map_err(|cause| Error::Landlock { cause: cause.to_string() })?;
    syscalls::restrict_front().map_err(|cause| Error::Seccomp { cause: cause.to_string() })?;
    Ok(Confinement { landlock_abi })
}
