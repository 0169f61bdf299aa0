//! Removes a directory of ours with everything that is in it, whatever the work made of it: directories without
//! permissions, and trees deeper than paths can be long.

use crate::dir::{Dir, Kind, Move};
use std::io;

/// Levels that are held open at once; what lies deeper is moved up first.
const DEPTH_MAX: u32 = 64;

/// Names that are looked at in one go.
const NAMES_MAX: usize = 10_000;

/// It is no error if there is nothing.
pub(crate) fn tree(parent: &Dir, name: &[u8]) -> io::Result<()> {
    if parent.stat(name)?.is_none() {
        return Ok(());
    }
    let top = enter(parent, name)?;
    let mut n_lifted = 0;
    empty(&top, &top, 0, &mut n_lifted)?;
    parent.rmdir(name)
}

/// At the top this also removes what was lifted there from too far below.
fn empty(dir: &Dir, top: &Dir, depth: u32, n_lifted: &mut u64) -> io::Result<()> {
    loop {
        let names = dir.names(NAMES_MAX)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            let Some(stat) = dir.stat(&name)? else { continue };
            if stat.kind != Kind::Directory {
                dir.unlink(&name)?;
            } else if depth < DEPTH_MAX {
                empty(&enter(dir, &name)?, top, depth + 1, n_lifted)?;
                dir.rmdir(&name)?;
            } else {
                lift(dir, &name, top, n_lifted)?;
            }
        }
    }
}

fn lift(dir: &Dir, name: &[u8], top: &Dir, n_lifted: &mut u64) -> io::Result<()> {
    loop {
        *n_lifted += 1;
        match dir.rename(name, top, format!("lifted-{n_lifted}").as_bytes(), Move::NoReplace) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
}

fn enter(dir: &Dir, name: &[u8]) -> io::Result<Dir> {
    match dir.stat(name)? {
        // Whoever may not write into a directory cannot empty it; we own it, so we may change that.
        Some(stat) if stat.mode & 0o700 != 0o700 => dir.chmod(name, 0o700)?,
        Some(_) | None => {}
    }
    dir.below(name)
}

#[cfg(test)]
mod tests;
