//! What the cell tells the caller: the step that failed, or how the program ended.
//!
//! Records have one size and are written with one call each, so they never mix. The program itself cannot write any:
//! the pipe closes on exec, and the init cannot be inspected.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

pub(super) const RECORD_BYTES: usize = 9;

/// Where the setup stopped. The order is that of the setup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Step {
    Descriptors = 1,
    Identity,
    Session,
    Hostname,
    Loopback,
    /// The item is the listener's index.
    Network,
    Names,
    PrivateMounts,
    Base,
    Proc,
    /// The item is the mount's index.
    Mount,
    Secrets,
    Sockets,
    PivotRoot,
    Groups,
    Capabilities,
    Fork,
    Streams,
    Cwd,
    ResourceLimits,
    Landlock,
    Seccomp,
    Exec,
    Init,
}

impl Step {
    const ALL: [Step; 24] = [
        Step::Descriptors,
        Step::Identity,
        Step::Session,
        Step::Hostname,
        Step::Loopback,
        Step::Network,
        Step::Names,
        Step::PrivateMounts,
        Step::Base,
        Step::Proc,
        Step::Mount,
        Step::Secrets,
        Step::Sockets,
        Step::PivotRoot,
        Step::Groups,
        Step::Capabilities,
        Step::Fork,
        Step::Streams,
        Step::Cwd,
        Step::ResourceLimits,
        Step::Landlock,
        Step::Seccomp,
        Step::Exec,
        Step::Init,
    ];

    pub(super) fn words(self) -> &'static str {
        match self {
            Step::Descriptors => "closing inherited descriptors",
            Step::Identity => "taking on an unprivileged user id",
            Step::Session => "starting a new session",
            Step::Hostname => "setting the host name",
            Step::Loopback => "bringing up its own loopback",
            Step::Network => "opening the way to a granted host",
            Step::Names => "opening its own name server",
            Step::PrivateMounts => "separating the mounts",
            Step::Base => "building the system directories",
            Step::Proc => "mounting /proc",
            Step::Mount => "mounting a granted directory",
            Step::Secrets => "offering the granted secrets",
            Step::Sockets => "covering up sockets in a granted directory",
            Step::PivotRoot => "changing the root directory",
            Step::Groups => "entering its control group",
            Step::Capabilities => "giving up capabilities",
            Step::Fork => "starting a process",
            Step::Streams => "connecting input and output",
            Step::Cwd => "entering the working directory",
            Step::ResourceLimits => "setting resource limits",
            Step::Landlock => "enforcing file rules",
            Step::Seccomp => "filtering system calls",
            Step::Exec => "starting the program",
            Step::Init => "watching the program",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) step: Step,
    pub(super) item: u32,
    pub(super) errno: i32,
}

impl Failure {
    pub(super) fn new(step: Step, item: usize, cause: &std::io::Error) -> Failure {
        // Errors that did not come from the kernel have no number; 0 stands for them.
        Failure { step, item: item as u32, errno: cause.raw_os_error().unwrap_or(0) }
    }
}

/// For `map_err`: this step failed, on the thing with this index where there are several.
pub(super) fn at(step: Step, item: usize) -> impl Fn(std::io::Error) -> Failure {
    move |cause| Failure::new(step, item, &cause)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record {
    Failed(Failure),
    /// The program's wait status, and how many others were left behind by those that had started them.
    Ended(i32, u32),
}

impl Record {
    pub(super) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let (tag, item, number) = match self {
            Record::Ended(status, n_left) => (0, n_left, status),
            Record::Failed(failure) => (failure.step as u8, failure.item, failure.errno),
        };
        let mut bytes = [tag; RECORD_BYTES];
        bytes[1..5].copy_from_slice(&item.to_le_bytes());
        bytes[5..9].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Option<Record> {
        let [tag, i0, i1, i2, i3, n0, n1, n2, n3] = *bytes;
        let number = i32::from_le_bytes([n0, n1, n2, n3]);
        if tag == 0 {
            return Some(Record::Ended(number, u32::from_le_bytes([i0, i1, i2, i3])));
        }
        let step = Step::ALL.into_iter().find(|step| *step as u8 == tag)?;
        Some(Record::Failed(Failure { step, item: u32::from_le_bytes([i0, i1, i2, i3]), errno: number }))
    }

    /// A caller that is gone cannot be told; the lifeline ends the cell then.
    pub(super) fn send(self, pipe: &OwnedFd) {
        if let Ok(copy) = pipe.try_clone() {
            let _sent = File::from(copy).write_all(&self.to_bytes());
        }
    }
}
