//! What is mounted where: which directories are one and the same under several names, and which hold other file systems.
//!
//! A path says little where directories are mounted a second time. The kernel's list says of each mount which directory of
//! which file system it shows; two paths are the same place if those are the same. Not here: file systems that mirror others
//! (FUSE, a network, an overlay over the data directory); to the kernel those are others.

use silas_core::roots::{self, Forbidden};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The list, of the mount namespace that this process is in.
const LIST: &str = "/proc/self/mountinfo";

/// One mount: what it shows, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mount {
    /// Number of the file system.
    device: String,
    /// The directory of the file system that is shown.
    root: PathBuf,
    at: PathBuf,
}

/// A directory by the file system that it lies on, and its way from the top of that.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Spot {
    device: String,
    path: PathBuf,
}

impl Spot {
    fn overlaps(&self, other: &Spot) -> bool {
        self.device == other.device && (self.path.starts_with(&other.path) || other.path.starts_with(&self.path))
    }
}

/// Whether a directory, which must be a real path, may be granted at all: by its name, and by what it is. What is Silas's own
/// are real paths too: directories, or single files.
pub fn may_grant(path: &str, own: &[PathBuf]) -> Result<(), Forbidden> {
    let by_name = |name: &str| own.iter().try_for_each(|own| roots::may_grant(name, &own.to_string_lossy()));
    by_name(path)?;
    let mounts = read().map_err(|_| Forbidden::Unknown)?;
    let here = spots(&mounts, Path::new(path));
    let own_spots: Vec<Spot> = own.iter().flat_map(|own| spots(&mounts, own)).collect();
    if here.iter().any(|spot| own_spots.iter().any(|own| spot.overlaps(own))) {
        return Err(Forbidden::Alias);
    }
    // What it is called where everything is, if that is shown: keys and the system are those by any name.
    let top = mounts.iter().rfind(|mount| mount.at == Path::new("/") && mount.root == Path::new("/"));
    let elsewhere = here.iter().filter(|spot| top.is_some_and(|top| top.device == spot.device));
    for name in elsewhere.filter_map(|spot| spot.path.to_str()).filter(|name| *name != path) {
        by_name(name)?;
    }
    Ok(())
}

/// A path as it really is, as far as it is there: what is not there yet must not be granted either.
pub fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (fs::canonicalize(above), path.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_owned()
}

/// Where something is mounted, as it is now.
pub(crate) struct Places(Vec<PathBuf>);

impl Places {
    pub(crate) fn now() -> io::Result<Places> {
        Ok(Places(read()?.into_iter().map(|mount| mount.at).collect()))
    }

    /// Whether other file systems are mounted inside this directory, which must be a real path.
    pub(crate) fn are_beneath(&self, dir: &Path) -> bool {
        self.0.iter().any(|at| at != dir && at.starts_with(dir))
    }
}

/// The directory itself, and what is mounted inside it.
fn spots(mounts: &[Mount], dir: &Path) -> Vec<Spot> {
    // Of several at one place the last lies on top.
    let holds =
        mounts.iter().filter(|mount| dir.starts_with(&mount.at)).max_by_key(|mount| mount.at.components().count());
    let own = holds.and_then(|mount| {
        let below = dir.strip_prefix(&mount.at).ok()?;
        Some(Spot { device: mount.device.clone(), path: mount.root.join(below) })
    });
    let inside = mounts.iter().filter(|mount| mount.at != dir && mount.at.starts_with(dir));
    let inside = inside.map(|mount| Spot { device: mount.device.clone(), path: mount.root.clone() });
    own.into_iter().chain(inside).collect()
}

fn read() -> io::Result<Vec<Mount>> {
    Ok(parse(&fs::read(LIST)?))
}

/// `<id> <parent> <device> <root> <place> <options> …`, with spaces in names written as `\040`.
fn parse(list: &[u8]) -> Vec<Mount> {
    let mount = |line: &[u8]| {
        let mut words = line.split(|byte| *byte == b' ').skip(2);
        let device = String::from_utf8_lossy(words.next()?).into_owned();
        Some(Mount { device, root: unescaped(words.next()?), at: unescaped(words.next()?) })
    };
    list.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// A backslash and three octal digits stand for a byte.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let number = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests;
