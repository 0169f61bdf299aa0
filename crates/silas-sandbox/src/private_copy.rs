//! The private copy of one granted directory, made in one of two ways.
//!
//! *Layered*: what the work writes goes into a layer over the directory, and nothing is copied. It is no snapshot: what the
//! owner saves meanwhile is seen through it, unless the work has touched that file. *Whole*: every file is copied; what the
//! owner saves meanwhile is not seen. Either way the manifest that was taken first says what the originals were, and
//! nothing is put in place that was not checked against what is there in the end.

use crate::dir::{Dir, Kind};
use crate::error::Doing;
use crate::lifeline::Lifeline;
use crate::overlay::{self, Stack};
use crate::permit::Root;
use crate::tree::{self, GIT, Git, Manifest, is_stage};
use crate::view::{self, Mark};
use crate::{Error, observe, removal};
use serde::{Deserialize, Serialize};
use silas_core::changeset::Change;
use silas_core::relpath::RelPath;
use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) struct PrivateCopy {
    /// Its place among the plan's directories.
    pub(crate) nth: u32,
    /// What the copy was made of.
    pub(crate) original: Manifest,
    pub(crate) git: Git,
    pub(crate) way: Way,
    /// Where it lies in the workspace's home.
    pub(crate) name: String,
    /// All of it, or only what was changed.
    dir: Dir,
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
        can_mount: impl FnOnce(&str) -> Result<bool, Error>,
        lifeline: Lifeline<'_>,
    ) -> Result<Option<Self>, Error> {
        let doing = || "Making the private copy".to_owned();
        let (name, git) = (format!("copy-{n}"), git_of(root)?);
        let real = &root.granted.dir;
        let mode = real.own_stat().doing(doing)?.mode;
        let dir = overlay::make(home, &name, mode).doing(doing)?;
        if !overlay::can_mark(&dir) || !can_mount(&name)? {
            removal::tree(home, name.as_bytes()).doing(doing)?;
            return Ok(None);
        }
        for staged in real.names(usize::MAX).doing(doing)?.into_iter().filter(|name| is_stage(name)) {
            overlay::hide(&dir, &staged).doing(doing)?;
        }
        let original = tree::snapshot(real, git, lifeline)?;
        // Files of others keep their owners in a layer, and the work could not change them there.
        if original.is_mixed {
            removal::tree(home, name.as_bytes()).doing(doing)?;
            return Ok(None);
        }
        Ok(Some(PrivateCopy { nth: root.nth, original, git, way: Way::Layered, name, dir }))
    }

    pub(crate) fn whole(home: &Dir, root: &Root, n: usize, lifeline: Lifeline<'_>) -> Result<Self, Error> {
        let (name, git) = (format!("copy-{n}"), git_of(root)?);
        let dir = empty_like(home, &name, &root.granted.dir, git)?;
        let original = tree::copy(&root.granted.dir, &dir, git, lifeline)?;
        Ok(PrivateCopy { nth: root.nth, original, git, way: Way::Whole, name, dir })
    }

    pub(crate) fn note(&self) -> CopyNote {
        let (nth, git, way) = (self.nth, self.git, self.way);
        CopyNote { nth, original: self.original.clone(), git, way, name: self.name.clone() }
    }

    /// The copy that was noted, as it lies there now; whether it still is what it was, its caller looks.
    pub(crate) fn reopen(home: &Dir, note: CopyNote) -> Result<Self, Error> {
        let CopyNote { nth, original, git, way, name } = note;
        let below = match way {
            Way::Layered => format!("{name}/{}", overlay::UPPER),
            Way::Whole => name.clone(),
        };
        let dir = home.below(below.as_bytes()).doing(|| "Opening the private copy again".to_owned())?;
        Ok(PrivateCopy { nth, original, git, way, name, dir })
    }

    /// How much of the disk the work has taken up with it.
    pub(crate) fn bytes_of(&self, now: &Manifest) -> u64 {
        match self.way {
            Way::Layered => now.bytes.saturating_sub(self.original.bytes),
            Way::Whole => now.bytes,
        }
    }

    /// Where everything that the work changed can be read.
    pub(crate) fn changed(&self) -> &Dir {
        &self.dir
    }

    /// What the copy is now: the originals, with what the work made of them.
    pub(crate) fn now(&self, lifeline: Lifeline<'_>) -> Result<Manifest, Error> {
        match self.way {
            Way::Layered => overlay::merged(&self.original, &self.dir, self.git, lifeline),
            Way::Whole => tree::snapshot(&self.dir, self.git, lifeline),
        }
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
        match self.way {
            Way::Layered => {
                let mode = self.dir.own_stat().doing(doing)?.mode;
                let dir = overlay::make(home, &name, mode).doing(doing)?;
                let throwaway = Throwaway { home, name, way: self.way, dir };
                as_believed(&self.now(lifeline)?, expected)?;
                let mut seen = overlay::merged(base, &self.dir, self.git, lifeline)?;
                for change in without {
                    match &change.before {
                        Some(before) => drop(seen.files.insert(change.path.clone(), before.clone())),
                        None => drop(seen.files.remove(&change.path)),
                    }
                }
                overlay::show_directories(&throwaway.dir, &seen, base).doing(doing)?;
                view::take_back(without, &root.granted.dir, |change| {
                    overlay::make_room(&throwaway.dir, &change.path, change.before.is_none(), &seen.dirs)
                })?;
                Ok(throwaway)
            }
            Way::Whole => {
                let dir = empty_like(home, &name, &self.dir, self.git)?;
                let throwaway = Throwaway { home, name, way: self.way, dir };
                let copied = tree::copy(&self.dir, &throwaway.dir, self.git, lifeline)?;
                as_believed(&copied, expected)?;
                as_applied(&copied, base, &throwaway.dir).doing(doing)?;
                bring_in(&self.original, base, &root.granted.dir, &throwaway.dir)?;
                view::take_back(without, &root.granted.dir, |change| view::clear(change, &throwaway.dir, base))?;
                Ok(throwaway)
            }
        }
    }

    /// Opens a file as a check will see it; nothing on the way may be a symlink.
    pub(crate) fn read(&self, root: &Root, throwaway: &Throwaway<'_>, path: &RelPath) -> io::Result<File> {
        match throwaway.way {
            Way::Whole => throwaway.dir.parent_of(path).and_then(|(parent, name)| parent.read(name)),
            Way::Layered => Stack(vec![&throwaway.dir, &self.dir, &root.granted.dir]).read(path),
        }
    }

    /// Whether a file is there after a check, following symlinks only as long as they stay inside.
    pub(crate) fn has(&self, root: &Root, throwaway: &Throwaway<'_>, path: &[u8]) -> bool {
        match throwaway.way {
            Way::Whole => throwaway.dir.has(path),
            Way::Layered => Stack(vec![&throwaway.dir, &self.dir, &root.granted.dir]).has(path),
        }
    }
}

fn as_believed(copy: &Manifest, expected: &Manifest) -> Result<(), Error> {
    let paths = copy.differences(&expected.files);
    if paths.is_empty() { Ok(()) } else { Err(Error::Conflict { paths }) }
}

/// An apply moves files and links; a directory comes with its first file and stays when its last one goes. A check
/// must see exactly that, or it would prove something that is never put in place.
fn as_applied(copied: &Manifest, base: &Manifest, dir: &Dir) -> io::Result<()> {
    for (path, mode) in &base.dirs {
        match copied.dirs.get(path) {
            None => {
                let (parent, name) = dir.parent_of(path)?;
                parent.mkdir(name, mode | 0o700)?;
            }
            Some(now) if now != mode => {
                let (parent, name) = dir.parent_of(path)?;
                parent.chmod(name, mode | 0o700)?;
            }
            Some(_) => {}
        }
    }
    // From the end of the order, so that what is inside goes before what it is in.
    let made = copied.dirs.keys().rev().filter(|path| !base.dirs.contains_key(path));
    for path in made {
        let (parent, name) = dir.parent_of(path)?;
        match parent.rmdir(name) {
            Err(e) if e.kind() != io::ErrorKind::DirectoryNotEmpty => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// What the owner changed since the copy was made, brought into a copy of it: what is checked is both together.
fn bring_in(original: &Manifest, base: &Manifest, real: &Dir, to: &Dir) -> Result<(), Error> {
    for (path, state) in base.moved_since(original) {
        let doing = || format!("Bringing in {path}");
        let place = match to.parent_of(path) {
            Err(e) if observe::leads_nowhere(&e) => None,
            found => Some(found.doing(doing)?),
        };
        if let Some((parent, name)) = &place
            && parent.stat(name).doing(doing)?.is_some_and(|stat| stat.kind != Kind::Directory)
        {
            parent.unlink(name).doing(doing)?;
        }
        let (Some(expected), Some((parent, name))) = (state, place) else { continue };
        let (from, last) = real.parent_of(path).doing(doing)?;
        observe::copy_name(&from, last, &parent, name).doing(doing)?;
        if observe::name_in(&parent, name).doing(doing)?.state().as_ref() != Some(expected) {
            return Err(Error::Conflict { paths: vec![path.to_string()] });
        }
    }
    Ok(())
}

fn git_of(root: &Root) -> Result<Git, Error> {
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
