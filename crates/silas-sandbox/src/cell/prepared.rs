//! A spec that has been checked and turned into what system calls take, before anything is started.
//!
//! What can be said in words about a wrong spec is said here; the child only reports numbers.

use super::outlets::{OWN_DIR, Outlets};
use super::sys::Listen;
use super::{CellSpec, Error, Limits, Mount, MountAccess, Own, sockets, sys};
use crate::layers::{Layer, in_force};
use crate::mounted::Places;
use silas_core::host::HOSTS_MAX;
use silas_core::secret::SECRETS_MAX;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// Where a program is looked for when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Directories that the cell makes itself; nothing can be put in their place.
const OWN_DIRECTORIES: [&str; 10] = ["/", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/tmp", "/sys"];

/// Nothing can be put into these either.
const CLOSED_DIRECTORIES: [&str; 3] = ["/proc", "/dev", OWN_DIR];

/// Who the caller is, which decides how user ids are mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Caller {
    Root,
    Ordinary { uid: libc::uid_t, gid: libc::gid_t },
}

pub(super) struct Prepared<'a> {
    /// What runs in the place of a program, if it is code of our own.
    pub(super) own: Option<Own<'a>>,
    pub(super) caller: Caller,
    /// The files to try, in order: one, or one for each directory of `PATH`.
    pub(super) programs: Vec<CString>,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
    pub(super) mounts: Vec<PreparedMount<'a>>,
    /// The names from the root to each socket of others that the mounts would show.
    pub(super) sockets: Vec<Vec<CString>>,
    pub(super) outlets: Outlets,
    pub(super) watched: Vec<CString>,
    pub(super) listen: Listen,
    pub(super) limits: &'a Limits,
    pub(super) spec: &'a CellSpec,
}

pub(super) struct PreparedMount<'a> {
    pub(super) source: CString,
    /// What lies over it, the topmost first.
    pub(super) layers: Vec<CString>,
    /// The names on the way from the root to the mount point.
    pub(super) target: Vec<CString>,
    pub(super) is_dir: bool,
    /// Other file systems lie inside the source.
    pub(super) has_mounts: bool,
    pub(super) mount: &'a Mount,
}

impl PreparedMount<'_> {
    pub(super) fn attributes(&self) -> u64 {
        let always = sys::ATTR_NOSUID | sys::ATTR_NODEV;
        match self.mount.access {
            MountAccess::ReadOnly | MountAccess::Tools => always | sys::ATTR_RDONLY,
            MountAccess::ReadWrite | MountAccess::Layered(_) => always,
        }
    }

    /// The trees that this mount is made of: the source, then its layers. One, unless it is layered.
    pub(super) fn sources(&self) -> impl Iterator<Item = &CString> {
        std::iter::once(&self.source).chain(&self.layers)
    }

    /// Whether it is seen through a layer of the cell's own: what can only be read, and has no other file system inside.
    pub(super) fn is_apart(&self) -> bool {
        in_force(Layer::Apart) && self.is_dir && !self.has_mounts && !self.mount.access.is_writable()
    }

    /// The source of a layered mount is never written to, whatever the overlay does.
    pub(super) fn attributes_of(&self, nth: usize) -> u64 {
        let lowest = if nth == 0 && !self.layers.is_empty() { sys::ATTR_RDONLY } else { 0 };
        self.attributes() | lowest
    }

    pub(super) fn error(&self, why: impl ToString) -> Error {
        mount_error(self.mount, why)
    }
}

impl<'a> Prepared<'a> {
    pub(super) fn new(spec: &'a CellSpec) -> Result<Prepared<'a>, Error> {
        let Some(program) = spec.argv.first().filter(|program| !program.is_empty()) else {
            return Err(Error::Spec("there is no program to run".to_owned()));
        };
        if spec.limits.wall.is_zero() {
            return Err(Error::Spec("its time limit is zero, so it could not even begin".to_owned()));
        }
        if !spec.cwd.is_absolute() {
            return Err(Error::Spec("the working directory must be an absolute path".to_owned()));
        }
        if spec.hosts.len() > HOSTS_MAX || spec.secrets.len() > SECRETS_MAX {
            return Err(Error::Spec(format!("at most {HOSTS_MAX} hosts and {SECRETS_MAX} secrets can be granted")));
        }
        let mut env = Vec::with_capacity(spec.env.len());
        for (name, value) in &spec.env {
            if name.is_empty() || name.contains('=') {
                return Err(Error::Spec(format!("{name:?} is not a name for an environment variable")));
            }
            env.push(c_string(format!("{name}={value}"))?);
        }
        #[cfg(test)]
        crate::layers::omission::leak_environment(&mut env);
        let places = Places::now().map_err(|cause| Error::Setup { step: "reading the list of mounts", cause })?;
        let mounts = spec.mounts.iter().map(|mount| prepare_mount(mount, &places)).collect::<Result<Vec<_>, _>>()?;
        Ok(Prepared {
            own: None,
            caller: match sys::user_and_group() {
                (0, _) => Caller::Root,
                (uid, gid) => Caller::Ordinary { uid, gid },
            },
            programs: candidates(program, &spec.env)?,
            argv: spec.argv.iter().map(|word| c_string(word.as_str())).collect::<Result<_, _>>()?,
            env,
            cwd: c_string(spec.cwd.as_os_str().as_bytes())?,
            sockets: sockets::beneath(&mounts)?,
            mounts,
            outlets: Outlets::of(spec),
            watched: spec.watched.iter().map(|dir| c_string(dir.as_os_str().as_bytes())).collect::<Result<_, _>>()?,
            listen: if spec.signals { Listen::WatchesAndSignals } else { Listen::Watches },
            limits: &spec.limits,
            spec,
        })
    }
}

/// The files that a program's name can mean.
pub(super) fn candidates(program: &str, env: &[(String, String)]) -> Result<Vec<CString>, Error> {
    if program.contains('/') {
        return Ok(vec![c_string(program)?]);
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map_or(DEFAULT_PATH, |(_, value)| value.as_str());
    // Relative entries are left out: they would make the program depend on where it starts.
    path.split(':').filter(|dir| dir.starts_with('/')).map(|dir| c_string(format!("{dir}/{program}"))).collect()
}

fn prepare_mount<'m>(mount: &'m Mount, places: &Places) -> Result<PreparedMount<'m>, Error> {
    if !mount.source.is_absolute() {
        return Err(mount_error(mount, "the path on the host must be absolute"));
    }
    if mount.source == Path::new("/") {
        return Err(mount_error(mount, "that would be the whole machine"));
    }
    let source = c_string(mount.source.as_os_str().as_bytes())?;
    let opened = sys::open_real(&source).map_err(|e| match e.raw_os_error() {
        Some(libc::ELOOP) => mount_error(mount, "a part of the path is a symlink; real paths are needed"),
        _ => mount_error(mount, e),
    })?;
    let kind = sys::status_of(&opened).map_err(|e| mount_error(mount, e))?.st_mode & libc::S_IFMT;
    if kind != libc::S_IFDIR && kind != libc::S_IFREG {
        return Err(mount_error(mount, "it is neither a directory nor a file"));
    }
    let target = target_names(&mount.target).map_err(|why| mount_error(mount, why))?;
    let layers = match &mount.access {
        MountAccess::Layered(layers) if layers.is_empty() => return Err(mount_error(mount, "it has no layers")),
        MountAccess::Layered(layers) => {
            layers.iter().map(|layer| c_string(layer.as_os_str().as_bytes())).collect::<Result<_, _>>()?
        }
        MountAccess::ReadOnly | MountAccess::Tools | MountAccess::ReadWrite => Vec::new(),
    };
    let has_mounts = places.are_beneath(&mount.source);
    Ok(PreparedMount { source, layers, target, is_dir: kind == libc::S_IFDIR, has_mounts, mount })
}

/// The names that lead to a mount point, if something may be mounted there.
pub(super) fn target_names(target: &Path) -> Result<Vec<CString>, &'static str> {
    let mut names = Vec::new();
    for component in target.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => names.push(plain_name(name)?),
            Component::CurDir | Component::ParentDir | Component::Prefix(_) => {
                return Err("the path inside may not contain `..`");
            }
        }
    }
    if !target.is_absolute() {
        return Err("the path inside must be absolute");
    }
    let is_own = OWN_DIRECTORIES.iter().any(|own| target == Path::new(own));
    if is_own || CLOSED_DIRECTORIES.iter().any(|closed| target.starts_with(closed)) {
        return Err("that place belongs to the sandbox itself");
    }
    Ok(names)
}

fn plain_name(name: &OsStr) -> Result<CString, &'static str> {
    CString::new(name.as_bytes()).map_err(|_| "the path inside contains a zero byte")
}

fn mount_error(mount: &Mount, why: impl ToString) -> Error {
    Error::Mount { source_path: mount.source.clone(), target: mount.target.clone(), why: why.to_string() }
}

fn c_string(text: impl Into<Vec<u8>>) -> Result<CString, Error> {
    CString::new(text).map_err(|e| Error::Spec(format!("a zero byte at position {}", e.nul_position())))
}
