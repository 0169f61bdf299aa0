//! From what the owner typed to exactly one directory on disk.
//!
//! Only names and identities are looked at here. This process may not open files outside its own data, and does not
//! need to.

use crate::Trouble;
use silas_core::roots::Place;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The code of everything that stands in the way of a directory.
pub(crate) const NO_DIRECTORY: &str = "E_WORK_DIRECTORY";

/// What relative paths and `~` mean, and which directory may never be granted.
#[derive(Clone, Debug)]
pub struct Places {
    pub home: Option<PathBuf>,
    /// Silas's own data, settings and what it keeps elsewhere.
    pub own: Vec<PathBuf>,
}

impl Places {
    /// The directory that `typed` names, seen from `base`, pinned to what it is now.
    pub fn resolve(&self, typed: &str, base: &Path) -> Result<Place, Trouble> {
        let named = match (typed.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => base.join(typed),
        };
        // Whoever typed it may stand somewhere else.
        let is_relative = !typed.starts_with(['/', '~']);
        let seen_from = if is_relative {
            format!(", seen from {}, where Silas was started", base.display())
        } else {
            String::new()
        };
        let trouble = |what: &str, todo: &str| Trouble::new(NO_DIRECTORY, &format!("{typed}{seen_from}: {what}"), todo);
        let real = named.canonicalize().map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => {
                trouble("there is no such directory. Nothing ran.", "Check the name, or make the directory first.")
            }
            _ => {
                trouble(&format!("the directory cannot be looked at ({cause}). Nothing ran."), "Check its permissions.")
            }
        })?;
        let meta =
            real.metadata().map_err(|cause| trouble(&format!("{cause}. Nothing ran."), "Check its permissions."))?;
        if !meta.is_dir() {
            return Err(trouble("this is a file, not a directory. Nothing ran.", "Name the directory that it is in."));
        }
        let path = real.to_str().ok_or_else(|| trouble("the name is not valid text.", "Rename the directory."))?;
        let is_home = self.home.as_ref().and_then(|home| home.canonicalize().ok()).is_some_and(|home| home == real);
        if is_home {
            return Err(trouble("your whole home directory cannot be granted.", "Name a project's directory in it."));
        }
        silas_sandbox::mounted::may_grant(path, &self.own)
            .map_err(|forbidden| Trouble::new(NO_DIRECTORY, &format!("{forbidden} Nothing ran."), ""))?;
        Ok(Place { path: path.to_owned(), device: meta.dev().to_string(), inode: meta.ino().to_string() })
    }
}
