//! Whether a file can leave its place, tried before anything is decided: by asking the kernel for a move that it refuses in
//! any case, and looking which refusal comes first.
//!
//! A file never takes the place of a directory. Whether it may leave its own place is asked before that, so a refusal for being
//! the wrong kind means that nothing else stands in the way: no sticky directory, no protection against change, no read-only
//! mount, no rule of the system. What only a distant file system knows shows when it is put in place.

use crate::Error;
use crate::dir::{Dir, Kind, Move};
use crate::error::Doing;
use crate::fixed;
use crate::observe;
use silas_core::relpath::RelPath;
use std::io;

/// The directory that files are tried with. It is never empty, so that a directory cannot take its place either.
const ANVIL: &[u8] = b"anvil";
const FEET: &[u8] = b"feet";

/// Tries files against a staging directory.
pub(crate) struct Trial<'s> {
    stage: &'s Dir,
}

impl<'s> Trial<'s> {
    pub(crate) fn begin(stage: &'s Dir) -> Result<Self, Error> {
        let doing = || "Making a directory to try with".to_owned();
        // One is left where an earlier attempt was cut off.
        if stage.stat(ANVIL).doing(doing)?.is_none() {
            stage.mkdir(ANVIL, 0o700).doing(doing)?;
        }
        let anvil = stage.below(ANVIL).doing(doing)?;
        if anvil.stat(FEET).doing(doing)?.is_none() {
            anvil.mkdir(FEET, 0o700).doing(doing)?;
        }
        Ok(Trial { stage })
    }

    /// Refuses by name what is there and cannot be moved. What is not there is for others to notice.
    pub(crate) fn may_leave(&self, root: &Dir, path: &RelPath, shown: &str) -> Result<(), Error> {
        let doing = || format!("Looking at {shown}");
        let (parent, name) = match root.parent_of(path) {
            Err(e) if observe::leads_nowhere(&e) => return Ok(()),
            found => found.doing(doing)?,
        };
        let Some(stat) = parent.stat(name).doing(doing)? else { return Ok(()) };
        if !matches!(stat.kind, Kind::File | Kind::Link) {
            return Ok(());
        }
        match parent.rename(name, self.stage, ANVIL, Move::ToFreeName) {
            Err(e) if is_wrong_kind(&e) || e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => {
                let by = fixed::held_by(&parent, name, &stat).doing(doing)?;
                Err(by.map_or_else(|| cannot_leave(&e, shown), |by| by.refusal(shown)))
            }
            // Somebody has put a file where our directory was. It is replaced, and this goes back.
            Ok(()) => {
                self.stage.rename(ANVIL, &parent, name, Move::NoReplace).doing(doing)?;
                Err(Error::Damaged(format!("the staging directory that {shown} was tried with")))
            }
        }
    }
}

impl Drop for Trial<'_> {
    /// What cannot be removed now goes with the staging directory, or is used by the next trial.
    fn drop(&mut self) {
        let _ = self.stage.below(ANVIL).and_then(|anvil| anvil.rmdir(FEET));
        let _ = self.stage.rmdir(ANVIL);
    }
}

fn is_wrong_kind(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EISDIR | libc::ENOTEMPTY | libc::EEXIST))
}

fn cannot_leave(e: &io::Error, shown: &str) -> Error {
    match e.raw_os_error() {
        Some(libc::EACCES | libc::EROFS) => Error::ReadOnly { path: shown.to_owned() },
        Some(libc::EXDEV) => {
            let kind = "on another file system than its directory, where it could not be exchanged";
            Error::unsupported_with(kind, shown, "Choose that directory itself, or have the work leave it as it is.")
        }
        _ => {
            let kind = format!("a file that the system does not let Silas replace ({e})");
            Error::unsupported_with(&kind, shown, "Change that, or have the work leave it as it is.")
        }
    }
}
