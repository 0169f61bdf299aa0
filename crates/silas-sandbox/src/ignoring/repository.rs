//! The repository that a directory belongs to, and what it tracks.
//!
//! None at all, and one that cannot be read, are two things: where there is none nothing is tracked, and of one that cannot be
//! read nobody knows. Git is not asked, and no setting of a repository is looked at.

use super::index;
use crate::dir::{Dir, Kind};
use crate::observe;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(super) const GIT: &[u8] = b".git";
/// A longer list of rules is not read; then more counts, never less.
pub(super) const RULES_BYTES_MAX: u64 = 1 << 20;

pub(super) struct Repository {
    pub(super) top: PathBuf,
    /// Of this working tree, and of all of them together.
    own: PathBuf,
    common: PathBuf,
}

pub(super) enum Found {
    Nothing,
    /// There is one, and it is somebody else's, or says where it is in a way that leads nowhere.
    Unknown,
    One(Repository),
}

impl Repository {
    /// The nearest one. It must belong to the owner of the directory: another's rules are not the owner's.
    pub(super) fn around(place: &Path, owner: u32) -> Found {
        let found = place.ancestors().map(|top| Repository::at(top, owner));
        found.into_iter().find(|found| !matches!(found, Found::Nothing)).unwrap_or(Found::Nothing)
    }

    /// The one that has its working tree right here.
    pub(super) fn at(top: &Path, owner: u32) -> Found {
        let git = top.join(OsStr::from_bytes(GIT));
        let named = match fs::symlink_metadata(&git) {
            Err(e) if observe::leads_nowhere(&e) => return Found::Nothing,
            Err(_) => return Found::Unknown,
            Ok(named) => named,
        };
        // Git follows a link, too.
        let Ok(there) = fs::metadata(&git) else { return Found::Unknown };
        let own = if there.is_dir() {
            // To git a directory without this is none, and what lies beside it belongs to the repository around.
            match (is_there(&git.join("HEAD")), is_there(&git.join("index"))) {
                (Some(false), Some(false)) => return Found::Nothing,
                (None, _) | (_, None) => return Found::Unknown,
                (Some(_), Some(_)) => git,
            }
        } else {
            // The `.git` of a linked worktree or a submodule says where it is.
            let Ok(Some(text)) = read_small(&git, RULES_BYTES_MAX) else { return Found::Unknown };
            let Some(to) = text.strip_prefix(b"gitdir: ") else { return Found::Unknown };
            let end = to.iter().rposition(|b| !matches!(b, b'\n' | b'\r')).map_or(0, |last| last + 1);
            let own = top.join(OsStr::from_bytes(&to[..end]));
            if end == 0 || is_there(&own.join("HEAD")) != Some(true) {
                return Found::Unknown;
            }
            own
        };
        let belongs = fs::metadata(&own).is_ok_and(|own| own.uid() == owner);
        if !belongs || named.uid() != owner || there.uid() != owner {
            return Found::Unknown;
        }
        let common = match read_small(&own.join("commondir"), RULES_BYTES_MAX) {
            Ok(Some(to)) => own.join(OsStr::from_bytes(to.trim_ascii_end())),
            Ok(None) | Err(_) => own.clone(),
        };
        Found::One(Repository { top: top.to_owned(), own, common })
    }

    /// `None` if nobody knows, or knowing would take more than so many bytes, of which what it took is subtracted. A
    /// repository without an index tracks nothing yet.
    pub(super) fn tracked(&self, bytes_max: &mut u64) -> Option<Vec<Vec<u8>>> {
        let path = self.own.join("index");
        match read_small(&path, *bytes_max).ok()? {
            Some(bytes) => {
                *bytes_max = bytes_max.saturating_sub(bytes.len() as u64);
                index::tracked(&bytes)
            }
            None => (is_there(&path) == Some(false)).then(Vec::new),
        }
    }

    /// What it excludes besides its `.gitignore` files.
    pub(super) fn excludes(&self) -> io::Result<Option<Vec<u8>>> {
        read_small(&self.common.join("info/exclude"), RULES_BYTES_MAX)
    }
}

/// `None` where it may not be looked.
fn is_there(path: &Path) -> Option<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Some(true),
        Err(e) if observe::leads_nowhere(&e) => Some(false),
        Err(_) => None,
    }
}

/// A plain file that is not larger; `None` if it is not there or not that.
pub(super) fn read_small(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let parent = match fs::canonicalize(parent).and_then(|parent| Dir::open(&parent)) {
        Err(e) if observe::leads_nowhere(&e) || e.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        found => found?,
    };
    if parent.stat(name.as_bytes())?.is_none_or(|stat| stat.kind != Kind::File || stat.size > bytes_max) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    parent.read(name.as_bytes())?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
