//! The private copy of one granted directory, made in one of two ways.
//!
//! *Layered*: what the work writes goes into a layer over the directory, and nothing is copied. It is no snapshot: what the
//! owner saves meanwhile is seen through it, unless the work has touched that file. *Whole*: every file is copied; what the
//! owner saves meanwhile is not seen. Either way the manifest that was taken first says what the originals were, and
//! nothing is put in place that was not checked against what is there in the end.

use crate::beside::Beside;
use crate::dir::{Dir, Kind, Stat, split};
use crate::error::Doing;
use crate::extent::{Bounds, Depth, Extent, MadeBy};
use crate::ignoring::{Ignoring, IgnoringNote};
use crate::landing::{Cargo, Landing};
use crate::lifeline::Lifeline;
use crate::overlay::{self, Stack};
use crate::permit::Root;
use crate::tree::{self, GIT, Git, Manifest, Room, is_stage};
use crate::view::{self, Mark};
use crate::{Error, observe, removal};
use serde::{Deserialize, Serialize};
use silas_core::changeset::Change;
use silas_core::relpath::RelPath;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) struct PrivateCopy {
    /// Its place among the plan's directories.
    pub(crate) nth: u32,
    /// What the copy was made of.
    pub(crate) original: Manifest,
    pub(crate) git: Git,
    pub(crate) way: Way,
    /// Where it lies in the workspace's home.
    pub(crate) name: String,
    /// The time of everything that the work changed, where a check sees it; decided before the work began.
    pub(crate) time: SystemTime,
    /// What is no work product here; nothing where everything is.
    ignoring: Option<Ignoring>,
    bounds: Bounds,
    /// All of it, or only what was changed.
    dir: Dir,
    /// What the checks stand on and an apply takes, once the work is over.
    landing: Option<Landing>,
    /// What the checks see besides, because the plan says so.
    beside: Option<Beside>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Layered,
    Whole,
}

/// What must be known of a copy to open it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyNote {
    nth: u32,
    original: Manifest,
    git: Git,
    way: Way,
    name: String,
    /// Not of copies that an earlier version kept.
    #[serde(default = "SystemTime::now", with = "tree::instant")]
    time: SystemTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ignoring: Option<IgnoringNote>,
}

/// How copies are made for one plan.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// Whether what git ignores is a work product too.
    pub(crate) ignored: Ignored,
    pub(crate) bounds: Bounds,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ignored {
    LeftOut,
    Included,
}

/// What one check works on: a copy of the copy, or a layer over it. Removed when it goes.
pub(crate) struct Throwaway<'a> {
    home: &'a Dir,
    name: String,
    way: Way,
    dir: Dir,
}

/// What one run of a check is to see of one directory.
pub(crate) struct Sight<'a> {
    /// Tells apart throwaways that are there at the same time.
    pub(crate) slot: usize,
    /// What the copy is believed to be.
    pub(crate) expected: &'a Manifest,
    /// What the owner's directory is now.
    pub(crate) base: &'a Manifest,
    /// Changes that are taken back.
    pub(crate) without: Vec<&'a Change>,
}

impl PrivateCopy {
    /// An empty layer over the directory, if it can be used: `can_mount` tries it.
    pub(crate) fn layered(
        home: &Dir,
        root: &Root,
        n: usize,
        terms: Terms,
        can_mount: impl FnOnce(&str) -> Result<bool, Error>,
        lifeline: Lifeline<'_>,
    ) -> Result<Option<Self>, Error> {
        let doing = || "Making the private copy".to_owned();
        let (name, git) = (format!("copy-{n}"), git_of(root)?);
        let real = &root.granted.dir;
        let ignoring = terms.ignoring(root)?;
        let (depth, made_by) = (Depth::Light, MadeBy::Owner);
        let extent = Extent { git, ignoring: ignoring.as_ref(), bounds: terms.bounds, depth, made_by, lifeline };
        let mut original = None;
        let is_mixed = || Ok(original.insert(tree::snapshot(real, &extent)?).is_mixed);
        let dir = layer(home, &name, root, can_mount, is_mixed)?;
        let (Some(dir), Some(original)) = (dir, original) else { return Ok(None) };
        for staged in real.names(usize::MAX).doing(doing)?.into_iter().filter(|name| is_stage(name)) {
            overlay::hide(&dir, &staged).doing(doing)?;
        }
        ignoring.iter().for_each(Ignoring::has_learned);
        let time = time_after(&original);
        let (nth, way, bounds) = (root.nth, Way::Layered, terms.bounds);
        Ok(Some(PrivateCopy {
            nth,
            original,
            git,
            way,
            name,
            time,
            ignoring,
            bounds,
            dir,
            landing: None,
            beside: None,
        }))
    }

    pub(crate) fn whole(
        home: &Dir,
        root: &Root,
        n: usize,
        terms: Terms,
        lifeline: Lifeline<'_>,
    ) -> Result<Self, Error> {
        let (name, git) = (format!("copy-{n}"), git_of(root)?);
        let dir = empty_like(home, &name, &root.granted.dir, git)?;
        let ignoring = terms.ignoring(root)?;
        let (depth, made_by) = (Depth::All, MadeBy::Owner);
        let extent = Extent { git, ignoring: ignoring.as_ref(), bounds: terms.bounds, depth, made_by, lifeline };
        let original = tree::copy(&root.granted.dir, &dir, &extent)?;
        ignoring.iter().for_each(Ignoring::has_learned);
        let time = time_after(&original);
        let (nth, way, bounds) = (root.nth, Way::Whole, terms.bounds);
        Ok(PrivateCopy { nth, original, git, way, name, time, ignoring, bounds, dir, landing: None, beside: None })
    }

    pub(crate) fn note(&self) -> CopyNote {
        let (nth, git, way, time) = (self.nth, self.git, self.way, self.time);
        let ignoring = self.ignoring.as_ref().map(Ignoring::note);
        CopyNote { nth, original: self.original.clone(), git, way, name: self.name.clone(), time, ignoring }
    }

    /// The copy that was noted, as it lies there now; whether it still is what it was, its caller looks.
    pub(crate) fn reopen(home: &Dir, note: CopyNote, bounds: Bounds) -> Result<Self, Error> {
        let CopyNote { nth, original, git, way, name, time, ignoring } = note;
        let below = match way {
            Way::Layered => format!("{name}/{}", overlay::UPPER),
            Way::Whole => name.clone(),
        };
        let dir = home.below(below.as_bytes()).doing(|| "Opening the private copy again".to_owned())?;
        let ignoring = ignoring.map(Ignoring::noted);
        Ok(PrivateCopy { nth, original, git, way, name, time, ignoring, bounds, dir, landing: None, beside: None })
    }

    /// How much of the disk the work has taken up with it.
    pub(crate) fn bytes_of(&self, now: &Manifest) -> u64 {
        match self.way {
            Way::Layered => now.bytes.saturating_sub(self.original.bytes),
            // What is ignored was copied too, and is not looked at again.
            Way::Whole => now.bytes.max(self.original.bytes),
        }
    }

    /// Where everything that the work changed can be read.
    pub(crate) fn changed(&self) -> &Dir {
        &self.dir
    }

    /// Lays out what would be put in place. From here on the checks see that.
    pub(crate) fn land(
        &mut self,
        home: &Dir,
        root: &Root,
        cargo: &Cargo<'_>,
        lifeline: Lifeline<'_>,
    ) -> Result<(), Error> {
        (self.landing, self.beside) = (None, None);
        let beside = Beside::make(home, self, root, cargo.beside, &self.extent(lifeline))?;
        self.landing = Some(Landing::make(home, self, root, cargo, lifeline)?);
        self.beside = beside;
        Ok(())
    }

    /// The work goes on, or the copy is kept: it is laid out again later.
    pub(crate) fn take_off(&mut self, home: &Dir) -> Result<(), Error> {
        let names = [self.landing.take().map(|landing| landing.name), self.beside.take().map(|beside| beside.name)];
        for name in names.iter().flatten() {
            removal::tree(home, name.as_bytes()).doing(|| "Clearing what was laid out".to_owned())?;
        }
        Ok(())
    }

    pub(crate) fn landing(&self) -> Option<&Landing> {
        self.landing.as_ref()
    }

    /// What stands beside the change, not applied.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &RelPath> {
        self.beside.iter().flat_map(|beside| &beside.places)
    }

    /// The names of the layers below a check's own, the topmost first: never the copy once it is known what would land.
    pub(crate) fn lower(&self) -> Vec<&str> {
        let Some(landing) = &self.landing else { return vec![&self.name] };
        [Some(&landing.name), self.beside.as_ref().map(|beside| &beside.name)]
            .into_iter()
            .flatten()
            .map(|n| &**n)
            .collect()
    }

    /// What a check sees through its layers.
    fn stack<'a>(&'a self, root: &'a Root, throwaway: &'a Throwaway<'_>) -> Stack<'a> {
        let of_work = match &self.landing {
            None => vec![&self.dir],
            Some(landing) => std::iter::once(&landing.dir).chain(self.beside.as_ref().map(|b| &b.dir)).collect(),
        };
        Stack(std::iter::once(&throwaway.dir).chain(of_work).chain([&root.granted.dir]).collect())
    }

    /// What the copy is now: the originals, with what the work made of them.
    pub(crate) fn now(&self, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
        let extent = Extent { made_by: MadeBy::Work, ..self.extent(lifeline) };
        match self.way {
            Way::Layered => overlay::merged(&self.original, &self.dir, &extent),
            Way::Whole => tree::snapshot(&self.dir, &extent),
        }
    }

    /// What of the owner's directory and of the copy counts.
    pub(crate) fn extent<'a>(&'a self, lifeline: Lifeline<'a>) -> Extent<'a> {
        let depth = match self.way {
            Way::Layered => Depth::Light,
            Way::Whole => Depth::All,
        };
        let (ignoring, made_by) = (self.ignoring.as_ref(), MadeBy::Owner);
        Extent { git: self.git, ignoring, bounds: self.bounds, depth, made_by, lifeline }
    }

    /// What the owner's directory is now.
    pub(crate) fn look_at(&self, root: &Root, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
        tree::look_again(&root.granted.dir, &self.original, &self.extent(lifeline))
    }

    /// Reads what large files were that the work has changed: until then only their looks were noted.
    pub(crate) fn read_changed(
        &mut self,
        root: &Root,
        finished: &Manifest,
        lifeline: Lifeline<'_>,
    ) -> Result<(), Error> {
        let is_changed = |path: &RelPath| finished.files.get(path) != self.original.files.get(path);
        for path in self.original.unread().filter(|path| is_changed(path)).cloned().collect::<Vec<_>>() {
            let doing = || format!("Reading {path}");
            let found = observe::path_while(&root.granted.dir, &path, lifeline).doing(doing)?.state();
            let (parent, name) = root.granted.dir.parent_of(&path).doing(doing)?;
            let is_same = parent.stat(name).doing(doing)?.is_some_and(|stat| self.original.looks_like(&path, &stat));
            match found.filter(|_| is_same) {
                Some(state) => drop(self.original.files.insert(path, state)),
                None => return Err(Error::Conflict { paths: vec![path.to_string()] }),
            }
        }
        Ok(())
    }

    /// Whether the owner's directory is still what `base` says. Through a layer everything can be seen that was there at
    /// any time, so there it is not enough that it is the same again.
    pub(crate) fn is_based_on(&self, base: &Manifest, now: &Manifest) -> bool {
        match self.way {
            Way::Layered => now.is_untouched_since(base),
            Way::Whole => now.files == base.files,
        }
    }

    /// What one run of a check works on.
    pub(crate) fn throwaway<'a>(
        &self,
        home: &'a Dir,
        root: &Root,
        sight: &Sight<'_>,
        lifeline: Lifeline<'_>,
    ) -> Result<Throwaway<'a>, Error> {
        let doing = || "Making a copy for a check".to_owned();
        let Sight { slot, expected, base, without } = sight;
        let name = format!("{}-{slot}", self.name.replace("copy", "check"));
        removal::tree(home, name.as_bytes()).doing(|| "Clearing the last check's copy".to_owned())?;
        let real = &root.granted.dir;
        match self.way {
            Way::Layered => {
                let mode = real.own_stat().doing(doing)?.mode;
                let dir = overlay::make(home, &name, mode).doing(doing)?;
                let throwaway = Throwaway { home, name, way: self.way, dir };
                let Some(landing) = &self.landing else {
                    as_believed(&self.now(lifeline)?, expected)?;
                    return Ok(throwaway);
                };
                landing.must_be_whole(lifeline)?;
                landing.hide_emptied(&throwaway.dir, without).doing(doing)?;
                view::take_back(without, real, lifeline, |change| {
                    overlay::make_room(&throwaway.dir, &change.path, change.before.is_none(), &landing.dirs)
                })?;
                Ok(throwaway)
            }
            Way::Whole => {
                let dir = empty_like(home, &name, real, self.git)?;
                let throwaway = Throwaway { home, name, way: self.way, dir };
                self.lay_out(real, base, &throwaway.dir, lifeline)?;
                if let Some(landing) = &self.landing {
                    landing.put_into(&throwaway.dir, self.time, lifeline)?;
                }
                view::take_back(without, real, lifeline, |change| view::clear(change, &throwaway.dir, base))?;
                Ok(throwaway)
            }
        }
    }

    /// Puts everything that the work did not change into an empty directory: what the owner changed since the copy was made
    /// from the owner's directory, the rest from the copy, with the times that it had.
    fn lay_out(&self, real: &Dir, base: &Manifest, to: &Dir, lifeline: Lifeline<'_>) -> Result<(), Error> {
        for (path, mode) in &base.dirs {
            let (parent, name) = to.parent_of(path).doing(|| format!("Copying {path}"))?;
            parent.mkdir(name, mode | 0o700).doing(|| format!("Copying {path}"))?;
        }
        let changed: BTreeSet<&RelPath> =
            self.landing.iter().flat_map(|landing| landing.changes.iter().map(|change| &change.path)).collect();
        for (path, state) in base.files.iter().filter(|(path, _)| !changed.contains(path)) {
            lifeline.holds()?;
            let doing = || format!("Copying {path}");
            let source = if self.original.files.get(path) == Some(state) { &self.dir } else { real };
            let (from, name) = source.parent_of(path).doing(doing)?;
            let (parent, _) = to.parent_of(path).doing(doing)?;
            let time = base.modified(path).unwrap_or(self.time);
            if observe::copy_name_at(&from, name, &parent, time, lifeline).doing(doing)? != *state {
                return Err(Error::Conflict { paths: vec![path.to_string()] });
            }
        }
        // What is no work product is there as the owner has it, whatever the work made of it.
        let extent = self.extent(lifeline);
        let mut bytes = extent.bounds.bytes_max;
        let mut leave = |dir: &Dir, path: RelPath, stat: &Stat| {
            let to = match to.parent_of(&path) {
                _ if self.beside.as_ref().is_some_and(|beside| beside.has(&path)) => return Ok(()),
                Err(e) if observe::leads_nowhere(&e) => return Ok(()),
                found => found.doing(|| format!("Copying {path}"))?.0,
            };
            let room = Room { extent: &extent, bytes, path: &path };
            bytes -= tree::copy_unseen(dir, split(&path).1, stat, &to, room)?.min(bytes);
            Ok(())
        };
        if self.ignoring.is_some() {
            tree::walk_by(real, &extent, &mut |_, _, _| Ok(()), &mut leave)?;
        }
        self.beside.as_ref().map_or(Ok(()), |beside| beside.put_into(to, self, &extent))
    }

    /// Opens a file as a check will see it; nothing on the way may be a symlink.
    pub(crate) fn read(&self, root: &Root, throwaway: &Throwaway<'_>, path: &RelPath) -> io::Result<File> {
        match throwaway.way {
            Way::Whole => throwaway.dir.parent_of(path).and_then(|(parent, name)| parent.read(name)),
            Way::Layered => self.stack(root, throwaway).read(path),
        }
    }

    /// Whether a file is there after a check, following symlinks only as long as they stay inside.
    pub(crate) fn has(&self, root: &Root, throwaway: &Throwaway<'_>, path: &[u8]) -> bool {
        match throwaway.way {
            Way::Whole => throwaway.dir.has(path),
            Way::Layered => self.stack(root, throwaway).has(path),
        }
    }
}

/// An empty layer over a directory, if work can be done through one. This is decided here alone, for the work and for whoever
/// asks before it. `is_mixed` looks whether something in it belongs to somebody else than the directory itself.
pub(crate) fn layer(
    home: &Dir,
    name: &str,
    root: &Root,
    can_mount: impl FnOnce(&str) -> Result<bool, Error>,
    is_mixed: impl FnOnce() -> Result<bool, Error>,
) -> Result<Option<Dir>, Error> {
    let doing = || "Making the private copy".to_owned();
    let mode = root.granted.dir.own_stat().doing(doing)?.mode;
    let dir = overlay::make(home, name, mode).doing(doing)?;
    // Files of others keep their owners in a layer, and the work could not change them there.
    if overlay::can_mark(&dir) && can_mount(name)? && !is_mixed()? {
        return Ok(Some(dir));
    }
    removal::tree(home, name.as_bytes()).doing(doing)?;
    Ok(None)
}

fn as_believed(copy: &Manifest, expected: &Manifest) -> Result<(), Error> {
    let paths = copy.differences(&expected.files);
    if paths.is_empty() { Ok(()) } else { Err(Error::Conflict { paths }) }
}

impl Terms {
    fn ignoring(&self, root: &Root) -> Result<Option<Ignoring>, Error> {
        match self.ignored {
            Ignored::LeftOut => Ignoring::of(&root.granted),
            Ignored::Included => Ok(None),
        }
    }
}

/// Newer than everything in the directory by at least the second in which most tools compare: what was built from an
/// original is then not taken for built from what the work made of it.
fn time_after(original: &Manifest) -> SystemTime {
    let whole = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = SystemTime::now();
    if original.newest().is_some_and(|newest| whole(newest) == whole(now)) {
        return UNIX_EPOCH + Duration::from_secs(whole(now) + 1);
    }
    now
}

pub(crate) fn git_of(root: &Root) -> Result<Git, Error> {
    let stat = root.granted.dir.stat(GIT).doing(|| "Making the private copy".to_owned())?;
    Ok(match stat.map(|stat| stat.kind) {
        Some(Kind::Directory | Kind::File) => Git::PassOver,
        Some(Kind::Link | Kind::Special(_)) | None => Git::Visit,
    })
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

impl Throwaway<'_> {
    /// Which file it is that lies there and when it was last touched, as far as a check can have a hand in it: what lies
    /// below a layer is out of its reach, and its owner may write there at any time.
    pub(crate) fn mark(&self, path: &RelPath) -> io::Result<Mark> {
        match self.way {
            Way::Whole => view::mark(path, &self.dir),
            Way::Layered => overlay::mark(path, &self.dir),
        }
    }

    /// Whether a file that came to be here has a second name.
    pub(crate) fn has_names(&self, path: &RelPath) -> bool {
        let found = self.dir.parent_of(path).and_then(|(parent, name)| parent.stat(name));
        found.is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == Kind::File && stat.links > 1))
    }

    pub(crate) fn path(&self, home: &Path) -> std::path::PathBuf {
        home.join(&self.name)
    }
}

impl Drop for Throwaway<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next check, or with the whole workspace; both say so if not.
        let _ = removal::tree(self.home, self.name.as_bytes());
    }
}
