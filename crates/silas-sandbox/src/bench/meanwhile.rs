//! What happened to the directories while a check ran after the work, and did not while it ran on them as they were: then what
//! the work changed may have made its own judges. Looks at what was seen; nothing runs here.

use super::Bench;
use super::verify::Went;
use crate::cell::Opened;
use crate::private_copy::Throwaway;
use crate::view::is_program;
use silas_core::judges::{self, Role};
use silas_core::relpath::RelPath;
use silas_core::runner::Runner;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories in which runners and interpreters keep what they have made, for themselves.
const CACHES: [&str; 6] = ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache", "target"];
/// Where a shell looks for programs that are named without a directory.
const PROGRAMS: [&str; 2] = ["/usr/bin", "/bin"];

impl Bench {
    /// Whether what judges was left alone, and nothing was put where a judge would be looked for. `untouched` is the run on
    /// the directory as it was.
    pub(super) fn left_alone(&self, went: &Went, untouched: &Went) -> Result<(), String> {
        let (Some(now), Some(then)) = (&went.opened, &untouched.opened) else {
            // A known runner counts without; what it opened is then taken for all there is.
            return if went.is_known { Ok(()) } else { Err("What it opened could not be watched".to_owned()) };
        };
        let wrong = |what: &str, path: &Path| Err(format!("While it ran, something {what} {}", self.called(path)));
        if let Some(path) = self.rewritten(now, then) {
            return wrong("wrote to", path);
        }
        if let Some(path) = now.linked.iter().find(|path| !then.linked.contains(*path) && !is_kept_apart(path)) {
            return wrong("put a link or its like at", path);
        }
        let is_new = |path: &&PathBuf| !then.made.contains(*path) && !is_kept_apart(path);
        if let Some(path) = now.made.iter().filter(is_new).find(|path| self.could_judge(path)) {
            return wrong("made", path);
        }
        // Each test of prove is a process of its own, and finds what the one before it left.
        let is_apart = !went.is_known || went.result.tests.as_ref().is_some_and(|tests| tests.runner == Runner::Prove);
        let mut dirs = now.made_dirs.iter().filter(|path| !then.made_dirs.contains(*path) && !is_kept_apart(path));
        if let (true, Some(path)) = (is_apart, dirs.next()) {
            return wrong("made the directory", path);
        }
        match now.at_home.iter().find(|name| !then.at_home.contains(*name) && *name != ".cache") {
            Some(name) if is_apart => Err(format!("While it ran, something made {name} in the home directory")),
            Some(_) | None => Ok(()),
        }
    }

    /// Puts what came to be as a second name of something among the links: what is written to one is written to the other.
    pub(super) fn with_second_names(&self, mut opened: Opened, copies: &[Throwaway<'_>]) -> Opened {
        for (root, copy) in self.permit.roots.iter().zip(copies) {
            let has_names =
                |path: &&PathBuf| below(path, &root.granted.place.path).is_some_and(|below| copy.has_names(&below));
            let found: Vec<PathBuf> = opened.made.iter().filter(has_names).cloned().collect();
            opened.linked.extend(found);
        }
        opened
    }

    /// A file of the owner's that is written to while the check runs, and was not when it ran on the directory as it was: what
    /// the work changed may have written what it is then compared with.
    fn rewritten<'o>(&self, opened: &'o Opened, untouched: &Opened) -> Option<&'o PathBuf> {
        let base = &self.finished.as_ref()?.base;
        let is_there = |path: &PathBuf| {
            self.permit.roots.iter().zip(base).any(|(root, base)| {
                below(path, &root.granted.place.path).is_some_and(|below| base.files.contains_key(&below))
            })
        };
        let mut written = opened.written.iter().filter(|path| !untouched.written.contains(*path));
        written.find(|path| is_there(path) && !is_kept_apart(path))
    }

    /// Whether something that came to be is run or read in by its name: a program, configuration, or what is called like a
    /// program of the system.
    fn could_judge(&self, path: &Path) -> bool {
        let mut roots = self.permit.roots.iter();
        let Some(below) = roots.find_map(|root| below(path, &root.granted.place.path)) else { return false };
        let is_role = match judges::role_of(&below) {
            Some(Role::Configuration | Role::BuildScript | Role::ImportHook) => true,
            Some(Role::Test | Role::Built | Role::Named) | None => false,
        };
        let is_systems = |dir: &&str| path.file_name().is_some_and(|name| Path::new(dir).join(name).is_file());
        is_role || is_program(&below) || path.extension().is_none() && PROGRAMS.iter().any(is_systems)
    }

    fn called(&self, path: &Path) -> String {
        let mut roots = self.permit.roots.iter();
        let below = roots.find_map(|root| path.strip_prefix(&root.granted.place.path).ok());
        below.unwrap_or(path).display().to_string()
    }
}

fn below(path: &Path, root: &str) -> Option<RelPath> {
    let below = path.strip_prefix(root).ok()?;
    RelPath::from_bytes(below.as_os_str().as_bytes()).ok()
}

fn is_kept_apart(path: &Path) -> bool {
    path.iter().any(|part| CACHES.iter().any(|cache| part == *cache))
}
