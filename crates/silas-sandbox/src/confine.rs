//! Confinement that a process puts on itself: file rules (Landlock), a system call filter (seccomp), and no capabilities.
//!
//! [`confine_front`] is for the process that talks to the network. The programs in a cell use the same means with
//! other rules, on top of their namespaces. Nothing here can be taken back, and nothing here starts a process.
//!
//! What this cannot do for the front: descriptors that are already open keep their rights, so confine before opening
//! more than is needed. Landlock judges neither modes, times nor attributes; the filter refuses to change them by
//! path. Before its ABI 9 Landlock does not judge connecting to a Unix socket by its path, which no filter can.

pub(crate) mod files;
pub(crate) mod syscalls;

use crate::cell::Error;
use crate::layers::{Layer, in_force};
use crate::syscall;
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
        write!(
            f,
            "file rules (Landlock ABI {}), no program can be started, system calls filtered, no capabilities",
            self.landlock_abi
        )?;
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
    if in_force(Layer::Capabilities) {
        // Root's front goes on as root without root's powers; its ports are bound and its files are its own.
        syscall::drop_capabilities().map_err(|cause| Error::Setup { step: "giving up capabilities", cause })?;
    }
    syscalls::restrict_front().map_err(|cause| Error::Seccomp { cause: cause.to_string() })?;
    for path in rules.writable {
        // A directory of somebody else's, on the way or at its end, is closed to a root without its powers.
        let step = "reaching the data directory (start Silas as the user who owns it and everything above it)";
        std::fs::read_dir(path).map_err(|cause| Error::Setup { step, cause })?;
    }
    Ok(Confinement { landlock_abi })
}
