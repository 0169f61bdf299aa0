//! The staging directory of an execution, inside the directory that it changes: new contents wait here, and afterwards
//! what they replaced is kept here until it can no longer be undone.

use crate::attributes::Origins;
use crate::dir::{Dir, Kind, Stat};
use crate::error::Doing;
use crate::lifeline::{Awaited, Lifeline};
use crate::observe::{self, Seen};
use crate::permit::Granted;
use crate::tree::STAGE_PREFIX;
use crate::{Error, attributes, removal, syscall};
use silas_core::ExecutionId;
use silas_core::changeset::{Change, FileState};
use silas_core::relpath::RelPath;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

pub(crate) struct Stage {
    pub(crate) dir: Dir,
    /// Who owns the directory around it; new files become theirs too.
    owner: Stat,
}

pub(crate) fn name(execution: &ExecutionId) -> String {
    format!("{STAGE_PREFIX}{execution}")
}

/// Keeps git from offering what is staged.
const IGNORE: &[u8] = b".gitignore";
/// A directory that is made to see what can be kept, and removed.
const PROBE: &[u8] = b"probe";

impl Stage {
    /// Makes a new one. One that is left from an attempt that was never committed is removed first.
    pub(crate) fn make(root: &Dir, execution: &ExecutionId) -> Result<Self, Error> {
        let name = name(execution);
        let doing = || format!("Making {name}");
        remove(root, execution)?;
        let owner = root.own_stat().doing(doing)?;
        root.mkdir(name.as_bytes(), 0o700).doing(doing)?;
        root.chown_like(name.as_bytes(), &owner).doing(doing)?;
        let dir = root.below(name.as_bytes()).doing(doing)?;
        let mut ignore = dir.create(IGNORE).doing(doing)?;
        ignore.write_all(b"*\n").and_then(|()| ignore.sync_all()).doing(doing)?;
        dir.chown_like(IGNORE, &owner).doing(doing)?;
        Ok(Stage { dir, owner })
    }

    pub(crate) fn open(root: &Dir, execution: &ExecutionId) -> Result<Self, Error> {
        let name = name(execution);
        let doing = || format!("Opening {name}");
        let owner = root.own_stat().doing(doing)?;
        Ok(Stage { dir: root.below(name.as_bytes()).doing(doing)?, owner })
    }

    /// Brings the new content of a change here, with the owner that the original has, or that a file had which moved. On disk
    /// it is when [`Settling`] says so.
    pub(crate) fn put(
        &self,
        name: &str,
        change: &Change,
        origins: &Origins<'_>,
        copy: &Dir,
        linked: &mut Linked,
        lifeline: Lifeline<'_>,
    ) -> Result<(), Error> {
        let doing = || format!("Staging {}", change.path);
        let root = origins.root;
        let Some(after) = &change.after else { return Ok(()) };
        let (parent, last) = copy.parent_of(&change.path).doing(doing)?;
        let original = match root.parent_of(&change.path) {
            Ok((parent, last)) => parent.stat(last).doing(doing)?,
            Err(e) if observe::leads_nowhere(&e) => None,
            Err(e) => return Err(e).doing(doing),
        };
        let moved = origins.moved_from(change).doing(doing)?;
        let owner = original.or(moved).unwrap_or(self.owner);
        let name = name.as_bytes();
        match after {
            FileState::Link { .. } => {
                let target = parent.read_link(last).doing(doing)?;
                self.dir.symlink(name, &target).doing(doing)?;
                self.dir.chown_like(name, &owner).doing(doing)?;
            }
            FileState::File { mode, .. } => match linked.of(original.as_ref(), name) {
                // Names of one file stay names of one file.
                Some(first) => self.dir.link(&first, &self.dir, name).doing(doing)?,
                None => {
                    let mut staged = self.dir.create(name).doing(doing)?;
                    let mut from = Awaited { file: parent.read(last).doing(doing)?, lifeline };
                    observe::pour(&mut from, &mut staged, u64::MAX).doing(doing)?;
                    self.dir.chown_like(name, &owner).doing(doing)?;
                    if moved.is_some() && !self.dir.stat(name).doing(doing)?.is_some_and(|it| it.belongs_like(&owner)) {
                        return Err(Error::unsupported("a file whose owner cannot be kept", &change.path));
                    }
                    attributes::carry_over(change, origins, &staged)?;
                    staged.set_permissions(Permissions::from_mode(*mode)).doing(doing)?;
                }
            },
        }
        // What was verified is what is staged; a copy that changed in between would be a hole.
        let staged = observe::name_while(&self.dir, name, lifeline).doing(doing)?;
        if staged.is(&change.after) { Ok(()) } else { Err(Error::Conflict { paths: vec![change.path.to_string()] }) }
    }

    /// Makes a directory for new files. It belongs to whoever owns the directory around it, unless it moved here: then it has
    /// the owner and the attributes that it had. Says what of these cannot be kept.
    pub(crate) fn make_directory(
        &self,
        parent: &Dir,
        name: &[u8],
        mode: u32,
        was: Option<&Dir>,
    ) -> io::Result<Option<String>> {
        parent.mkdir(name, 0o700)?;
        let owner = was.map_or(Ok(self.owner), Dir::own_stat)?;
        parent.chown_like(name, &owner)?;
        let mut lost = None;
        if let Some(was) = was {
            let made = parent.below(name)?;
            let attribute = attributes::carry_over_directory(was, &made)?;
            lost = attribute.map(|name| format!("attribute {}", name.to_string_lossy()));
            if !made.own_stat()?.belongs_like(&owner) {
                lost = Some("owner".to_owned());
            }
        }
        parent.chmod(name, mode)?;
        Ok(lost)
    }

    /// Refuses by name a directory that moved and of which something could not be kept.
    pub(crate) fn try_directory(&self, path: &RelPath, was: &Dir) -> Result<(), Error> {
        let doing = || format!("Staging {path}");
        let lost = self.make_directory(&self.dir, PROBE, 0o700, Some(was)).doing(doing)?;
        self.dir.rmdir(PROBE).doing(doing)?;
        match lost {
            None => Ok(()),
            Some(what) => Err(Error::unsupported(&format!("a directory whose {what} cannot be kept"), path)),
        }
    }
}

/// What was staged first for each file that has several names, in one directory.
#[derive(Default)]
pub(crate) struct Linked(BTreeMap<u64, Vec<u8>>);

impl Linked {
    /// Under which name the same file is staged already; otherwise this one is remembered.
    fn of(&mut self, original: Option<&Stat>, name: &[u8]) -> Option<Vec<u8>> {
        let original = original.filter(|stat| stat.kind == Kind::File && stat.links > 1)?;
        match self.0.entry(original.inode) {
            Entry::Occupied(first) => Some(first.get().clone()),
            Entry::Vacant(free) => {
                free.insert(name.to_vec());
                None
            }
        }
    }
}

/// A directory that is changed, and what is staged in it.
pub(crate) struct Site<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) stage: Stage,
}

pub(crate) fn open_all<'a>(granted: &[&'a Granted], execution: &ExecutionId) -> Result<Vec<Site<'a>>, Error> {
    let open = |granted: &&'a Granted| Ok(Site { root: &granted.dir, stage: Stage::open(&granted.dir, execution)? });
    granted.iter().map(open).collect()
}

/// Removes what is exactly as expected and leaves everything else, so that no text is lost that nobody else has.
/// Removes the directory itself if nothing is left. One that is gone was cleared before.
pub(crate) fn clear(root: &Dir, execution: &ExecutionId, known: &[(String, FileState)]) -> Result<(), Error> {
    let name = name(execution);
    let doing = || format!("Clearing {name}");
    if root.stat(name.as_bytes()).doing(doing)?.is_none() {
        return Ok(());
    }
    let stage = Stage::open(root, execution)?;
    for (item, state) in known {
        if observe::name_in(&stage.dir, item.as_bytes()).doing(doing)? == Seen::State(state.clone()) {
            stage.dir.unlink(item.as_bytes()).doing(doing)?;
        }
    }
    match stage.dir.names(2).doing(doing)?.as_slice() {
        [] => root.rmdir(name.as_bytes()).doing(doing)?,
        [last] if last == IGNORE => {
            stage.dir.unlink(IGNORE).and_then(|()| root.rmdir(name.as_bytes())).doing(doing)?;
        }
        _ => {}
    }
    root.sync().doing(doing)
}

/// What has to be on disk before the next step, put there together: a sync of its own for each of many files would take
/// as long as all the rest.
#[derive(Default)]
pub(crate) struct Settling {
    dirs: BTreeSet<(usize, Vec<u8>)>,
    staged: Vec<(usize, String)>,
}

/// From here on one sync of the whole file system is cheaper, whatever else it has to write.
const SYNCS_MAX: usize = 24;

impl Settling {
    /// Names in this directory came or went.
    pub(crate) fn note(&mut self, root: usize, dir: &[u8]) {
        self.dirs.insert((root, dir.to_vec()));
    }

    /// A file was written in the staging directory.
    pub(crate) fn note_staged(&mut self, root: usize, name: &str) {
        self.staged.push((root, name.to_owned()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.dirs.is_empty() && self.staged.is_empty()
    }

    /// Everything noted is on disk when this returns, and so are the staging directories.
    pub(crate) fn settle(self, sites: &[Site<'_>]) -> io::Result<()> {
        for (n, site) in sites.iter().enumerate() {
            let dirs: Vec<&[u8]> = self.dirs.iter().filter(|(root, _)| *root == n).map(|(_, dir)| &dir[..]).collect();
            let staged: Vec<&[u8]> = self.staged.iter().filter(|(r, _)| *r == n).map(|(_, s)| s.as_bytes()).collect();
            if dirs.len() + staged.len() > SYNCS_MAX {
                syscall::sync_file_system(site.root.as_fd())?;
                continue;
            }
            for name in staged {
                // A symlink is on disk with the directory that it is in.
                if site.stage.dir.stat(name)?.is_some_and(|stat| stat.kind == Kind::File) {
                    site.stage.dir.read(name)?.sync_all()?;
                }
            }
            for dir in dirs {
                match site.root.below(dir) {
                    // It was never there, or somebody else moved it away; nothing of ours is in it.
                    Err(e) if observe::leads_nowhere(&e) => {}
                    found => found?.sync()?,
                }
            }
            site.stage.dir.sync()?;
        }
        Ok(())
    }
}

/// Removes a staging directory whose journal was never committed: all that it holds are copies.
pub(crate) fn remove(root: &Dir, execution: &ExecutionId) -> Result<(), Error> {
    let name = name(execution);
    let doing = || format!("Removing {name}");
    match root.stat(name.as_bytes()).doing(doing)? {
        Some(stat) if stat.kind == Kind::Directory => removal::tree(root, name.as_bytes()).doing(doing),
        Some(_) => {
            let kind = "not a directory that Silas made, though it is called like one";
            Err(Error::unsupported_with(kind, &name, "Give it another name."))
        }
        None => Ok(()),
    }
}
