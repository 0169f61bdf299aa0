//! The layers of isolation, by name: what each is, and that all of them are in force.
//!
//! There is no way to run with less. [`in_force`] is the constant `true`; only when this crate's own unit tests are built
//! is it something else, so that they can leave a layer out and show that the attempt which it alone stops then succeeds
//! (`layers/tests.rs`). No request, no setting, no environment variable and no Cargo feature reaches it.

/// One wall. The order is that of the setup; what each of them alone stops is in the table of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Layer {
    /// A user namespace with one unprivileged user; for root also mounts with mapped owners.
    User,
    /// A mount namespace with a root of its own, in which only what was granted exists.
    Root,
    /// A pid namespace, whose init takes everything with it.
    Processes,
    /// A network namespace with nothing but its own loopback.
    Network,
    /// A namespace of message queues and shared memory.
    Ipc,
    /// A namespace of the host's name.
    HostName,
    /// A control group that bounds all processes together.
    Group,
    /// A cgroup namespace, which hides where that group lies.
    GroupView,
    /// Mounts that cannot be written, where only reading was granted, and those parts of `/proc` that set up the kernel.
    ReadOnly,
    /// What was granted for reading is seen through a layer that is the cell's own: pipes, sockets and locks in it are not
    /// the owner's.
    Apart,
    /// Mounts in which set-id bits and file capabilities mean nothing.
    NoSetId,
    /// Inherited descriptors are closed.
    Descriptors,
    /// The init's memory and environment cannot be read.
    Inspection,
    /// A session without a terminal and without keys.
    Session,
    /// No capability can be had from a file.
    BoundingSet,
    /// No capability is held.
    Capabilities,
    /// Executing a file never adds privileges.
    NoNewPrivileges,
    /// The environment is what was asked for and nothing of the caller's. Nothing has to be done for it.
    #[cfg_attr(not(test), allow(dead_code, reason = "only leaving it out takes code"))]
    Environment,
    /// Limits of each single process.
    ResourceLimits,
    /// File rules.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// The init ends when the caller is gone.
    Lifeline,
}

#[cfg(not(test))]
pub(crate) const fn in_force(_: Layer) -> bool {
    true
}

#[cfg(test)]
pub(crate) mod omission;
#[cfg(test)]
pub(crate) use omission::in_force;
#[cfg(test)]
mod tests;
