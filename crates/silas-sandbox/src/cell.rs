//! A cell: one program, shut into its own namespaces with only the directories that it was given.
//!
//! The caller clones a child into new user, mount, pid, net, ipc and uts namespaces and puts it into a control group of
//! its own, where it may. That child builds a minimal root, moves into it, takes a cgroup namespace, gives up every
//! capability and becomes a small init (PID 1); the program runs below it under Landlock and a seccomp filter. When the caller dies, when time is up or when the program ends, the init goes
//! and the kernel takes everything in the pid namespace with it.
//!
//! This module does not decide what may be run or which directories are given, and it does not look at the output.
//! It never runs a program with less isolation than described here: what is missing is named in an [`Error`].
//!
//! # What the limits bind
//!
//! `wall`, `output_bytes_max` and `processes_max` bind the whole cell (since Linux 5.14 the kernel counts processes
//! per user namespace). `cpu_secs_max` and `file_bytes_max` are resource limits of *each single process*: ten processes
//! may use ten times as much. `memory_bytes_max` binds the whole cell, with its scratch space, where the caller may make
//! control groups; when it is reached, the whole cell is killed. It binds each single process everywhere, as
//! `RLIMIT_DATA` (private writable memory), not `RLIMIT_AS`, because runtimes such as Node, Go and Java reserve far more
//! address space than they use. [`CellOutcome::limits`] says which of the two it was. What all files together may take is
//! bound by what is free: a cell is ended before a disk that it can write to is full.

mod addresses;
mod buffers;
mod cgroup;
mod disk;
mod error;
mod idmap;
mod init;
mod names;
mod openings;
mod outlets;
mod overlay;
mod prepared;
mod report;
mod rlimits;
mod root;
mod signals;
mod sockets;
mod supervise;
mod sys;
#[cfg(test)]
mod tests;
mod watches;

pub use crate::broker::{Resolver, system_resolver};
pub(crate) use cgroup::settle;
pub use cgroup::{LimitsInForce, sweep};
pub use error::Error;
pub use openings::Opened;
pub use signals::Signalled;

use silas_core::host::HostGrant;
use silas_core::outside::{Nobody, Outside};
use silas_core::secret::SecretRef;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to run and what it may see.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// The program and its arguments. A name without `/` is looked up in the `PATH` of `env`, inside the cell.
    pub argv: Vec<String>,
    /// The whole environment. Nothing of the caller's is added.
    pub env: Vec<(String, String)>,
    /// Where the program starts, as it is called inside.
    pub cwd: PathBuf,
    /// Applied in this order, so a later mount may lie inside an earlier one.
    pub mounts: Vec<Mount>,
    /// The only hosts that can be reached; without any there is no network.
    pub hosts: Vec<HostGrant>,
    /// What `silas-secret get NAME` answers inside, in [`SECRET_PROGRAM_DIR`].
    pub secrets: Vec<SecretRef>,
    /// A port on which the program may listen, and on which programs of this machine reach it at 127.0.0.1.
    pub callback_port: Option<u16>,
    /// Directories inside, of which the outcome says which of their files were opened.
    pub watched: Vec<PathBuf>,
    /// Whether the outcome says which programs reached for others.
    pub signals: bool,
    pub limits: Limits,
}

/// A directory or file of the host, shown inside.
#[derive(Clone, Debug)]
pub struct Mount {
    /// On the host: absolute, and a real path (no component may be a symlink).
    pub source: PathBuf,
    /// Inside: absolute, without `..`. Usually the path that the original has.
    pub target: PathBuf,
    pub access: MountAccess,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MountAccess {
    ReadOnly,
    /// Read-only, with its owners as they are on disk: for tools that everybody may read, wherever they lie.
    Tools,
    ReadWrite,
    /// The source is only read. What is written goes into the first of these layers, which lies over the others, which
    /// lie over the source. A layer is a directory with an `upper` and a `work` directory in it.
    Layered(Vec<PathBuf>),
}

impl MountAccess {
    pub(crate) fn is_writable(&self) -> bool {
        match self {
            MountAccess::ReadOnly | MountAccess::Tools => false,
            MountAccess::ReadWrite | MountAccess::Layered(_) => true,
        }
    }
}

/// See the module documentation for which of these bind one process only.
#[derive(Clone, Debug)]
pub struct Limits {
    pub wall: Duration,
    /// For each of the two streams; what comes after is read and dropped.
    pub output_bytes_max: usize,
    pub memory_bytes_max: u64,
    pub cpu_secs_max: u64,
    pub processes_max: u64,
    pub file_bytes_max: u64,
    /// Ports of this machine to which no grant leads: those at which Silas itself answers.
    pub closed_ports: Vec<u16>,
}

impl Default for Limits {
    /// Generous for building and testing one project, small against what a machine has.
    fn default() -> Self {
        Limits {
            wall: Duration::from_secs(120),
            output_bytes_max: 1 << 20,
            memory_bytes_max: 4 << 30,
            cpu_secs_max: 600,
            processes_max: 512,
            file_bytes_max: 1 << 30,
            closed_ports: Vec::new(),
        }
    }
}

/// What a run showed.
#[derive(Clone, Debug)]
pub struct CellOutcome {
    pub ended: silas_core::check::Ended,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Of a stream that is longer than `output_bytes_max`, what came last, and how many bytes lie between.
    pub stdout_end: (Vec<u8>, u64),
    pub stderr_end: (Vec<u8>, u64),
    /// At least one of the streams was longer than `output_bytes_max`.
    pub is_truncated: bool,
    /// What `memory_bytes_max` and `processes_max` were enforced by.
    pub limits: LimitsInForce,
    /// All processes together wanted more than `memory_bytes_max`, and so all of them were killed.
    pub is_memory_exceeded: bool,
    /// A disk that the program could write to was nearly full, and so all of it was killed.
    pub is_disk_nearly_full: bool,
    /// Names that it asked for and addresses that it tried (with the port), which were not granted: each once, as they could
    /// be granted, and only the first few.
    pub asked: Vec<String>,
    /// What happened to the files of the watched directories. `None` if
    /// nothing was watched, or not all of it.
    pub opened: Option<Opened>,
    /// Which programs reached for others. `None` if nobody asked, or nobody could see.
    pub signalled: Option<Signalled>,
    pub took: Duration,
}

/// Where a program reads from and writes to.
#[derive(Debug)]
pub enum Streams {
    /// Nothing to read; what it writes is in the outcome, up to the limit.
    Kept,
    /// Somebody else holds the other ends of these pipes, and bounds what passes. The outcome has no output then.
    Piped { stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd },
}

/// Who is told of connections and asked for secrets, and who knows addresses.
pub struct Brokers<'a> {
    pub outside: &'a mut dyn Outside,
    pub resolver: Resolver<'a>,
}

/// The directory for `PATH` in which a cell with secrets has `silas-secret`.
pub const SECRET_PROGRAM_DIR: &str = outlets::OWN_DIR;
pub(crate) use outlets::{SECRET_PROGRAM, SECRET_SOCKET};

/// [`run_with`], and nobody outside: nothing can be reached even if it was granted.
pub fn run(spec: &CellSpec, cancel: Option<BorrowedFd<'_>>) -> Result<CellOutcome, Error> {
    run_with(spec, Streams::Kept, cancel, Brokers { outside: &mut Nobody, resolver: &crate::broker::system_resolver })
}

/// Runs the program and waits until nothing of it is left.
///
/// Must be called from a single-threaded process: the child goes on running our code after `clone`, and another thread
/// might have held the allocator's lock at that moment. When `cancel` becomes readable or hangs up, the cell is killed
/// and [`Error::Cancelled`] is returned.
pub fn run_with(
    spec: &CellSpec,
    streams: Streams,
    cancel: Option<BorrowedFd<'_>>,
    brokers: Brokers<'_>,
) -> Result<CellOutcome, Error> {
    let started = Instant::now();
    finish(&prepared::Prepared::new(spec)?, started, streams, cancel, brokers)
}

fn finish(
    prepared: &prepared::Prepared<'_>,
    started: Instant,
    streams: Streams,
    cancel: Option<BorrowedFd<'_>>,
    brokers: Brokers<'_>,
) -> Result<CellOutcome, Error> {
    let mut seen = supervise::run(prepared, prepared.limits, streams, cancel, brokers)?;
    Ok(CellOutcome {
        ended: seen.ended,
        is_truncated: seen.stdout.is_cut || seen.stderr.is_cut,
        stdout_end: seen.stdout.take_end(),
        stderr_end: seen.stderr.take_end(),
        stdout: seen.stdout.kept,
        stderr: seen.stderr.kept,
        limits: seen.limits,
        is_memory_exceeded: seen.is_memory_exceeded,
        is_disk_nearly_full: seen.is_disk_nearly_full,
        asked: seen.asked,
        opened: seen.opened,
        signalled: seen.signalled,
        took: started.elapsed(),
    })
}

/// Code of our own that runs in the place of a program, as confined as one; it gives its exit code.
pub(crate) type Own<'a> = &'a dyn Fn() -> i32;

/// [`run`] with code of our own in the place of the program, which `spec` only names. It is a copy of this process that
/// has given up everything that a program would not have; what it knows is what this process knows.
pub(crate) fn run_own(spec: &CellSpec, own: Own<'_>, cancel: Option<BorrowedFd<'_>>) -> Result<CellOutcome, Error> {
    let brokers = Brokers { outside: &mut Nobody, resolver: &crate::broker::system_resolver };
    let prepared = prepared::Prepared { own: Some(own), ..prepared::Prepared::new(spec)? };
    finish(&prepared, Instant::now(), Streams::Kept, cancel, brokers)
}

/// Everything here is bound to the calling thread or copies only it.
pub(crate) fn refuse_threads() -> Result<(), Error> {
    let n_threads =
        std::fs::read_dir("/proc/self/task").map_err(|cause| Error::Setup { step: "counting threads", cause })?.count();
    if n_threads == 1 { Ok(()) } else { Err(Error::Threads(n_threads)) }
}
