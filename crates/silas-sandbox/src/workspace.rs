//! Where work happens: a private copy of every directory that a plan may change, and what checks run on.
//!
//! Inside a cell each copy lies at its original's path, so that commands work as if they ran there. The owner's `.git` is
//! shown at its place, read-only. Nothing here touches the originals.

use crate::cell::{self, CellSpec, Mount, MountAccess};
use crate::commits::{self, Repository};
use crate::dir::Dir;
use crate::error::Doing;
use crate::extent::Bounds;
use crate::ground::{CellLimits, Copies};
use crate::landing::Cargo;
use crate::lifeline::Lifeline;
use crate::moves::Moves;
use crate::permit::{self, Root};
use crate::private_copy::{self, CopyNote, PrivateCopy, Sight, Terms, Throwaway, Way};
use crate::tree::{GIT, Git, Manifest};
use crate::{Error, LeftOut, durable, removal};
use silas_core::changeset::{Change, Changeset};
use silas_core::check::Ended;
use silas_core::relpath::RelPath;
use silas_core::toolchain;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod running;
pub(crate) use running::{Commits, Ran, Reach, Run, Scene};

pub(crate) struct Workspace {
    home: PathBuf,
    home_dir: Dir,
    /// One for each directory that may be changed, in the plan's order.
    pub(crate) copies: Vec<PrivateCopy>,
    /// The clones of a plan that commits, one for each directory; otherwise none.
    clones: Vec<Repository>,
}

const HOME: &str = "home";
/// Where what commands printed lies, beside the copies.
pub(crate) const PRINTED: &str = "printed";
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
            let copy = match workspace.layered(root, n, wanted, lifeline)? {
                Some(copy) => copy,
                None => PrivateCopy::whole(&workspace.home_dir, root, n, wanted.terms, lifeline)?,
            };
            workspace.copies.push(copy);
            if wanted.commits {
                workspace.clones.push(Repository::make(&workspace.home_dir, root, n, lifeline)?);
            }
        }
        Ok(workspace)
    }

    /// Copies that were kept. Clones of repositories never are.
    pub(crate) fn reopen(home: &Path, notes: Vec<CopyNote>, bounds: Bounds) -> Result<Self, Error> {
        let home_dir = Dir::open(home).doing(|| "Opening the private copy again".to_owned())?;
        let reopen = |note| PrivateCopy::reopen(&home_dir, note, bounds);
        let copies = notes.into_iter().map(reopen).collect::<Result<_, _>>()?;
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
        wanted: &Wanted,
        lifeline: Lifeline<'_>,
    ) -> Result<Option<PrivateCopy>, Error> {
        match wanted.copies {
            Copies::Auto => {}
            Copies::Whole => return Ok(None),
        }
        let can_mount = |name: &str| self.can_mount(name, root, lifeline);
        PrivateCopy::layered(&self.home_dir, root, n, wanted.terms, can_mount, lifeline)
    }

    /// Whether a layered copy of a directory could be used here. Nothing of it stays.
    pub(crate) fn can_be_layered(
        home: &Path,
        root: &Root,
        is_mixed: bool,
        lifeline: Lifeline<'_>,
    ) -> Result<bool, Error> {
        let doing = || "Trying whether nothing has to be copied".to_owned();
        remove(home)?;
        durable::private_dir(home).doing(doing)?;
        let home_dir = Dir::open(home).doing(doing)?;
        let workspace = Workspace { home: home.to_owned(), home_dir, copies: Vec::new(), clones: Vec::new() };
        let can_mount = |name: &str| workspace.can_mount(name, root, lifeline);
        let layer = private_copy::layer(&workspace.home_dir, "copy-0", root, can_mount, || Ok(is_mixed));
        remove(home)?;
        Ok(layer?.is_some())
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
            watched: Vec::new(),
            signals: false,
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
        pairs.map(|(copy, root)| copy.look_at(root, lifeline)).collect()
    }

    /// What the checks of a round are to see of the owner's directories: through layers what is there now, otherwise what
    /// was copied.
    pub(crate) fn seen(&self, roots: &[Root], lifeline: Lifeline<'_>) -> Result<Vec<Manifest>, Error> {
        let pairs = self.copies.iter().zip(roots);
        pairs
            .map(|(copy, root)| match copy.way {
                Way::Layered => copy.look_at(root, lifeline),
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

    /// Carries out an order about files in the copies themselves.
    pub(crate) fn run_order(&self, run: Run<'_>, order: &dyn Fn() -> i32) -> Result<Ran, Error> {
        let mounts = self.copies.iter().zip(run.roots).map(|(copy, root)| self.mount(copy, root, None)).collect();
        self.run_as(run, mounts, Some(MountAccess::ReadWrite), (STEPS, Some(order)))
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

    /// What the work made that is no work product, in all directories.
    pub(crate) fn left_out(&self, roots: &[Root], lifeline: Lifeline<'_>) -> Result<LeftOut, Error> {
        let mut all = LeftOut::default();
        for (n, (copy, root)) in self.copies.iter().zip(roots).enumerate() {
            let left = copy.left_out(root, lifeline)?;
            all.files += left.files;
            all.places.extend(left.places.iter().map(|path| permit::named(roots, n, path)));
        }
        Ok(all.shortened())
    }

    /// What stands beside the change in all directories, by name.
    pub(crate) fn beside(&self, roots: &[Root]) -> Vec<String> {
        let each = self.copies.iter().enumerate();
        each.flat_map(|(n, copy)| copy.beside().map(move |path| permit::shown(roots, n, path))).collect()
    }

    /// Reads what was only looked at until it was known that the work changed it.
    pub(crate) fn read_changed(
        &mut self,
        roots: &[Root],
        finished: &[Manifest],
        lifeline: Lifeline<'_>,
    ) -> Result<(), Error> {
        for (n, (copy, root)) in self.copies.iter_mut().zip(roots).enumerate() {
            copy.read_changed(root, &finished[n], lifeline).map_err(|why| permit::told_of(roots, n, why))?;
        }
        Ok(())
    }

    /// Lays out what would be put in place, and only that, for the checks and the apply.
    pub(crate) fn land(
        &mut self,
        roots: &[Root],
        landed: &Landed<'_>,
        beside: &[RelPath],
        lifeline: Lifeline<'_>,
    ) -> Result<(), Error> {
        let Landed { changeset, moves, finished, base } = landed;
        for (n, (copy, root)) in self.copies.iter_mut().zip(roots).enumerate() {
            let changes = changeset.changes.iter().filter(|change| change.directory == copy.nth).collect();
            let cargo = Cargo { changes, finished: &finished[n], base: &base[n], moves, beside };
            copy.land(&self.home_dir, root, &cargo, lifeline).map_err(|why| permit::told_of(roots, n, why))?;
        }
        self.clones.iter_mut().zip(roots).try_for_each(|(clone, root)| clone.land(root, lifeline))
    }

    /// The work goes on in the copies, or they are kept.
    pub(crate) fn take_off(&mut self) -> Result<(), Error> {
        self.clones.iter_mut().for_each(Repository::take_off);
        self.copies.iter_mut().try_for_each(|copy| copy.take_off(&self.home_dir))
    }

    fn mount(&self, copy: &PrivateCopy, root: &Root, throwaway: Option<&Throwaway<'_>>) -> Mount {
        let real = PathBuf::from(&root.granted.place.path);
        let own = || self.home.join(&copy.name);
        match (copy.way, throwaway.map(|throwaway| throwaway.path(&self.home))) {
            (Way::Layered, None) => layered_mount(root, vec![own()]),
            (Way::Layered, Some(top)) => {
                let below = copy.lower().into_iter().map(|name| self.home.join(name));
                layered_mount(root, std::iter::once(top).chain(below).collect())
            }
            (Way::Whole, top) => {
                Mount { source: top.unwrap_or_else(own), target: real, access: MountAccess::ReadWrite }
            }
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

    /// Where the new content of a change can be read.
    pub(crate) fn source_of(&self, n: usize, path: &RelPath) -> Result<Dir, Error> {
        let doing = || format!("Reading {path}");
        match self.clones.get(n).filter(|_| commits::is_in_repository(path)) {
            Some(clone) => clone.brought().doing(doing),
            None => {
                let copy = &self.copies[n];
                copy.landing().map_or(copy.changed(), |landing| &landing.dir).below(b"").doing(doing)
            }
        }
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

/// What is to land: the changes of all directories, and one entry of each list for every directory.
pub(crate) struct Landed<'a> {
    pub(crate) changeset: &'a Changeset,
    pub(crate) moves: &'a Moves,
    /// What the copies are.
    pub(crate) finished: &'a [Manifest],
    /// What the owner's directories are.
    pub(crate) base: &'a [Manifest],
}

/// What a plan wants of its workspace.
pub(crate) struct Wanted {
    pub(crate) copies: Copies,
    pub(crate) commits: bool,
    pub(crate) terms: Terms,
}

/// Removes the copies of an execution.
pub(crate) fn remove(home: &Path) -> Result<(), Error> {
    let doing = || "Removing the private copy".to_owned();
    let (Some(parent), Some(name)) = (home.parent(), home.file_name()) else { return Ok(()) };
    let parent = Dir::open(parent).doing(doing)?;
    removal::tree(&parent, name.as_bytes()).doing(doing)
}
