//! The caller's side of a cell: starts it, collects bounded output, and ends it when time is up or nobody wants it.
//!
//! Whatever happens here, the cell is dead and reaped when [`run`] returns.

use super::buffers::Sockets;
use super::cgroup::Group;
use super::init::{self, INSIDE_ID};
use super::names::Names;
use super::openings::{Opened, Openings};
use super::prepared::{Caller, Prepared};
use super::report::{Failure, RECORD_BYTES, Record, Step};
use super::signals::Signalled;
use super::sys::{self, Cloned};
use super::watches::Watches;
use super::{Brokers, Error, Limits, LimitsInForce, Streams, addresses, disk, idmap, outlets, refuse_threads, root};
use crate::broker::Handle;
use crate::confine::syscalls;
use crate::layers::{Layer, in_force};
use silas_core::check::Ended;
use silas_core::outside::Outside;
use silas_core::wanted::NAMES_MAX;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// The cgroup namespace is not among them: the child makes it when it is in its group, which then looks like the top.
const NAMESPACES: [(Layer, libc::c_int); 6] = [
    (Layer::User, libc::CLONE_NEWUSER),
    (Layer::Root, libc::CLONE_NEWNS),
    (Layer::Processes, libc::CLONE_NEWPID),
    (Layer::Network, libc::CLONE_NEWNET),
    (Layer::Ipc, libc::CLONE_NEWIPC),
    (Layer::HostName, libc::CLONE_NEWUTS),
];

/// A pipe's usual capacity: what one read can find at most.
const CHUNK_BYTES: usize = 64 << 10;

pub(super) struct Seen {
    pub(super) ended: Ended,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
    pub(super) limits: LimitsInForce,
    pub(super) is_memory_exceeded: bool,
    pub(super) is_disk_nearly_full: bool,
    pub(super) asked: Vec<String>,
    pub(super) opened: Option<Opened>,
    pub(super) signalled: Option<Signalled>,
}

/// The beginning of a stream, and the end of one that is longer.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) kept: Vec<u8>,
    pub(super) is_cut: bool,
    end: Vec<u8>,
    n_dropped: u64,
}

/// Of the end of a stream, as much as is kept.
const END_BYTES: usize = 64 << 10;

impl Kept {
    pub(super) fn take(&mut self, bytes: &[u8], max: usize) {
        let room = max.saturating_sub(self.kept.len());
        self.is_cut |= bytes.len() > room;
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.kept.extend_from_slice(first);
        self.end.extend_from_slice(rest);
        if self.end.len() > 2 * END_BYTES {
            self.drop_all_but(END_BYTES);
        }
    }

    fn drop_all_but(&mut self, n: usize) {
        let n = self.end.len().saturating_sub(n);
        self.n_dropped += n as u64;
        self.end.drain(..n);
    }

    /// What came last, and how many bytes lie between that and the beginning.
    pub(super) fn take_end(&mut self) -> (Vec<u8>, u64) {
        self.drop_all_but(END_BYTES);
        (std::mem::take(&mut self.end), self.n_dropped)
    }
}

/// A running child, killed and reaped when this goes.
struct Child {
    pidfd: OwnedFd,
}

impl Drop for Child {
    fn drop(&mut self) {
        // Killing fails only if it is dead already, and waiting only if it is reaped already.
        let _killed = sys::kill(&self.pidfd);
        let _reaped = sys::wait_for(&self.pidfd);
    }
}

/// Starts a cell, watches it until it is over, and says what it was.
///
/// Long: what is declared first is let go last, and on that order it depends that nothing outlives the cell. Parts of it would
/// hand each other everything that is open.
pub(super) fn run(
    cell: &Prepared<'_>,
    limits: &Limits,
    streams: Streams,
    cancel: Option<BorrowedFd<'_>>,
    brokers: Brokers<'_>,
) -> Result<Seen, Error> {
    refuse_threads()?;
    let Some(deadline) = Instant::now().checked_add(limits.wall) else {
        return Err(Error::Spec("the time limit lies beyond the end of time".to_owned()));
    };
    // Made here, where the next run finds them, and not in the child.
    syscalls::cell().map_err(|cause| Error::Seccomp { cause: cause.to_string() })?;
    let trees = match cell.caller {
        Caller::Root if in_force(Layer::User) => {
            let mut trees = idmap::trees(&cell.mounts)?;
            if cell.outlets.has_secrets {
                // The cell's user may not even pass through the directory in which root keeps Silas.
                trees.push(
                    root::own_program().map_err(|cause| Error::Setup { step: "finding its own program", cause })?,
                );
            }
            trees
        }
        Caller::Root | Caller::Ordinary { .. } => Vec::new(),
    };
    let plumbing = |cause| Error::Setup { step: "making a pipe", cause };
    // Before anybody can have taken anything.
    let disks = disk::of(&cell.mounts)?;
    let (go_read, go_write) = sys::pipe().map_err(plumbing)?;
    let (lifeline_read, lifeline_write) = sys::pipe().map_err(plumbing)?;
    let (report_read, report_write) = sys::pipe().map_err(plumbing)?;
    let (ours, theirs) = connect(streams).map_err(plumbing)?;
    for fd in [Some(&report_read), ours.stdout.as_ref(), ours.stderr.as_ref()].into_iter().flatten() {
        sys::set_nonblocking(fd).map_err(plumbing)?;
    }
    if cell.caller == Caller::Root {
        // Programs open their own output again by name (`/dev/stderr`), which only its owner may. Only what is a pipe
        // changes its owner: anything else that was given is somebody's file.
        for fd in [Some(&theirs.stdout), Some(&theirs.stderr), theirs.stdin.as_ref()].into_iter().flatten() {
            if sys::status_of(fd).map_err(plumbing)?.st_mode & libc::S_IFMT == libc::S_IFIFO {
                std::os::unix::fs::fchown(fd, Some(idmap::UNPRIVILEGED), Some(idmap::UNPRIVILEGED))
                    .map_err(plumbing)?;
            }
        }
    }
    let port = cell.outlets.callback_port;
    let callers = port.map_or(Ok(Vec::new()), outlets::open_callback_port)?;
    let (handover, handed_over) = match cell.outlets.is_empty() && !in_force(Layer::Network) {
        true => (None, None),
        false => sys::socket_pair().map(|(ours, theirs)| (Some(ours), Some(theirs))).map_err(plumbing)?,
    };
    let (watches, theirs_watched) = sys::socket_pair().map_err(plumbing)?;
    // Declared before the child, so that it is removed after the child is dead.
    let mut group = if in_force(Layer::Group) { Group::make() } else { None };
    let ends = init::Ends {
        go: go_read,
        lifeline: lifeline_read,
        report: report_write,
        stdin: theirs.stdin,
        stdout: theirs.stdout,
        stderr: theirs.stderr,
        trees,
        doors: group.as_mut().map_or_else(Vec::new, Group::take_doors),
        handover: handed_over,
        watches: theirs_watched,
    };
    let namespaces = NAMESPACES.iter().filter(|(layer, _)| in_force(*layer)).fold(0, |all, (_, flag)| all | flag);
    let born = group.as_ref().and_then(|group| sys::clone_into(namespaces, group.birthplace()?).ok());
    let cloned = match born {
        Some(cloned) => cloned,
        None => {
            // A group in which nobody can be born stays empty and limits nobody.
            group = group.filter(|group| group.birthplace().is_none());
            sys::clone(namespaces).map_err(Error::user_namespace)?
        }
    };
    let (pid, child) = match cloned {
        Cloned::Child => init::live(cell, ends),
        Cloned::Parent { pid, pidfd } => (pid, Child { pidfd }),
    };
    drop(ends);
    let sockets = if in_force(Layer::Network) { Sockets::of(pid, limits.memory_bytes_max).map(Some) } else { Ok(None) };
    let sockets = sockets.map_err(|cause| Error::Setup { step: "counting its sockets", cause })?;
    if in_force(Layer::User) {
        map_ids(pid, cell.caller)?;
    }
    let mut go = File::from(go_write);
    go.write_all(&[init::GO_SET_UP]).map_err(|cause| Error::Setup { step: "starting the setup", cause })?;
    // Meanwhile the child has its root to build.
    let in_force = group.as_mut().map_or(LimitsInForce::PerProcess, |group| group.enforce(limits));
    let taking = |cause| Error::Setup { step: "taking over sockets", cause };
    let mut made = handover.map(outlets::take_over).transpose().map_err(taking)?;
    let names = made.as_mut().map_or(Ok(None), |made| made.take_names(&cell.outlets)).map_err(taking)?;
    let tried = made.as_mut().map(outlets::Made::take_tried).unwrap_or_default();
    let openings = made.as_mut().and_then(outlets::Made::take_openings);
    let mut broker = match made.filter(|_| !cell.outlets.is_empty()) {
        Some(made) => Some(Handle::start(made.setup(cell, callers), brokers.resolver)?),
        None => None,
    };
    // A child that has failed meanwhile does not listen any more; its report says why.
    let _ = go.write_all(&[init::GO_RUN]);

    let mut watch = Watch {
        output_max: limits.output_bytes_max,
        stdout: (ours.stdout.map(File::from), Kept::default()),
        stderr: (ours.stderr.map(File::from), Kept::default()),
        report: (Some(File::from(report_read)), Kept::default()),
        disks,
        sockets,
        watches: Watches::new(watches, pid),
        names,
        openings: openings.map(|watched| Openings::new(watched, &cell.spec.watched)),
    };
    let alarm = group.as_ref().and_then(Group::alarm);
    let until = watch.until_over(&child, [cancel, alarm], deadline, broker.as_mut(), brokers.outside)?;
    // Kills what is left and waits. After that every writer is gone and the rest can be read without waiting.
    drop(child);
    drop(lifeline_write);
    watch.read_rest(brokers.outside)?;
    if let Some(broker) = broker {
        broker.finish(brokers.outside)?;
    }
    let is_memory_exceeded = until == Over::OutOfMemory || group.as_ref().is_some_and(Group::is_memory_exceeded);
    let (ended, left_behind) = judge(cell, &watch.report.1.kept, until, limits)?;
    let ended = match ended {
        // Version 1 may have killed one process only, and another that was quicker than we are told another story.
        _ if is_memory_exceeded || until == Over::DiskNearlyFull => Ended::Signalled(libc::SIGKILL),
        ended => ended,
    };
    let is_disk_nearly_full = until == Over::DiskNearlyFull;
    let (stdout, stderr) = (watch.stdout.1, watch.stderr.1);
    let mut asked = watch.names.map_or_else(Vec::new, Names::finish);
    asked.extend(addresses::tried(tried));
    asked.truncate(NAMES_MAX);
    let opened = watch.openings.and_then(Openings::finish);
    let signalled = watch.watches.finish().filter(|_| cell.spec.signals);
    let signalled = signalled.map(|signalled| Signalled { left_behind, ..signalled });
    Ok(Seen {
        ended,
        stdout,
        stderr,
        limits: in_force,
        is_memory_exceeded,
        is_disk_nearly_full,
        asked,
        opened,
        signalled,
    })
}

/// The ends that are read here, if any.
struct Ours {
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

/// The ends that the program gets.
struct Theirs {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

fn connect(streams: Streams) -> io::Result<(Ours, Theirs)> {
    match streams {
        Streams::Kept => {
            let (stdout_read, stdout) = sys::pipe()?;
            let (stderr_read, stderr) = sys::pipe()?;
            let ours = Ours { stdout: Some(stdout_read), stderr: Some(stderr_read) };
            Ok((ours, Theirs { stdin: None, stdout, stderr }))
        }
        Streams::Piped { stdin, stdout, stderr } => {
            Ok((Ours { stdout: None, stderr: None }, Theirs { stdin: Some(stdin), stdout, stderr }))
        }
    }
}

struct Watch {
    output_max: usize,
    stdout: (Option<File>, Kept),
    stderr: (Option<File>, Kept),
    report: (Option<File>, Kept),
    disks: Vec<disk::Disk>,
    /// Those of the cell's own network.
    sockets: Option<Sockets>,
    watches: Watches,
    /// Answered here; what it is asked leads nowhere.
    names: Option<Names>,
    openings: Option<Openings>,
}

/// More than any cell ever reports.
const REPORT_BYTES_MAX: usize = 8 * RECORD_BYTES;

impl Watch {
    /// Reads until the run is over. `signs` are the wish to cancel and the group's alarm.
    fn until_over(
        &mut self,
        child: &Child,
        signs: [Option<BorrowedFd<'_>>; 2],
        deadline: Instant,
        mut broker: Option<&mut Handle>,
        outside: &mut dyn Outside,
    ) -> Result<Over, Error> {
        let mut is_open = [true; 3];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Over::Late);
            }
            let Some(next_look) = disk::look(&self.disks) else { return Ok(Over::DiskNearlyFull) };
            if self.sockets.as_ref().is_some_and(Sockets::are_too_many) {
                return Ok(Over::OutOfMemory);
            }
            let left = left.min(next_look);
            // Rounded up, so that it does not spin during the last millisecond.
            let timeout_ms = i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX);
            let sources = [&self.stdout.0, &self.stderr.0, &self.report.0];
            let sources = sources.map(|file| file.as_ref().map_or(-1, AsRawFd::as_raw_fd));
            let streams = sources.iter().zip(is_open).map(|(fd, open)| if open { *fd } else { -1 });
            let [cancel, alarm] = signs.map(|sign| sign.map_or(-1, |fd| fd.as_raw_fd()));
            let says = broker.as_ref().map_or(-1, |broker| broker.fd().as_raw_fd());
            let asks = self.names.as_ref().map_or(-1, |names| names.socket().as_raw_fd());
            let opens = self.openings.as_ref().map_or(-1, |openings| openings.events().as_raw_fd());
            let watches = self.watches.fd().map_or(-1, |fd| fd.as_raw_fd());
            let rest = [child.pidfd.as_raw_fd(), cancel, alarm, says, asks, opens, watches];
            let mut fds: Vec<libc::pollfd> =
                streams.chain(rest).map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
            sys::poll(&mut fds, Some(timeout_ms))
                .map_err(|cause| Error::Supervise { step: "waiting for the program", cause })?;
            if fds[4].revents != 0 {
                return Err(Error::Cancelled);
            }
            for (index, open) in is_open.iter_mut().enumerate() {
                if fds[index].revents != 0 {
                    *open = self.read_once(index, outside)? != Progress::Ended;
                }
            }
            outside.wrote(&[]);
            if fds[9].revents != 0 {
                self.watches.serve(fds[9].revents);
            }
            if let Some(names) = self.names.as_mut().filter(|_| fds[7].revents != 0) {
                names.serve();
            }
            if let Some(openings) = self.openings.as_mut().filter(|_| fds[8].revents != 0) {
                openings.take();
            }
            if let Some(broker) = &mut broker
                && fds[6].revents != 0
                && !broker.hear(outside)?
            {
                let cause = io::Error::from(io::ErrorKind::BrokenPipe);
                return Err(Error::Supervise { step: "the broker of its connections", cause });
            }
            if fds[5].revents != 0 {
                return Ok(Over::OutOfMemory);
            }
            if fds[3].revents != 0 {
                return Ok(Over::Gone);
            }
        }
    }

    fn read_rest(&mut self, outside: &mut dyn Outside) -> Result<(), Error> {
        for index in 0..3 {
            while self.read_once(index, outside)? == Progress::Some {}
        }
        Ok(())
    }

    fn read_once(&mut self, index: usize, outside: &mut dyn Outside) -> Result<Progress, Error> {
        let ((file, kept), max) = match index {
            0 => (&mut self.stdout, self.output_max),
            1 => (&mut self.stderr, self.output_max),
            _ => (&mut self.report, REPORT_BYTES_MAX),
        };
        let Some(file) = file else { return Ok(Progress::Ended) };
        let mut chunk = [0; CHUNK_BYTES];
        match file.read(&mut chunk) {
            Ok(0) => Ok(Progress::Ended),
            Ok(n) => {
                kept.take(&chunk[..n], max);
                if index < 2 {
                    outside.wrote(&chunk[..n]);
                }
                Ok(Progress::Some)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Progress::Nothing),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(Progress::Some),
            Err(cause) => Err(Error::Supervise { step: "reading the output", cause }),
        }
    }
}

/// Why a run is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// The init has ended.
    Gone,
    Late,
    OutOfMemory,
    DiskNearlyFull,
}

#[derive(PartialEq, Eq)]
enum Progress {
    Some,
    Nothing,
    Ended,
}

/// What the records mean, and how many programs were left behind. A failed setup outranks everything: the program never ran.
fn judge(cell: &Prepared<'_>, report: &[u8], until: Over, limits: &Limits) -> Result<(Ended, u32), Error> {
    let mut status = None;
    for bytes in report.as_chunks::<RECORD_BYTES>().0 {
        match Record::from_bytes(bytes) {
            Some(Record::Failed(failure)) => return Err(explain(cell, failure)),
            Some(Record::Ended(wait_status, n_left)) => status = Some((wait_status, n_left)),
            None => {
                let cause = io::Error::from(io::ErrorKind::InvalidData);
                return Err(Error::Supervise { step: "reading the report", cause });
            }
        }
    }
    let n_left = status.map_or(0, |(_, n_left)| n_left);
    let ended = match status {
        Some((status, _)) if libc::WIFEXITED(status) => Ended::Exited(libc::WEXITSTATUS(status)),
        Some((status, _)) => Ended::Signalled(libc::WTERMSIG(status)),
        None if until == Over::Late => Ended::TimedOut { after_secs: limits.wall.as_secs() },
        // The init itself was killed from outside, for example because memory ran out.
        None => Ended::Signalled(libc::SIGKILL),
    };
    Ok((ended, n_left))
}

fn explain(cell: &Prepared<'_>, failure: Failure) -> Error {
    let cause = match failure.errno {
        0 => io::Error::other("the kernel gave no reason"),
        errno => io::Error::from_raw_os_error(errno),
    };
    let is_refused = matches!(failure.errno, libc::EPERM | libc::EACCES);
    match failure.step {
        // Where a security module hands out user namespaces without any power in them, this is the first to fail.
        Step::Hostname | Step::PrivateMounts if is_refused => Error::user_namespace(cause),
        Step::Proc if is_refused => Error::Proc { cause },
        Step::Mount => match cell.mounts.get(failure.item as usize) {
            Some(mount) if failure.errno == libc::ENOENT => {
                mount.error("there is no such place inside the directory that was mounted before it")
            }
            Some(mount) if failure.errno == libc::ELOOP => mount.error("a part of the path is a symlink"),
            Some(mount) => mount.error(cause),
            None => Error::Setup { step: failure.step.words(), cause },
        },
        Step::Cwd => Error::Cwd { path: cell.spec.cwd.clone(), cause },
        Step::Exec => Error::Program { program: cell.spec.argv[0].clone(), cause },
        Step::Landlock => Error::Landlock { cause: cause.to_string() },
        Step::Seccomp => Error::Seccomp { cause: cause.to_string() },
        step => Error::Setup { step: step.words(), cause },
    }
}

/// Gives the child its one user and one group.
fn map_ids(pid: libc::pid_t, caller: Caller) -> Result<(), Error> {
    let written = match caller {
        Caller::Root => write_maps(pid, idmap::UNPRIVILEGED, idmap::UNPRIVILEGED),
        // Someone without privileges must first give up changing groups.
        Caller::Ordinary { uid, gid } => {
            write_file(format!("/proc/{pid}/setgroups"), "deny").and_then(|()| write_maps(pid, uid, gid))
        }
    };
    written.map_err(|cause| match cause.raw_os_error() {
        // The files of a process that cannot be inspected belong to root.
        Some(libc::EACCES) => Error::Setup { step: "writing the id map of the sandbox", cause },
        _ => Error::user_namespace(cause),
    })
}

fn write_maps(pid: libc::pid_t, uid: u32, gid: u32) -> io::Result<()> {
    write_file(format!("/proc/{pid}/uid_map"), &format!("{INSIDE_ID} {uid} 1"))?;
    write_file(format!("/proc/{pid}/gid_map"), &format!("{INSIDE_ID} {gid} 1"))
}

/// One write, as these files of the kernel want it.
pub(super) fn write_file(path: impl AsRef<std::path::Path>, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}
