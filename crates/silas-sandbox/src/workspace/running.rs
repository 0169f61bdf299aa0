//! How a command runs where the work happens, and what git tells of what was committed there.

use super::{HOME, HOME_INSIDE, PRINTED, STEPS, Workspace};
use crate::cell::{self, Brokers, CellOutcome, CellSpec, Mount, MountAccess, Streams};
use crate::commits::Errand;
use crate::error::Doing;
use crate::ground::CellLimits;
use crate::lifeline::Lifeline;
use crate::permit::{self, Granted, Root};
use crate::tree::Manifest;
use crate::{Error, removal};
use silas_core::changeset::Change;
use silas_core::check::{Command, Ended};
use silas_core::envelope::PRINTED_INSIDE;
use silas_core::host::HostGrant;
use silas_core::outside::{Nobody, Outside};
use silas_core::relpath::RelPath;
use silas_core::secret::SecretRef;
use silas_core::toolchain::{self, Toolchain};
use silas_core::work::KEPT_INSIDE;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    Ended(Box<CellOutcome>),
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
    /// Directories of which is told what was opened in them.
    pub(crate) watched: &'a [PathBuf],
    /// Whether is told which programs reached for others.
    pub(crate) signals: bool,
    pub(crate) limits: &'a CellLimits,
    pub(crate) wall: Duration,
    pub(crate) lifeline: Lifeline<'a>,
    /// Who hears what it reaches.
    pub(crate) outside: &'a mut dyn Outside,
}

impl Workspace {
    /// `clones` is what may be done with the clones of repositories; without it the owner's own are shown. `of` tells
    /// apart what runs at the same time.
    pub(super) fn run(
        &self,
        run: Run<'_>,
        mounts: Vec<Mount>,
        clones: Option<MountAccess>,
        of: &str,
    ) -> Result<Ran, Error> {
        self.run_as(run, mounts, clones, (of, None))
    }

    /// The same, perhaps with code of our own in the place of the command.
    pub(super) fn run_as(
        &self,
        run: Run<'_>,
        mut mounts: Vec<Mount>,
        clones: Option<MountAccess>,
        (of, own): (&str, Option<cell::Own<'_>>),
    ) -> Result<Ran, Error> {
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
        let printed = self.home.join(PRINTED);
        if of == STEPS && printed.is_dir() {
            mounts.push(Mount { source: printed, target: PRINTED_INSIDE.into(), access: MountAccess::ReadOnly });
        }
        mounts.push(self.fresh_home(of)?);
        mounts.extend_from_slice(run.mounts);
        let first = run.roots.first().map_or("/", |root| root.granted.place.path.as_str());
        let cwd = run.cwd.map_or_else(|| PathBuf::from(first), |cwd| Path::new(first).join(cwd));
        self.run_in(run, mounts, cwd, own)
    }

    pub(super) fn run_in(
        &self,
        run: Run<'_>,
        mut mounts: Vec<Mount>,
        cwd: PathBuf,
        own: Option<cell::Own<'_>>,
    ) -> Result<Ran, Error> {
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
            watched: run.watched.to_vec(),
            signals: run.signals,
            limits: run.limits.within(run.wall),
        };
        let brokers = Brokers { outside: run.outside, resolver: &cell::system_resolver };
        let outcome = match own {
            Some(own) => cell::run_own(&spec, own, Some(run.lifeline.fd())),
            None => cell::run_with(&spec, Streams::Kept, Some(run.lifeline.fd()), brokers),
        };
        match outcome {
            Ok(outcome) => Ok(Ran::Ended(Box::new(outcome))),
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
        let git = |errand: Errand| self.git(run, errand);
        let each = self.clones.iter().zip(run.roots);
        each.map(|(clone, root)| clone.changes(&self.home, root, run.lifeline, git)).collect()
    }

    /// What branches and tags that moved hold otherwise than a check sees it, by name.
    pub(crate) fn committed_otherwise(&self, run: &Run<'_>, scene: &Scene<'_>) -> Result<Vec<String>, Error> {
        let mut unlike = Vec::new();
        for (n, (clone, root)) in self.clones.iter().zip(run.roots).enumerate() {
            let Some(held) = clone.held()? else { continue };
            let throwaways = self.throwaways(run.roots, scene, run.lifeline)?;
            let each = self.copies.iter().zip(run.roots).zip(&throwaways);
            let shown = each.map(|((copy, root), on)| self.mount(copy, root, Some(on))).collect();
            self.git(run, clone.compare(&held, &self.home, root, shown)?)?;
            let found = clone.unlike(held, |path| self.copies[n].has(root, &throwaways[n], path))?;
            unlike.extend(found.iter().map(|path| match RelPath::from_bytes(path) {
                Ok(path) => permit::shown(run.roots, n, &path),
                Err(_) => String::from_utf8_lossy(path).into_owned(),
            }));
        }
        Ok(unlike)
    }

    /// Runs git in a cell, with nothing of the plan's.
    fn git(&self, run: &Run<'_>, errand: Errand) -> Result<(), Error> {
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
            watched: &[],
            signals: false,
            outside: &mut Nobody,
            ..*run
        };
        match self.run_in(run, mounts, PathBuf::from("/tmp"), None)? {
            Ran::Ended(outcome) if outcome.ended == Ended::Exited(0) => Ok(()),
            Ran::Ended(outcome) => Err(Error::NotAvailable(format!(
                "What was committed cannot be brought over: {}",
                String::from_utf8_lossy(&outcome.stderr).chars().take(500).collect::<String>()
            ))),
            Ran::NotStarted(why) => Err(Error::NotAvailable(format!("Bringing over commits needs git: {why}"))),
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
}
