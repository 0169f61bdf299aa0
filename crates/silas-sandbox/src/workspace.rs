//! Where work happens: a private copy of every directory that a plan may change, and what checks run on.
//!
//! Inside a cell each copy lies at its original's path, so that commands work as if they ran there. The owner's `.git` is
//! shown at its place, read-only. Nothing here touches the originals.

use crate::cell::{self, Brokers, CellOutcome, CellSpec, Mount, MountAccess, Streams};
use crate::commits::{self, Errand, Repository};
use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::{CellLimits, Copies};
use crate::lifeline::Lifeline;
use crate::permit::{self, Granted, Root};
use crate::private_copy::{CopyNote, PrivateCopy, Sight, Throwaway, Way};
use crate::tree::{self, GIT, Git, Manifest};
use crate::{Error, durable, removal};
use silas_core::changeset::Change;
use silas_core::check::{Command, Ended};
use silas_core::host::HostGrant;
use silas_core::outside::{Nobody, Outside};
use silas_core::relpath::RelPath;
use silas_core::secret::SecretRef;
use silas_core::toolchain::{self, Toolchain};
use silas_core::work::KEPT_INSIDE;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) struct Workspace {
    home: PathBuf,
    home_dir: Dir,
    /// One for each directory that may be changed, in the plan's order.
    pub(crate) copies: Vec<PrivateCopy>,
    /// The clones of a plan that commits, one for each directory; otherwise none.
    clones: Vec<Repository>,
}

const HOME: &str = "home";
/// Whose home it is, where no check runs.
const STEPS: &str = "steps";

/// A home that is empty at the start of every command and gone after it.
pub(crate) const HOME_INSIDE: &str = "/tmp/home";
/// A program that only ends should not take this long anywhere.
const PROBE_WALL: Duration = Duration::from_secs(20);

impl Workspace {
    pub(crate) fn make(home: &Path, roots: &[Root], wanted: &Wanted, lifeline: Lifeline<'_>) -> Result<Self, Error> {
        let doing = || "Making the private copy".to_owned();
        remove(home)?;
        durable::private_dir(home).doing(doing)?;
        let home_dir = Dir::open(home).doing(doing)?;
        let mut workspace = Workspace { home: home.to_owned(), home_dir, copies: Vec::new(), clones: Vec::new() };
        for (n, root) in roots.iter().enumerate() {
            root.granted.is_still_there()?;
            let copy = match workspace.layered(root, n, wanted.copies, lifeline)? {
                Some(copy) => copy,
                None => PrivateCopy::whole(&workspace.home_dir, root, n, lifeline)?,
            };
            workspace.copies.push(copy);
            if wanted.commits {
                workspace.clones.push(Repository::make(&workspace.home_dir, root, n, lifeline)?);
            }
        }
        Ok(workspace)
    }

    /// Copies that were kept. Clones of repositories never are.
    pub(crate) fn reopen(home: &Path, notes: Vec<CopyNote>) -> Result<Self, Error> {
        let home_dir = Dir::open(home).doing(|| "Opening the private copy again".to_owned())?;
        let copies = notes.into_iter().map(|note| PrivateCopy::reopen(&home_dir, note)).collect::<Result<_, _>>()?;
        Ok(Workspace { home: home.to_owned(), home_dir, copies, clones: Vec::new() })
    }

    pub(crate) fn notes(&self) -> Vec<CopyNote> {
        self.copies.iter().map(PrivateCopy::note).collect()
    }

    /// A layered copy, if one can really be mounted and used here.
    fn layered(
        &self,
        root: &Root,
        n: usize,
        copies: Copies,
        lifeline: Lifeline<'_>,
    ) -> Result<Option<PrivateCopy>, Error> {
        match copies {
            Copies::Auto => {}
            Copies::Whole => return Ok(None),
        }
        PrivateCopy::layered(&self.home_dir, root, n, |name| self.can_mount(name, root, lifeline), lifeline)
    }

    fn can_mount(&self, name: &str, root: &Root, lifeline: Lifeline<'_>) -> Result<bool, Error> {
        let probe = CellSpec {
            argv: vec!["true".to_owned()],
            env: toolchain::environment(&[], HOME_INSIDE),
            cwd: PathBuf::from("/"),
            mounts: vec![layered_mount(root, vec![self.home.join(name)])],
            hosts: Vec::new(),
            secrets: Vec::new(),
            callback_port: None,
            limits: CellLimits::default().within(PROBE_WALL),
        };
        match cell::run(&probe, Some(lifeline.fd())) {
            Ok(outcome) => Ok(outcome.ended == Ended::Exited(0)),
            Err(cell::Error::Cancelled) => Err(Error::Cancelled),
            // Whatever else is missing is missing for a whole copy too, and said there.
            Err(_) => Ok(false),
        }
    }

    pub(crate) fn n_layered(&self) -> u32 {
        self.copies.iter().map(|copy| u32::from(copy.way == Way::Layered)).sum()
    }

    /// What each copy is now.
    pub(crate) fn now(&self, lifeline: Lifeline<'_>) -> Result<Vec<Manifest>, Error> {
        self.copies.iter().map(|copy| copy.now(lifeline)).collect()
    }

    pub(crate) fn originals(&self) -> Vec<Manifest> {
        self.copies.iter().map(|copy| copy.original.clone()).collect()
    }

    /// What the owner's directories are now.
    pub(crate) fn look_at(&self, roots: &[Root], lifeline: Lifeline<'_>) -> Result<Vec<Manifest>, Error> {
        let pairs = self.copies.iter().zip(roots);
        pairs.map(|(copy, root)| tree::look_again(&root.granted.dir, copy.git, &copy.original, lifeline)).collect()
    }

    /// What the checks of a round are to see of the owner's directories: through layers what is there now, otherwise what
    /// was copied.
    pub(crate) fn seen(&self, roots: &[Root], lifeline: Lifeline<'_>) -> Result<Vec<Manifest>, Error> {
        let pairs = self.copies.iter().zip(roots);
        pairs
            .map(|(copy, root)| match copy.way {
                Way::Layered => tree::look_again(&root.granted.dir, copy.git, &copy.original, lifeline),
                Way::Whole => Ok(copy.original.clone()),
            })
            .collect()
    }

    /// What one run of a check works on, fresh.
    pub(crate) fn throwaways(
        &self,
        roots: &[Root],
        scene: &Scene<'_>,
        lifeline: Lifeline<'_>,
    ) -> Result<Vec<Throwaway<'_>>, Error> {
        let each = self.copies.iter().zip(roots).zip(scene.expected.iter().zip(scene.base));
        each.enumerate()
            .map(|(n, ((copy, root), (expected, base)))| {
                let is_here =
                    |change: &&&Change| change.directory == copy.nth && !commits::is_in_repository(&change.path);
                let without = scene.without.iter().filter(is_here).copied().collect();
                let sight = Sight { slot: scene.slot, expected, base, without };
                let made = copy.throwaway(&self.home_dir, root, &sight, lifeline);
                made.map_err(|why| permit::told_of(roots, n, why))
            })
            .collect()
    }

    /// Runs a command of the plan in the copies themselves.
    pub(crate) fn run_step(&self, run: Run<'_>) -> Result<Ran, Error> {
        let mounts = self.copies.iter().zip(run.roots).map(|(copy, root)| self.mount(copy, root, None)).collect();
        self.run(run, mounts, Some(MountAccess::ReadWrite), STEPS)
    }

    /// Runs a check on what was just made for it.
    pub(crate) fn run_check(&self, run: Run<'_>, scene: &Scene<'_>, on: &[Throwaway<'_>]) -> Result<Ran, Error> {
        let each = self.copies.iter().zip(run.roots).zip(on);
        let mounts = each.map(|((copy, root), on)| self.mount(copy, root, Some(on))).collect();
        let clones = match scene.commits {
            Commits::Shown => Some(MountAccess::ReadOnly),
            Commits::TakenBack => None,
        };
        self.run(run, mounts, clones, &format!("check-{}", scene.slot))
    }

    fn mount(&self, copy: &PrivateCopy, root: &Root, throwaway: Option<&Throwaway<'_>>) -> Mount {
        let real = PathBuf::from(&root.granted.place.path);
        let below = self.home.join(&copy.name);
        let top = throwaway.map(|throwaway| throwaway.path(&self.home));
        match copy.way {
            Way::Layered => layered_mount(root, top.into_iter().chain([below]).collect()),
            Way::Whole => Mount { source: top.unwrap_or(below), target: real, access: MountAccess::ReadWrite },
        }
    }

    /// The copies themselves, each at its original's path.
    pub(crate) fn shown(&self, roots: &[Root]) -> Result<Vec<Mount>, Error> {
        let mut mounts: Vec<Mount> =
            self.copies.iter().zip(roots).map(|(copy, root)| self.mount(copy, root, None)).collect();
        mounts.extend(self.repositories(roots, Some(MountAccess::ReadOnly))?);
        Ok(mounts)
    }

    /// The repositories of the originals, to look at, or their clones, if something may be done with them.
    fn repositories(&self, roots: &[Root], clones: Option<MountAccess>) -> Result<Vec<Mount>, Error> {
        let mut mounts = Vec::new();
        for (n, (copy, root)) in self.copies.iter().zip(roots).enumerate() {
            root.granted.is_still_there()?;
            if let (Some(clone), Some(access)) = (self.clones.get(n), &clones) {
                mounts.extend(clone.mounts(&self.home, root, access.clone()));
            } else if copy.git == Git::PassOver {
                let git = Path::new(&root.granted.place.path).join(std::ffi::OsStr::from_bytes(GIT));
                mounts.push(Mount { source: git.clone(), target: git, access: MountAccess::ReadOnly });
            }
        }
        Ok(mounts)
    }

    /// `clones` is what may be done with the clones of repositories; without it the owner's own are shown. `of` tells
    /// apart what runs at the same time.
    fn run(&self, run: Run<'_>, mut mounts: Vec<Mount>, clones: Option<MountAccess>, of: &str) -> Result<Ran, Error> {
        mounts.extend(self.repositories(run.roots, clones)?);
        mounts.extend(run.toolchains.iter().map(|tool| Mount {
            source: PathBuf::from(&tool.path),
            target: PathBuf::from(&tool.path),
            access: MountAccess::Tools,
        }));
        for read in run.reads {
            read.is_still_there()?;
            let path = PathBuf::from(&read.place.path);
            mounts.push(Mount { source: path.clone(), target: path, access: MountAccess::ReadOnly });
        }
        if let Some(kept) = run.kept {
            let target = PathBuf::from(KEPT_INSIDE);
            mounts.push(Mount { source: kept.to_owned(), target, access: MountAccess::ReadOnly });
        }
        mounts.push(self.fresh_home(of)?);
        mounts.extend_from_slice(run.mounts);
        let first = run.roots.first().map_or("/", |root| root.granted.place.path.as_str());
        let cwd = run.cwd.map_or_else(|| PathBuf::from(first), |cwd| Path::new(first).join(cwd));
        self.run_in(run, mounts, cwd)
    }

    fn run_in(&self, run: Run<'_>, mut mounts: Vec<Mount>, cwd: PathBuf) -> Result<Ran, Error> {
        // Parents first, so that one directory inside another is seen.
        mounts.sort_by(|a, b| a.target.cmp(&b.target));
        let mut env = toolchain::environment(run.toolchains, HOME_INSIDE);
        if !run.reach.secrets.is_empty() {
            for (_, path) in env.iter_mut().filter(|(name, _)| name == "PATH") {
                *path = format!("{path}:{}", cell::SECRET_PROGRAM_DIR);
            }
        }
        let spec = CellSpec {
            argv: run.command.argv(),
            env: env.into_iter().chain(run.env.iter().cloned()).collect(),
            cwd,
            mounts,
            hosts: run.reach.hosts.to_vec(),
            secrets: run.reach.secrets.to_vec(),
            callback_port: run.reach.callback_port,
            limits: run.limits.within(run.wall),
        };
        let brokers = Brokers { outside: run.outside, resolver: &cell::system_resolver };
        match cell::run_with(&spec, Streams::Kept, Some(run.lifeline.fd()), brokers) {
            Ok(outcome) => Ok(Ran::Ended(outcome)),
            Err(cell::Error::Cancelled) => Err(Error::Cancelled),
            Err(cell::Error::Unrecorded) => Err(Error::Unrecorded),
            Err(e @ (cell::Error::Program { .. } | cell::Error::Cwd { .. } | cell::Error::CallbackPort { .. })) => {
                Ok(Ran::NotStarted(e.to_string()))
            }
            Err(e) => Err(Error::Isolation { code: e.code().to_owned(), cause: e.to_string() }),
        }
    }

    /// What was committed in each clone, as changes of files.
    pub(crate) fn committed(&self, run: &Run<'_>) -> Result<Vec<Vec<Change>>, Error> {
        let git = |errand: Errand| {
            let command = Command::Shell(errand.script);
            let mut mounts = errand.mounts;
            mounts.push(self.fresh_home(STEPS)?);
            let run = Run {
                command: &command,
                cwd: None,
                reach: Reach::default(),
                toolchains: &[],
                kept: None,
                env: &[],
                mounts: &[],
                outside: &mut Nobody,
                ..*run
            };
            match self.run_in(run, mounts, PathBuf::from("/tmp"))? {
                Ran::Ended(outcome) if outcome.ended == Ended::Exited(0) => Ok(()),
                Ran::Ended(outcome) => Err(Error::NotAvailable(format!(
                    "What was committed cannot be brought over: {}",
                    String::from_utf8_lossy(&outcome.stderr).chars().take(500).collect::<String>()
                ))),
                Ran::NotStarted(why) => Err(Error::NotAvailable(format!("Bringing over commits needs git: {why}"))),
            }
        };
        let each = self.clones.iter().zip(run.roots);
        each.map(|(clone, root)| clone.changes(&self.home, root, run.lifeline, git)).collect()
    }

    /// Where the new content of a change can be read.
    pub(crate) fn source_of(&self, n: usize, path: &RelPath) -> Result<Dir, Error> {
        let doing = || format!("Reading {path}");
        match self.clones.get(n).filter(|_| commits::is_in_repository(path)) {
            Some(clone) => clone.brought().doing(doing),
            None => self.copies[n].changed().below(b"").doing(doing),
        }
    }

    fn fresh_home(&self, of: &str) -> Result<Mount, Error> {
        let doing = || "Making an empty home".to_owned();
        let name = format!("{HOME}-{of}");
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

fn layered_mount(root: &Root, layers: Vec<PathBuf>) -> Mount {
    let real = PathBuf::from(&root.granted.place.path);
    Mount { source: real.clone(), target: real, access: MountAccess::Layered(layers) }
}

/// What a plan wants of its workspace.
pub(crate) struct Wanted {
    pub(crate) copies: Copies,
    pub(crate) commits: bool,
}

/// What one run of a check is to see. Both lists have one entry for each directory, in the plan's order.
pub(crate) struct Scene<'a> {
    /// Tells apart what is there at the same time.
    pub(crate) slot: usize,
    /// What the copies are believed to be; they must be that.
    pub(crate) expected: &'a [Manifest],
    /// What the owner's directories are; where they have moved on, the check sees both together.
    pub(crate) base: &'a [Manifest],
    /// Changes that are taken back.
    pub(crate) without: &'a [&'a Change],
    pub(crate) commits: Commits,
}

/// Whether a check sees what the work committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Commits {
    Shown,
    TakenBack,
}

/// What became of a command. Isolation that is missing is an [`Error`] and never one of these.
pub(crate) enum Ran {
    Ended(CellOutcome),
    /// Its program, its directory or its port is not there; the plan is wrong about that, not the sandbox.
    NotStarted(String),
}

/// What a command may reach beyond its directories.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reach<'a> {
    pub(crate) hosts: &'a [HostGrant],
    pub(crate) secrets: &'a [SecretRef],
    pub(crate) callback_port: Option<u16>,
}

/// One command and where it may look.
pub(crate) struct Run<'a> {
    pub(crate) command: &'a Command,
    /// Below the first directory that may be changed.
    pub(crate) cwd: Option<&'a str>,
    pub(crate) roots: &'a [Root],
    pub(crate) reads: &'a [Granted],
    /// What an earlier execution replaced, for a plan that puts it back.
    pub(crate) kept: Option<&'a Path>,
    pub(crate) toolchains: &'a [Toolchain],
    pub(crate) reach: Reach<'a>,
    /// Besides `PATH` and `HOME`.
    pub(crate) env: &'a [(String, String)],
    /// Besides the directories.
    pub(crate) mounts: &'a [Mount],
    pub(crate) limits: &'a CellLimits,
    pub(crate) wall: Duration,
    pub(crate) lifeline: Lifeline<'a>,
    /// Who hears what it reaches.
    pub(crate) outside: &'a mut dyn Outside,
}

/// Removes the copies of an execution.
pub(crate) fn remove(home: &Path) -> Result<(), Error> {
    let doing = || "Removing the private copy".to_owned();
    let (Some(parent), Some(name)) = (home.parent(), home.file_name()) else { return Ok(()) };
    let parent = Dir::open(parent).doing(doing)?;
    removal::tree(&parent, name.as_bytes()).doing(doing)
}
