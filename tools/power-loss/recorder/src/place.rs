//! Whether a descriptor or a path lies beneath the watched directory.

use crate::state::State;
use crate::system::{self, PATH_BYTES};
use libc::{c_char, c_int};
use std::ffi::CStr;

/// What a descriptor is to the recording.
pub(crate) enum Watched {
    /// A file or directory beneath the watched one, or that one itself.
    Inode(u64),
    /// Where the program puts its marks.
    Marks,
    No,
}

/// A name in a watched directory.
pub(crate) struct Place<'p> {
    pub(crate) parent: u64,
    pub(crate) name: &'p [u8],
}

impl State {
    pub(crate) fn look(&self, fd: c_int) -> Watched {
        let mut buffer = [0; PATH_BYTES];
        match system::path_of(fd, &mut buffer) {
            Some(path) if path == self.marks => Watched::Marks,
            // A deleted file keeps its path, with a remark behind it.
            Some(path) if self.is_beneath(path) => match system::file_status(fd) {
                Some(status) => Watched::Inode(status.st_ino),
                None => Watched::No,
            },
            Some(_) | None => Watched::No,
        }
    }

    /// A directory that is left out counts as outside, so names in it are; its own name is in its parent and counts.
    fn is_beneath(&self, path: &[u8]) -> bool {
        let is_in = |dir: &Vec<u8>| {
            path.strip_prefix(dir.as_slice()).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
        };
        is_in(&self.dir) && !self.except.iter().any(is_in)
    }

    /// Where a path points, if the directory that it names something in is watched.
    pub(crate) fn locate<'p>(&self, dir: c_int, path: *const c_char) -> Option<Place<'p>> {
        if path.is_null() {
            return None;
        }
        // SAFETY: whoever calls a file function gives a C string that lives as long as the call.
        let path: &'p [u8] = unsafe { CStr::from_ptr(path) }.to_bytes();
        let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
        let path = &path[..end];
        let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..=slash], &path[slash + 1..]),
            None => (b"./".as_slice(), path),
        };
        let mut copy = [0u8; PATH_BYTES];
        copy.get_mut(..parent.len())?.copy_from_slice(parent);
        let copy = CStr::from_bytes_until_nul(&copy).ok()?;
        let fd = system::open_directory(dir, copy.as_ptr())?;
        let found = self.look(fd);
        system::close(fd);
        match found {
            Watched::Inode(parent) => Some(Place { parent, name }),
            Watched::Marks | Watched::No => None,
        }
    }

    /// Where an open file lies, by the kernel's own name of it.
    pub(crate) fn place_of<'b>(&self, fd: c_int, buffer: &'b mut [u8; PATH_BYTES]) -> Option<Place<'b>> {
        let n_bytes = system::path_of(fd, buffer)?.len();
        // The kernel does not end it.
        *buffer.get_mut(n_bytes)? = 0;
        let place = self.locate(libc::AT_FDCWD, buffer.as_ptr().cast())?;
        Some(place)
    }
}
