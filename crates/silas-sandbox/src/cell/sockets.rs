//! Sockets of others that lie in a granted directory. Connecting to one is neither reading nor writing: no read-only
//! mount, no namespace and, before Landlock's ABI 9, no file rule keeps a program from it. So they are covered up.
//!
//! Found in the kernel's list, not by walking the directories, which may be large. What that list cannot tell stays: a
//! socket that was bound by a relative name, in another network namespace, or after the cell was started.

use super::Error;
use super::prepared::PreparedMount;
use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More than any directory of an honest project has.
const SOCKETS_MAX: usize = 256;

/// Where in the cell the sockets would show: the names from the root to each.
pub(super) fn beneath(mounts: &[PreparedMount<'_>]) -> Result<Vec<Vec<CString>>, Error> {
    let list = match std::fs::read("/proc/net/unix") {
        Ok(list) => list,
        // A kernel without Unix sockets has none to cover up.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(Error::Setup { step: "reading the list of sockets", cause }),
    };
    let mut found = Vec::new();
    let mut parents = HashMap::new();
    for path in paths(&list) {
        let Some(real) = real(path, &mut parents) else { continue };
        for mount in mounts {
            let Ok(below) = real.strip_prefix(&mount.mount.source) else { continue };
            let names = below.components().map(|part| CString::new(part.as_os_str().as_bytes()));
            let names = names.collect::<Result<Vec<_>, _>>().map_err(|_| mount.error("a socket in it has no name"))?;
            found.push(mount.target.iter().cloned().chain(names).collect());
        }
        if found.len() > SOCKETS_MAX {
            return Err(Error::Spec(format!(
                "there are more than {SOCKETS_MAX} sockets in the directories it was given"
            )));
        }
    }
    Ok(found)
}

/// The absolute paths in `/proc/net/unix`: the eighth column, which most lines lack.
pub(super) fn paths(list: &[u8]) -> impl Iterator<Item = &Path> {
    list.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let start = line.iter().position(|byte| *byte == b'/')?;
        Some(Path::new(OsStr::from_bytes(&line[start..])))
    })
}

/// The same path without symlinks. Most sockets share a few directories, so each of those is looked up once.
fn real(path: &Path, parents: &mut HashMap<PathBuf, Option<PathBuf>>) -> Option<PathBuf> {
    let (parent, name) = (path.parent()?, path.file_name()?);
    if !parents.contains_key(parent) {
        // One that is gone, or that we may not look into, is not in what was granted.
        parents.insert(parent.to_owned(), parent.canonicalize().ok());
    }
    Some(parents.get(parent)?.as_ref()?.join(name))
}
