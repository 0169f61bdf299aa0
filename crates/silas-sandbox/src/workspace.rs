//! The private copy in which work happens, and the throwaway copies of it in which checks run.
//!
//! Inside a cell the copy lies at the original's path, so that commands work as if they ran there. The owner's `.git` is
//! shown at its place, read-only. Nothing here touches the original.

use crate::cell::{self, CellOutcome, CellSpec, Mount, MountAccess};
use crate::dir::{Dir, Kind};
use crate::error::Doing;
use crate::ground::CellLimits;
use crate::lifeline::Lifeline;
use crate::permit::Granted;
use crate::tree::{self, GIT, Git, Manifest};
use crate::{Error, durable, removal};
use silas_core::changeset::FileState;
use silas_core::check::Command;
use silas_core::host::HostGrant;
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) struct Workspace {
    home: PathBuf,
    home_dir: Dir,
    pub(crate) copy: Dir,
    /// What the copy was made of.
    pub(crate) original: Manifest,
    pub(crate) git: Git,
}

/// A copy of the copy; removed when it goes.
pub(crate) struct Throwaway<'a> {
    home: &'a Dir,
    /// Checks that run side by side have one each.
    name: String,
    pub(crate) dir: Dir,
}

const COPY: &str = "copy";
const THROWAWAY: &str = "check";

const HOME: &str = "home";

/// Where programs find their tools.
const PATH_INSIDE: &str = "/usr/local/bin:/usr/bin:/bin";
/// A home that is empty at the start of every command and gone after it.
const HOME_INSIDE: &str = "/tmp/home";

impl Workspace {
    pub(crate) fn make(home: &Path, original: &Granted, lifeline: Lifeline<'_>) -> Result<Self, Error> {
        let doing = || "Making the private copy".to_owned();
        original.is_still_there()?;
        remove(home)?;
        durable::private_dir(home).doing(doing)?;
        let home_dir = Dir::open(home).doing(doing)?;
        let git = match original.dir.stat(GIT).doing(doing)?.map(|stat| stat.kind) {
            Some(Kind::Directory | Kind::File) => Git::PassOver,
            Some(Kind::Link | Kind::Special(_)) | None => Git::Visit,
        };
        let copy = empty_like(&home_dir, COPY, &original.dir, git)?;
        let manifest = tree::copy(&original.dir, &copy, git, lifeline)?;
        Ok(Workspace { home: home.to_owned(), home_dir, copy, original: manifest, git })
    }

    /// A copy of the copy, for one check. It must be what it is believed to be: `expected`. `slot` tells copies apart
    /// that are there at the same time.
    pub(crate) fn throwaway(
        &self,
        slot: usize,
        expected: &BTreeMap<RelPath, FileState>,
        lifeline: Lifeline<'_>,
    ) -> Result<Throwaway<'_>, Error> {
        let name = format!("{THROWAWAY}-{slot}");
        removal::tree(&self.home_dir, name.as_bytes()).doing(|| "Clearing the last check's copy".to_owned())?;
        let dir = empty_like(&self.home_dir, &name, &self.copy, self.git)?;
        let throwaway = Throwaway { home: &self.home_dir, name, dir };
        let copied = tree::copy(&self.copy, &throwaway.dir, self.git, lifeline)?;
        let paths = copied.differences(expected);
        if !paths.is_empty() {
            return Err(Error::Conflict { paths });
        }
        self.as_applied(&copied, &throwaway.dir).doing(|| "Making a copy for a check".to_owned())?;
        Ok(throwaway)
    }

    /// An apply moves files and links; a directory comes with its first file and stays when its last one goes. A check
    /// must see exactly that, or it would prove something that is never put in place.
    fn as_applied(&self, copied: &Manifest, dir: &Dir) -> io::Result<()> {
        for (path, mode) in &self.original.dirs {
            let (parent, name) = dir.parent_of(path)?;
            match copied.dirs.get(path) {
                None => parent.mkdir(name, mode | 0o700)?,
                Some(now) if now != mode => parent.chmod(name, mode | 0o700)?,
                Some(_) => {}
            }
        }
        // From the end of the order, so that what is inside goes before what it is in.
        let made = copied.dirs.keys().rev().filter(|path| !self.original.dirs.contains_key(path));
        for path in made {
            let (parent, name) = dir.parent_of(path)?;
            match parent.rmdir(name) {
                Err(e) if e.kind() != io::ErrorKind::DirectoryNotEmpty => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs a command of the plan in the copy itself.
    pub(crate) fn run_step(&self, run: &Run<'_>) -> Result<Ran, Error> {
        self.run(run, COPY)
    }

    /// Runs a check in the throwaway copy that was just made.
    pub(crate) fn run_check(&self, run: &Run<'_>, within: &Throwaway<'_>) -> Result<Ran, Error> {
        self.run(run, &within.name)
    }

    fn run(&self, run: &Run<'_>, copy: &str) -> Result<Ran, Error> {
        let root = Path::new(&run.work_in.place.path);
        let mut mounts =
            vec![Mount { source: self.home.join(copy), target: root.to_owned(), access: MountAccess::ReadWrite }];
        if self.git == Git::PassOver {
            run.work_in.is_still_there()?;
            let git = root.join(std::ffi::OsStr::from_bytes(GIT));
            mounts.push(Mount { source: git.clone(), target: git, access: MountAccess::ReadOnly });
        }
        for read in run.reads {
            read.is_still_there()?;
            let path = PathBuf::from(&read.place.path);
            mounts.push(Mount { source: path.clone(), target: path, access: MountAccess::ReadOnly });
        }
        mounts.push(self.fresh_home(copy)?);
        mounts.extend_from_slice(run.mounts);
        // Parents first, so that one directory inside another is seen.
        mounts.sort_by(|a, b| a.target.cmp(&b.target));
        let env = [("PATH", PATH_INSIDE), ("HOME", HOME_INSIDE)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let spec = CellSpec {
            argv: run.command.argv(),
            env: env.into_iter().chain(run.env.iter().cloned()).collect(),
            cwd: run.cwd.map_or_else(|| root.to_owned(), |cwd| root.join(cwd)),
            mounts,
            hosts: run.hosts.to_vec(),
            limits: run.limits.within(run.wall),
        };
        match cell::run(&spec, Some(run.lifeline.fd())) {
            Ok(outcome) => Ok(Ran::Ended(outcome)),
            Err(cell::Error::Cancelled) => Err(Error::Cancelled),
            Err(e @ (cell::Error::Program { .. } | cell::Error::Cwd { .. })) => Ok(Ran::NotStarted(e.to_string())),
            Err(e) => Err(Error::Isolation { code: e.code().to_owned(), cause: e.to_string() }),
        }
    }

    /// For a command in one of the copies.
    fn fresh_home(&self, copy: &str) -> Result<Mount, Error> {
        let doing = || "Making an empty home".to_owned();
        let name = format!("{HOME}-{copy}");
        removal::tree(&self.home_dir, name.as_bytes()).doing(doing)?;
        self.home_dir.mkdir(name.as_bytes(), 0o700).doing(doing)?;
        let target = PathBuf::from(HOME_INSIDE);
        Ok(Mount { source: self.home.join(name), target, access: MountAccess::ReadWrite })
    }

    /// Where files of this execution's own lie, beside the copies.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }
}

/// What became of a command. Isolation that is missing is an [`Error`] and never one of these.
pub(crate) enum Ran {
    Ended(CellOutcome),
    /// Its program or its directory is not there; the plan is wrong about that, not the sandbox.
    NotStarted(String),
}

/// One command and where it may look.
pub(crate) struct Run<'a> {
    pub(crate) command: &'a Command,
    /// Below the directory.
    pub(crate) cwd: Option<&'a str>,
    pub(crate) work_in: &'a Granted,
    pub(crate) reads: &'a [Granted],
    pub(crate) hosts: &'a [HostGrant],
    /// Besides `PATH` and `HOME`.
    pub(crate) env: &'a [(String, String)],
    /// Besides the directories.
    pub(crate) mounts: &'a [Mount],
    pub(crate) limits: &'a CellLimits,
    pub(crate) wall: Duration,
    pub(crate) lifeline: Lifeline<'a>,
}

/// An empty directory with the mode of another, and a place for the repository to be shown at.
fn empty_like(home: &Dir, name: &str, like: &Dir, git: Git) -> Result<Dir, Error> {
    let doing = || "Making the private copy".to_owned();
    let mode = like.own_stat().doing(doing)?.mode;
    home.mkdir(name.as_bytes(), mode | 0o700).doing(doing)?;
    let dir = home.below(name.as_bytes()).doing(doing)?;
    if git == Git::PassOver {
        match like.stat(GIT).doing(doing)?.map(|stat| stat.kind) {
            Some(Kind::Directory) => dir.mkdir(GIT, 0o755).doing(doing)?,
            // The `.git` of a linked worktree is a file.
            Some(_) | None => dir.create(GIT).map(drop).doing(doing)?,
        }
    }
    Ok(dir)
}

/// Removes the copies of an execution.
pub(crate) fn remove(home: &Path) -> Result<(), Error> {
    let doing = || "Removing the private copy".to_owned();
    let (Some(parent), Some(name)) = (home.parent(), home.file_name()) else { return Ok(()) };
    let parent = Dir::open(parent).doing(doing)?;
    removal::tree(&parent, name.as_bytes()).doing(doing)
}

impl Drop for Throwaway<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next check, or with the whole workspace; both say so if not.
        let _ = removal::tree(self.home, self.name.as_bytes());
    }
}
