//! What `silas doctor` asks of the sandbox: whether this system can do what isolation needs, by doing it once.

mod front;

pub use front::{Socket, front};

use crate::ToolPlaces;
use crate::cell::{self, CellSpec, Limits, LimitsInForce, Mount, MountAccess};
use crate::syscall;
use silas_core::check::Ended;
use silas_core::probe::Probe;
use silas_core::toolchain::Toolchain;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Below this, renames between directories cannot be allowed, and Silas refuses to run.
const ABI_MIN: i32 = 2;
/// From here on the kernel also keeps signals and abstract sockets in.
const ABI_SIGNALS: i32 = 6;
/// A program that only ends should not take this long anywhere.
const WALL: Duration = Duration::from_secs(20);

/// Must be called from a process with one thread. `place` is a directory of ours on the file system where work is done;
/// a cell gets it to write, which shows whether owners can be mapped there.
pub fn probes(place: &Path) -> Vec<Probe> {
    let mut found = vec![landlock()];
    found.extend(one_cell(place));
    found
}

/// Every tool outside `/usr` that commands could be granted.
pub fn toolchains(places: &ToolPlaces, own: &[std::path::PathBuf]) -> Vec<Toolchain> {
    crate::toolchains::known(places, own)
}

fn landlock() -> Probe {
    const NAME: &str = "File rules";
    match syscall::landlock_abi() {
        Ok(abi) if abi >= ABI_SIGNALS => Probe::good(NAME, format!("The kernel enforces them (Landlock ABI {abi}).")),
        Ok(abi) if abi >= ABI_MIN => Probe::warning(
            NAME,
            format!("The kernel enforces them (Landlock ABI {abi}), but does not keep signals in."),
            "A newer kernel (6.12 or later) does.",
        ),
        found => Probe::bad(
            NAME,
            match found {
                Ok(abi) => format!("The kernel's Landlock (ABI {abi}) is too old."),
                Err(cause) => format!("The kernel has no Landlock: {cause}."),
            },
            "Linux 5.19 or newer with `landlock` in its list of security modules (kernel option lsm=) is needed.",
        ),
    }
}

fn one_cell(place: &Path) -> Vec<Probe> {
    const NAME: &str = "Sandbox";
    let spec = CellSpec {
        argv: vec!["true".to_owned()],
        env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        cwd: PathBuf::from("/"),
        mounts: vec![Mount { source: place.to_owned(), target: place.to_owned(), access: MountAccess::ReadWrite }],
        hosts: Vec::new(),
        secrets: Vec::new(),
        callback_port: None,
        watched: Vec::new(),
        signals: false,
        limits: Limits { wall: WALL, ..Limits::default() },
    };
    match cell::run(&spec, None) {
        Ok(outcome) if outcome.ended == Ended::Exited(0) => vec![
            Probe::good(
                NAME,
                "A program ran in user, mount, process, network, IPC and host name namespaces of its own, without \
                 capabilities, under file rules and a system call filter.",
            ),
            limits(outcome.limits),
        ],
        Ok(outcome) => vec![Probe::bad(
            NAME,
            format!("A program that does nothing did not end well in it: {:?}.", outcome.ended),
            "Nothing will be run until this works. The log of the system may say more.",
        )],
        // The sentence names what is missing and the switch that allows it.
        Err(error) => vec![Probe::bad(
            NAME,
            format!("It cannot be used: {error}."),
            "Nothing is run until this works. `silas doctor --fix` mends what it can; docs/containers.md is about containers.",
        )],
    }
}

fn limits(in_force: LimitsInForce) -> Probe {
    const NAME: &str = "Limits";
    match in_force {
        LimitsInForce::Cgroup2 | LimitsInForce::Cgroup1 => {
            Probe::good(NAME, format!("For a command, {in_force}; so is the number of processes."))
        }
        LimitsInForce::PerProcess => Probe::warning(
            NAME,
            format!("For a command, {in_force}; the number of processes is limited for all together."),
            "Start Silas in a group of its own: systemd-run --user --scope -p Delegate=yes silas",
        ),
    }
}
