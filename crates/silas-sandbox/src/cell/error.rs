//! What can keep a cell from running, in words for people and with a stable code each.
//!
//! A program that ran and failed is not an error; that is a [`super::CellOutcome`].

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "user namespaces are not allowed for this user ({cause}), so nothing can be isolated and nothing was run. {advice}"
    )]
    UserNamespace { cause: io::Error, advice: String },

    #[error(
        "a private /proc is not allowed here ({cause}), so nothing was run. This is usual inside containers that mask \
         parts of /proc. Run Silas outside the container, or start it with an unmasked /proc (docker: \
         --security-opt systempaths=unconfined)"
    )]
    Proc { cause: io::Error },

    #[error(
        "{} cannot be given to a program under another user id ({cause}), and programs never run as root, so nothing \
         was run. Run Silas as an ordinary user, or keep the work on a file system with idmapped mounts (ext4, xfs, \
         btrfs, tmpfs; not a container's own overlay)",
        path.display()
    )]
    Idmap { path: PathBuf, cause: io::Error },

    #[error(
        "the kernel does not enforce Landlock file rules ({cause}), so nothing was run. Linux 5.19 or newer with \
         `landlock` in its list of security modules (kernel option lsm=) is needed"
    )]
    Landlock { cause: String },

    #[error("the system call filter could not be put in force ({cause}), so nothing was run")]
    Seccomp { cause: String },

    #[error("{} cannot be shown as {} in the sandbox: {why}", source_path.display(), target.display())]
    Mount { source_path: PathBuf, target: PathBuf, why: String },

    #[error("the program {program:?} could not be started in the sandbox: {cause}")]
    Program { program: String, cause: io::Error },

    #[error("the directory {} cannot be entered in the sandbox: {cause}", path.display())]
    Cwd { path: PathBuf, cause: io::Error },

    #[error("this cannot be run in a sandbox: {0}")]
    Spec(String),

    #[error("a sandbox can only be started from a process with one thread, and this one has {0}")]
    Threads(usize),

    #[error("the sandbox could not be set up: {step} failed ({cause}), so nothing was run")]
    Setup { step: &'static str, cause: io::Error },

    #[error("the sandbox could not be watched and was ended: {step} failed ({cause})")]
    Supervise { step: &'static str, cause: io::Error },

    #[error(
        "port {port} of this machine could not be opened ({cause}), so nothing was run. Another program may be using it; \
         end that program, or name another port"
    )]
    CallbackPort { port: u16, cause: io::Error },

    #[error("what the program reached could not be written down, so it was ended")]
    Unrecorded,

    #[error("the run was cancelled")]
    Cancelled,
}

impl Error {
    /// Stable; each has a page in the documentation.
    pub fn code(&self) -> &'static str {
        match self {
            Error::UserNamespace { .. } => "E_SANDBOX_USERNS",
            Error::Proc { .. } => "E_SANDBOX_PROC",
            Error::Idmap { .. } => "E_SANDBOX_IDMAP",
            Error::Landlock { .. } => "E_SANDBOX_LANDLOCK",
            Error::Seccomp { .. } => "E_SANDBOX_SECCOMP",
            Error::Mount { .. } => "E_SANDBOX_MOUNT",
            Error::Program { .. } => "E_SANDBOX_PROGRAM",
            Error::Cwd { .. } => "E_SANDBOX_CWD",
            Error::Spec(_) => "E_SANDBOX_SPEC",
            Error::Threads(_) => "E_SANDBOX_THREADS",
            Error::Setup { .. } => "E_SANDBOX_SETUP",
            Error::Supervise { .. } => "E_SANDBOX_SUPERVISE",
            Error::CallbackPort { .. } => "E_SANDBOX_PORT",
            Error::Unrecorded => "E_SANDBOX_UNRECORDED",
            Error::Cancelled => "E_SANDBOX_CANCELLED",
        }
    }

    /// Says which switch of this system keeps user namespaces away, as far as the system tells.
    pub(super) fn user_namespace(cause: io::Error) -> Error {
        let is_set = |path: &str, value: &str| {
            // A missing file means that this system has no such switch.
            std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
        };
        let advice = if is_set("/proc/sys/user/max_user_namespaces", "0") {
            "Allow them with: sysctl user.max_user_namespaces=10000"
        } else if is_set("/proc/sys/kernel/unprivileged_userns_clone", "0") {
            "Allow them with: sysctl kernel.unprivileged_userns_clone=1"
        } else if is_set("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
            "AppArmor restricts them: give the silas program an AppArmor profile with `userns,`, or run: sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0"
        } else {
            "Inside a container, allow them in its security profile; elsewhere ask the system's administrator"
        };
        Error::UserNamespace { cause, advice: advice.to_owned() }
    }
}
