//! What a check sees: the finished copy, with what judges put back as it was approved.
//!
//! Works on throwaway copies and layers only. What is put back is read from the owner's directory, and must still be what the copy
//! was made of; if the owner has changed it meanwhile, that is a conflict like any other.

use crate::dir::{Dir, split};
use crate::error::Doing;
use crate::lifeline::{Awaited, Lifeline};
use crate::permit::{self, Root};
use crate::private_copy::Throwaway;
use crate::tree::Manifest;
use crate::{Error, commits, observe, tree};
use silas_core::changeset::{Change, Changeset, FileState};
use silas_core::check::{Check, Expectation};
use silas_core::judges::{Judges, Role};
use silas_core::relpath::RelPath;
use silas_core::testlog::TestLog;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

/// The changes of what judges a check by its name. `base` is what the directories are.
pub(crate) fn judging<'c>(check: &Check, changes: &'c Changeset, roots: &[Root], base: &[Manifest]) -> Vec<&'c Change> {
    let judges: Vec<Judges> = roots.iter().map(|root| Judges::of(check, &root.granted.place.path)).collect();
    let behind = behind_links(&judges, roots, base);
    // Whether a new file is there is what such a check asks; it does not judge.
    let is_asked_for = |change: &Change, n: usize| match &check.expect {
        Expectation::FileExists(path) => {
            let is_this =
                path.as_bytes() == full(&roots[n], &change.path) || n == 0 && *path == change.path.to_string();
            change.before.is_none() && is_this
        }
        _ => false,
    };
    let judged = |change: &&Change| {
        // What was committed is no file of the directory, and no way to run anything.
        let place = roots.iter().position(|root| root.nth == change.directory);
        let Some(n) = place.filter(|_| !commits::is_in_repository(&change.path)) else { return false };
        let is_behind = || is_at_or_below_any(&full(&roots[n], &change.path), &behind);
        let role = judges[n].role_of(&change.path, change.before.is_none());
        (role.is_some() || is_behind()) && !is_asked_for(change, n)
    };
    changes.changes.iter().filter(judged).collect()
}

/// Where links that judge lead to, in full: what is there judges too, whichever directory it is in. A link that lies there
/// leads further, however many there are.
fn behind_links(judges: &[Judges], roots: &[Root], base: &[Manifest]) -> Vec<Vec<u8>> {
    let (mut pending, mut others) = (Vec::new(), Vec::new());
    for ((judges, root), base) in judges.iter().zip(roots).zip(base) {
        for (path, state) in &base.files {
            let FileState::Link { target } = state else { continue };
            let at = full(root, path);
            let Some(place) = leads_to(&at, target) else { continue };
            match judges.role_of(path, false) {
                Some(_) => pending.push(place),
                None => others.push((at, place)),
            }
        }
    }
    let mut places: BTreeSet<Vec<u8>> = BTreeSet::new();
    while let Some(place) = pending.pop() {
        if places.contains(&place) {
            continue;
        }
        others.retain(|(at, further)| {
            let leads_on = is_at_or_below(at, &place);
            if leads_on {
                pending.push(further.clone());
            }
            !leads_on
        });
        places.insert(place);
    }
    places.into_iter().collect()
}

pub(crate) fn full(root: &Root, path: &RelPath) -> Vec<u8> {
    [root.granted.place.path.as_bytes(), b"/", path.as_bytes()].concat()
}

/// Where a link leads, by its text; `None` if that is nowhere.
fn leads_to(at: &[u8], target: &str) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = Vec::new();
    if !target.starts_with('/') {
        parts.extend(at.split(|b| *b == b'/').filter(|part| !part.is_empty()));
        parts.pop();
    }
    for part in target.as_bytes().split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some([b"/".as_slice(), &parts.join(&b'/')].concat())
}

fn is_at_or_below_any(path: &[u8], places: &[Vec<u8>]) -> bool {
    places.iter().any(|place| is_at_or_below(path, place))
}

fn is_at_or_below(path: &[u8], place: &[u8]) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The files that judge as they lie in a throwaway copy before a check runs in it. Code under test runs there too, and
/// could rewrite a test before its turn comes, and put it back.
pub(crate) struct Sealed(Vec<BTreeMap<RelPath, Mark>>);

/// Which file it is and when it was last touched. The second cannot be set by anyone in a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    File(u64, SystemTime),
    Gone,
    /// A layer leaves it as it is below.
    Unsaid,
}

/// Endings of what is run or read as a program; other files of tests are often written by them.
const PROGRAMS: [&str; 31] = [
    "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts", "vue", "rs", "go", "rb", "java", "kt", "php",
    "sh", "bats", "cs", "c", "h", "cc", "cpp", "cxx", "hpp", "pl", "pm", "t", "swift", "scala",
];

impl Sealed {
    pub(crate) fn of(
        check: &Check,
        roots: &[Root],
        base: &[Manifest],
        throwaways: &[Throwaway<'_>],
        collected: Option<&TestLog>,
    ) -> io::Result<Self> {
        let mut sealed = Vec::new();
        if !check.protected {
            return Ok(Sealed(sealed));
        }
        for ((root, base), throwaway) in roots.iter().zip(base).zip(throwaways) {
            let judges = Judges::of(check, &root.granted.place.path);
            let is_collected = |path: &RelPath| {
                collected.is_some_and(|log| log.collected(&String::from_utf8_lossy(&full(root, path))))
            };
            let here = base.files.keys().filter(|path| is_sealed(&judges, path) || is_collected(path));
            sealed.push(here.map(|path| Ok((path.clone(), throwaway.mark(path)?))).collect::<io::Result<_>>()?);
        }
        Ok(Sealed(sealed))
    }

    /// What was touched since.
    pub(crate) fn broken(&self, roots: &[Root], throwaways: &[Throwaway<'_>]) -> io::Result<Vec<String>> {
        let mut touched = Vec::new();
        for (n, (sealed, throwaway)) in self.0.iter().zip(throwaways).enumerate() {
            for (path, was) in sealed {
                if throwaway.mark(path)? != *was {
                    touched.push(permit::shown(roots, n, path));
                }
            }
        }
        Ok(tree::shortened(touched))
    }
}

/// Whether it is run or read as a program, by its name.
pub(crate) fn is_program(path: &RelPath) -> bool {
    ending(path).is_some_and(|ending| PROGRAMS.iter().any(|program| program.as_bytes() == ending))
}

fn ending(path: &RelPath) -> Option<&[u8]> {
    let (_, name) = split(path);
    name.iter().rposition(|b| *b == b'.').map(|dot| &name[dot + 1..])
}

fn is_sealed(judges: &Judges, path: &RelPath) -> bool {
    match judges.role_of(path, false) {
        // A script without an ending is common.
        Some(Role::Test | Role::Named) => is_program(path) || ending(path).is_none(),
        Some(Role::Configuration | Role::BuildScript | Role::ImportHook) => true,
        // Builds write these.
        Some(Role::Built) | None => false,
    }
}

/// In a copy that holds every file.
pub(crate) fn mark(path: &RelPath, copy: &Dir) -> io::Result<Mark> {
    match copy.parent_of(path) {
        Err(e) if observe::leads_nowhere(&e) => Ok(Mark::Gone),
        found => {
            let (parent, name) = found?;
            Ok(parent.stat(name)?.map_or(Mark::Gone, |stat| Mark::File(stat.inode, stat.changed)))
        }
    }
}

/// Takes changes back. `make_room` clears what the work made of a file, and opens the directory that it was in; nothing
/// if there was no such file.
pub(crate) fn take_back(
    changes: &[&Change],
    real: &Dir,
    lifeline: Lifeline<'_>,
    make_room: impl Fn(&Change) -> io::Result<Option<Dir>>,
) -> Result<(), Error> {
    let mut changed_by_owner = Vec::new();
    for change in changes {
        let doing = || format!("Showing {} to a check as it was", change.path);
        let parent = make_room(change).doing(doing)?;
        if let (Some(before), Some(parent)) = (&change.before, parent)
            && !restore(before, &change.path, &parent, real, lifeline).doing(doing)?
        {
            changed_by_owner.push(change.path.to_string());
        }
    }
    if changed_by_owner.is_empty() { Ok(()) } else { Err(Error::Conflict { paths: tree::shortened(changed_by_owner) }) }
}

/// Makes room in a copy that holds every file.
pub(crate) fn clear(change: &Change, copy: &Dir, base: &Manifest) -> io::Result<Option<Dir>> {
    let (parent, name) = copy.parent_of(&change.path)?;
    if change.after.is_some() {
        parent.unlink(name)?;
    }
    if change.before.is_some() {
        return Ok(Some(parent));
    }
    forget_parents(&change.path, copy, base)?;
    Ok(None)
}

/// Whether what the owner has there is still what was approved.
fn restore(before: &FileState, path: &RelPath, to: &Dir, real: &Dir, lifeline: Lifeline<'_>) -> io::Result<bool> {
    let (from, name) = match real.parent_of(path) {
        Err(e) if observe::leads_nowhere(&e) => return Ok(false),
        found => found?,
    };
    match before {
        FileState::Link { .. } => {
            let target = match from.read_link(name) {
                Ok(target) => target,
                Err(e) if observe::leads_nowhere(&e) || e.raw_os_error() == Some(libc::EINVAL) => return Ok(false),
                Err(e) => return Err(e),
            };
            if observe::link(&target) != *before {
                return Ok(false);
            }
            to.symlink(name, &target)?;
            Ok(true)
        }
        FileState::File { hash, mode } => {
            let file = match from.read(name) {
                Ok(file) => file,
                Err(e) if observe::leads_nowhere(&e) || e.raw_os_error() == Some(libc::EINVAL) => return Ok(false),
                Err(e) => return Err(e),
            };
            let modified = file.metadata()?.modified()?;
            let mut copy = to.create(name)?;
            let (found, _) = observe::pour(&mut Awaited { file, lifeline }, &mut copy, u64::MAX)?;
            copy.set_permissions(Permissions::from_mode(*mode))?;
            // Build tools and interpreters compare times.
            copy.set_times(FileTimes::new().set_modified(modified))?;
            Ok(found == *hash)
        }
    }
}

/// Directories that came with what was taken back go with it, if nothing else is in them.
fn forget_parents(path: &RelPath, throwaway: &Dir, base: &Manifest) -> io::Result<()> {
    let mut at = path.clone();
    loop {
        let (parent, _) = split(&at);
        let Ok(dir) = RelPath::from_bytes(parent) else { return Ok(()) };
        if base.dirs.contains_key(&dir) {
            return Ok(());
        }
        let (above, name) = throwaway.parent_of(&dir)?;
        match above.rmdir(name) {
            Ok(()) => at = dir,
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}
