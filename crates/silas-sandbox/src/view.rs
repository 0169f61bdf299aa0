//! What a check sees: the finished copy, with what judges put back as it was approved.
//!
//! Works on a throwaway copy only. What is put back is read from the owner's directory, and must still be what the copy
//! was made of; if the owner has changed it meanwhile, that is a conflict like any other.

use crate::dir::{Dir, split};
use crate::error::Doing;
use crate::tree::Manifest;
use crate::{Error, observe, tree};
use silas_core::changeset::{Change, Changeset, FileState};
use silas_core::check::{Check, Expectation};
use silas_core::judges::{Judges, Role};
use silas_core::relpath::RelPath;
use std::collections::BTreeMap;
use std::fs::{FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

/// Links to links to links; more is no way to lay out tests.
const LINKS_MAX: usize = 4;

/// The changes that a check does not see, because what they change judges.
pub(crate) fn unseen<'c>(check: &Check, changes: &'c Changeset, original: &Manifest, root: &str) -> Vec<&'c Change> {
    if !check.protected {
        return Vec::new();
    }
    let judges = Judges::of(check, root);
    let behind = behind_links(&judges, original, root);
    let is_behind = |path: &RelPath| behind.iter().any(|place| is_at_or_below(path.as_bytes(), place));
    // Whether a new file is there is what such a check asks; it does not judge.
    let is_asked_for = |change: &Change| match &check.expect {
        Expectation::FileExists(path) => change.before.is_none() && *path == change.path.to_string(),
        _ => false,
    };
    let judged = |change: &&Change| {
        let role = judges.role_of(&change.path, change.before.is_none());
        (role.is_some() || is_behind(&change.path)) && !is_asked_for(change)
    };
    changes.changes.iter().filter(judged).collect()
}

/// Where links that judge lead to: what is there judges too.
fn behind_links(judges: &Judges, original: &Manifest, root: &str) -> Vec<Vec<u8>> {
    let mut places: Vec<Vec<u8>> = Vec::new();
    for _ in 0..LINKS_MAX {
        let n_known = places.len();
        for (path, state) in &original.files {
            let FileState::Link { target } = state else { continue };
            let is_judge =
                judges.role_of(path, false).is_some() || places.iter().any(|p| is_at_or_below(path.as_bytes(), p));
            if let Some(place) = is_judge.then(|| leads_to(path, target, root)).flatten()
                && !places.contains(&place)
            {
                places.push(place);
            }
        }
        if places.len() == n_known {
            break;
        }
    }
    places
}

/// Where a link leads, by its text; `None` if that is outside.
fn leads_to(path: &RelPath, target: &str, root: &str) -> Option<Vec<u8>> {
    let (parent, target) = match target.strip_prefix(root).filter(|rest| rest.starts_with('/')) {
        Some(inside) => (b"".as_slice(), inside),
        None if target.starts_with('/') => return None,
        None => (split(path).0, target),
    };
    let mut parts: Vec<&[u8]> = parent.split(|b| *b == b'/').filter(|part| !part.is_empty()).collect();
    for part in target.as_bytes().split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join(&b'/'))
}

fn is_at_or_below(path: &[u8], place: &[u8]) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The files that judge as they lie in a throwaway copy before a check runs in it. Code under test runs there too, and
/// could rewrite a test before its turn comes, and put it back.
pub(crate) struct Sealed(BTreeMap<RelPath, Option<Mark>>);

/// Which file it is and when it was last touched. The second cannot be set by anyone in a cell.
type Mark = (u64, (i64, i64));

/// Endings of what is run or read as a program; other files of tests are often written by them.
const PROGRAMS: [&str; 17] =
    ["py", "js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "rs", "go", "rb", "java", "kt", "php", "sh", "bats", "cs"];

impl Sealed {
    pub(crate) fn of(check: &Check, files: &BTreeMap<RelPath, FileState>, root: &str, copy: &Dir) -> io::Result<Self> {
        let mut sealed = BTreeMap::new();
        if !check.protected {
            return Ok(Sealed(sealed));
        }
        let judges = Judges::of(check, root);
        for path in files.keys() {
            let is_program = || {
                let (_, name) = split(path);
                let ending = name.iter().rposition(|b| *b == b'.').map(|dot| &name[dot + 1..]);
                // A script without an ending is common.
                ending.is_none_or(|ending| PROGRAMS.iter().any(|program| program.as_bytes() == ending))
            };
            let is_sealed = match judges.role_of(path, false) {
                Some(Role::Test | Role::Named) => is_program(),
                Some(Role::Configuration | Role::BuildScript | Role::ImportHook) => true,
                // Builds write these.
                Some(Role::Built) | None => false,
            };
            if is_sealed {
                sealed.insert(path.clone(), mark(path, copy)?);
            }
        }
        Ok(Sealed(sealed))
    }

    /// What was touched since.
    pub(crate) fn broken(&self, copy: &Dir) -> io::Result<Vec<String>> {
        let mut touched = Vec::new();
        for (path, was) in &self.0 {
            if mark(path, copy)? != *was {
                touched.push(path.to_string());
            }
        }
        Ok(tree::shortened(touched))
    }
}

fn mark(path: &RelPath, copy: &Dir) -> io::Result<Option<Mark>> {
    match copy.parent_of(path) {
        Err(e) if observe::leads_nowhere(&e) => Ok(None),
        found => {
            let (parent, name) = found?;
            Ok(parent.stat(name)?.map(|stat| (stat.inode, stat.changed)))
        }
    }
}

/// Takes changes back in a throwaway copy.
pub(crate) fn take_back(changes: &[&Change], throwaway: &Dir, real: &Dir, original: &Manifest) -> Result<(), Error> {
    let mut changed_by_owner = Vec::new();
    for change in changes {
        let doing = || format!("Showing {} to a check as it was", change.path);
        let (parent, name) = throwaway.parent_of(&change.path).doing(doing)?;
        if change.after.is_some() {
            parent.unlink(name).doing(doing)?;
        }
        match &change.before {
            None => forget_parents(&change.path, throwaway, original).doing(doing)?,
            Some(before) => {
                if !restore(before, &change.path, &parent, real).doing(doing)? {
                    changed_by_owner.push(change.path.to_string());
                }
            }
        }
    }
    if changed_by_owner.is_empty() { Ok(()) } else { Err(Error::Conflict { paths: tree::shortened(changed_by_owner) }) }
}

/// Whether what the owner has there is still what was approved.
fn restore(before: &FileState, path: &RelPath, to: &Dir, real: &Dir) -> io::Result<bool> {
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
            let mut file = match from.read(name) {
                Ok(file) => file,
                Err(e) if observe::leads_nowhere(&e) || e.raw_os_error() == Some(libc::EINVAL) => return Ok(false),
                Err(e) => return Err(e),
            };
            let modified = file.metadata()?.modified()?;
            let mut copy = to.create(name)?;
            let (found, _) = observe::pour(&mut file, &mut copy, u64::MAX)?;
            copy.set_permissions(Permissions::from_mode(*mode))?;
            // Build tools and interpreters compare times.
            copy.set_times(FileTimes::new().set_modified(modified))?;
            Ok(found == *hash)
        }
    }
}

/// Directories that came with what was taken back go with it, if nothing else is in them.
fn forget_parents(path: &RelPath, throwaway: &Dir, original: &Manifest) -> io::Result<()> {
    let mut at = path.clone();
    loop {
        let (parent, _) = split(&at);
        let Ok(dir) = RelPath::from_bytes(parent) else { return Ok(()) };
        if original.dirs.contains_key(&dir) {
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
