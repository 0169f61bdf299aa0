//! PID 1 of a cell: sets everything up, starts the program below it, reaps, and goes when it must.
//!
//! It is never the program itself, because the kernel treats PID 1 specially (no default signal actions, all orphans
//! are its children). It runs none of the program's code, holds no capability and cannot be inspected from inside.

use super::prepared::{Caller, Prepared};
use super::report::{Failure, Record, Step, at};
use super::sys::{self, Cloned};
use super::{buffers, cgroup, openings, outlets, rlimits, root, watches};
use crate::confine::{files, syscalls};
use crate::layers::{Layer, in_force};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The user and group of the program, as it sees them itself.
pub(super) const INSIDE_ID: u32 = 1000;

/// The caller's two words: the id maps are written, and the limits are in force.
pub(super) const GO_SET_UP: u8 = b's';
pub(super) const GO_RUN: u8 = b'r';

/// The child's ends of the pipes, the trees that the caller has made, and the doors to its control group.
pub(super) struct Ends {
    /// Where the caller's words arrive.
    pub(super) go: OwnedFd,
    /// Hangs up when the caller is gone.
    pub(super) lifeline: OwnedFd,
    pub(super) report: OwnedFd,
    /// Nothing to read if absent.
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) trees: Vec<OwnedFd>,
    pub(super) doors: Vec<OwnedFd>,
    /// Takes the sockets that lead outside.
    pub(super) handover: Option<UnixStream>,
    /// Takes the other end of what the program's watches wait for.
    pub(super) watches: UnixStream,
}

/// The child's whole life. It never returns into the caller's code.
pub(super) fn live(cell: &Prepared<'_>, ends: Ends) -> ! {
    let Ends { go, lifeline, report, stdin, stdout, stderr, trees, doors, handover, watches } = ends;
    let mut keep: Vec<i32> = [&go, &lifeline, &report, &stdout, &stderr].map(AsRawFd::as_raw_fd).to_vec();
    keep.push(watches.as_raw_fd());
    keep.extend(trees.iter().chain(&doors).chain(&stdin).map(AsRawFd::as_raw_fd));
    keep.extend(handover.iter().map(AsRawFd::as_raw_fd));
    let done = settle(cell, &keep, go, trees, doors, handover)
        .and_then(|()| start(cell, &report, (stdin, stdout, stderr), watches));
    let result = done.and_then(|program| watch(program, &lifeline).map_err(at(Step::Init, 0)));
    match result {
        Ok((status, n_left)) => Record::Ended(status, n_left).send(&report),
        Err(failure) => Record::Failed(failure).send(&report),
    }
    sys::exit(0)
}

/// From a copy of the caller to a powerless process in its own root.
fn settle(
    cell: &Prepared<'_>,
    keep: &[i32],
    go: OwnedFd,
    trees: Vec<OwnedFd>,
    doors: Vec<OwnedFd>,
    handover: Option<UnixStream>,
) -> Result<(), Failure> {
    if in_force(Layer::Descriptors) {
        sys::close_all_but(keep).map_err(at(Step::Descriptors, 0))?;
    }
    // SIGCHLD is read from a descriptor; handlers of the caller's would make PID 1 killable from inside.
    sys::reset_signals(&[libc::SIGCHLD]).map_err(at(Step::Descriptors, 0))?;
    let mut go = File::from(go);
    wait_for(&mut go, GO_SET_UP);
    if cell.caller == Caller::Root && in_force(Layer::User) {
        sys::become_user(INSIDE_ID, INSIDE_ID).map_err(at(Step::Identity, 0))?;
    }
    // Only now: the caller could not have written the id maps of a process that cannot be inspected.
    if in_force(Layer::Inspection) {
        sys::forbid_inspection().map_err(at(Step::Identity, 0))?;
    }
    if in_force(Layer::Session) {
        sys::new_session().map_err(at(Step::Session, 0))?;
        // Where it is refused, as in containers, the filter alone keeps keys away.
        let _ = sys::new_session_keyring();
    }
    if in_force(Layer::User) {
        bound_namespace();
    }
    sys::set_umask(0o022);
    if in_force(Layer::HostName) {
        sys::set_hostname(c"silas").map_err(at(Step::Hostname, 0))?;
    }
    if in_force(Layer::Network) {
        sys::raise_loopback().map_err(at(Step::Loopback, 0))?;
        buffers::bound();
    }
    if let Some(handover) = &handover {
        cell.outlets.open(handover)?;
    }
    // The caller waits for what is handed over, and only these come after the root.
    let handover = handover.filter(|_| cell.outlets.has_secrets || !cell.watched.is_empty());
    // Without a mount namespace of its own this would rebuild the caller's root.
    if in_force(Layer::Root) {
        sys::make_all_mounts_private().map_err(at(Step::PrivateMounts, 0))?;
        let secrets = root::enter(cell, trees)?;
        if let Some((handover, secrets)) = handover.as_ref().zip(secrets) {
            outlets::hand_over_secrets(handover, &secrets).map_err(at(Step::Secrets, 0))?;
        }
        if let Some((handover, watches)) = handover.as_ref().zip(openings::watch(cell)) {
            outlets::hand_over_openings(handover, &watches).map_err(at(Step::Init, 0))?;
        }
    }
    drop(handover);
    wait_for(&mut go, GO_RUN);
    cgroup::enter(doors).map_err(at(Step::Groups, 0))?;
    // Only now, so that the group is the top of what can be seen.
    if in_force(Layer::GroupView) {
        sys::new_cgroup_namespace().map_err(at(Step::Groups, 0))?;
    }
    // First, because it takes a capability.
    if in_force(Layer::BoundingSet) {
        sys::empty_bounding_set().map_err(at(Step::Capabilities, 0))?;
    }
    if in_force(Layer::Capabilities) {
        sys::drop_capabilities().map_err(at(Step::Capabilities, 0))?;
    }
    if in_force(Layer::NoNewPrivileges) {
        sys::forbid_new_privileges().map_err(at(Step::Capabilities, 0))?;
    }
    Ok(())
}

/// What the kernel counts by user namespace: what a program could otherwise use up for its owner everywhere, and further
/// user namespaces, of which there shall be none. Where these switches cannot be written, as in containers, the filter
/// alone keeps namespaces away, and what an owner may watch at once can be used up while the program runs.
fn bound_namespace() {
    const BOUNDS: [(&str, &str); 3] =
        [("max_user_namespaces", "0"), ("max_inotify_instances", "64"), ("max_inotify_watches", "32768")];
    for (name, most) in BOUNDS {
        let _ = super::supervise::write_file(format!("/proc/sys/user/{name}"), most);
    }
}

/// Goes on when the caller says so, and ends this process when the caller gave up or is gone.
fn wait_for(go: &mut File, word: u8) {
    let mut heard = [0];
    if !matches!(go.read(&mut heard), Ok(1)) || heard != [word] {
        sys::exit(0);
    }
}

struct Program {
    pid: libc::pid_t,
    child_events: OwnedFd,
}

type Streams = (Option<OwnedFd>, OwnedFd, OwnedFd);

fn start(cell: &Prepared<'_>, report: &OwnedFd, streams: Streams, watches: UnixStream) -> Result<Program, Failure> {
    let child_events = sys::child_events().map_err(at(Step::Init, 0))?;
    match sys::clone(0).map_err(at(Step::Fork, 0))? {
        Cloned::Child => {
            let failure = become_program(cell, &streams, &watches);
            Record::Failed(failure).send(report);
            sys::exit(127)
        }
        Cloned::Parent { pid, .. } => Ok(Program { pid, child_events }),
    }
}

/// Returns only if it fails.
fn become_program(cell: &Prepared<'_>, streams: &Streams, watches: &UnixStream) -> Failure {
    match confine_program(cell, streams, watches) {
        Err(failure) => failure,
        Ok(()) => match cell.own {
            Some(own) => sys::exit(run_own(own)),
            None => Failure::new(Step::Exec, 0, &exec(cell)),
        },
    }
}

fn confine_program(
    cell: &Prepared<'_>,
    (stdin, stdout, stderr): &Streams,
    watches: &UnixStream,
) -> Result<(), Failure> {
    let streams = at(Step::Streams, 0);
    if in_force(Layer::Session) {
        sys::new_session().map_err(at(Step::Session, 0))?;
    }
    let null = OwnedFd::from(File::open("/dev/null").map_err(&streams)?);
    for (fd, number) in [(stdin.as_ref().unwrap_or(&null), 0), (stdout, 1), (stderr, 2)] {
        sys::duplicate_onto(fd, number).map_err(&streams)?;
    }
    if in_force(Layer::Descriptors) {
        sys::close_on_exec_from_3().map_err(&streams)?;
    }
    sys::reset_signals(&[]).map_err(&streams)?;
    sys::enter_dir(&cell.cwd).map_err(at(Step::Cwd, 0))?;
    if in_force(Layer::ResourceLimits) {
        rlimits::apply(cell.limits).map_err(at(Step::ResourceLimits, 0))?;
    }
    let writable: Vec<PathBuf> = (cell.spec.mounts.iter())
        .filter(|mount| mount.access.is_writable())
        .map(|mount| mount.target.clone())
        .collect();
    let devices = root::DEVICES.map(|name| PathBuf::from(format!("/dev/{name}")));
    let socket = cell.outlets.has_secrets.then(|| Path::new(outlets::OWN_DIR).join(outlets::SECRET_SOCKET));
    files::restrict_cell(&writable, &devices, socket.as_deref()).map_err(at(Step::Landlock, 0))?;
    syscalls::restrict_cell().map_err(at(Step::Seccomp, 0))?;
    if in_force(Layer::Seccomp) {
        watches::hand_over(watches, cell.listen).map_err(at(Step::Seccomp, 0))
    } else {
        Ok(())
    }
}

/// What a program ends with that could not go on, as a shell has it.
const PANICKED: i32 = 134;

/// What an exec would have closed is closed first: our own code shall hold no more than a program.
fn run_own(own: super::Own<'_>) -> i32 {
    if in_force(Layer::Descriptors) && sys::close_from_3().is_err() {
        return PANICKED;
    }
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(own)).unwrap_or(PANICKED)
}

/// Tries the program's possible places. Like a shell, goes on when one is missing or may not be executed, and reports
/// the latter if nothing else was found.
fn exec(cell: &Prepared<'_>) -> io::Error {
    let end = std::iter::once(std::ptr::null());
    let argv: Vec<_> = cell.argv.iter().map(|word| word.as_ptr()).chain(end.clone()).collect();
    let env: Vec<_> = cell.env.iter().map(|pair| pair.as_ptr()).chain(end).collect();
    let mut first_refusal = None;
    for program in &cell.programs {
        let error = sys::exec(program, &argv, &env);
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => first_refusal = first_refusal.or(Some(error)),
            _ => return error,
        }
    }
    first_refusal.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

/// Reaps until the program has ended and returns its wait status, and how many others were left to this process. When the caller is gone, so is this process, and
/// with PID 1 everything in the pid namespace.
fn watch(program: Program, lifeline: &OwnedFd) -> io::Result<(i32, u32)> {
    let pollfd = |fd: &OwnedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let nothing = libc::pollfd { fd: -1, events: 0, revents: 0 };
    let mut events = File::from(program.child_events.try_clone()?);
    let mut n_left = 0;
    loop {
        let caller = if in_force(Layer::Lifeline) { pollfd(lifeline) } else { nothing };
        let mut fds = [caller, pollfd(&program.child_events)];
        sys::poll(&mut fds, None)?;
        if fds[0].revents != 0 {
            sys::exit(0);
        }
        // Emptied before reaping, so that a child which dies in between makes it readable again.
        let mut drained = [0; 512];
        while matches!(events.read(&mut drained), Ok(n) if n > 0) {}
        while let Some((pid, status)) = sys::reap() {
            if pid == program.pid {
                return Ok((status, n_left + n_alive()));
            }
            n_left += 1;
        }
    }
}

/// Everybody else who is in the cell now.
fn n_alive() -> u32 {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = entries.filter(|entry| {
        let name = entry.file_name();
        name != "1" && name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    });
    u32::try_from(others.count()).unwrap_or(u32::MAX)
}
