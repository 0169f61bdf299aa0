//! Room on the disks that a program may write to: what is left of it when a program floods the copy.
//!
//! A limit of each file bounds no number of files, and quotas belong to whoever set up the file system. So the supervisor
//! looks at what is free, and ends the cell while the rest of the machine still has some. Not here: who used it up. A disk
//! that others fill ends the cell as well, which is what one would want of it.

use super::prepared::PreparedMount;
use super::{Error, sys};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// What stays free for everybody else, where there was as much.
const BYTES_KEPT: u64 = 1 << 30;
const FILES_KEPT: u64 = 10_000;
/// Between two looks. A fast disk takes some hundred megabytes in that time.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// One file system that the cell can write to.
pub(super) struct Disk {
    place: OwnedFd,
    floor: Room,
}

/// Free for somebody without privileges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub(super) bytes: u64,
    /// `None` where files are not counted.
    pub(super) files: Option<u64>,
}

impl Room {
    /// Where the cell must stop: the reserve, or half of what there was where that is less.
    pub(super) fn floor(self) -> Room {
        Room { bytes: (self.bytes / 2).min(BYTES_KEPT), files: self.files.map(|files| (files / 2).min(FILES_KEPT)) }
    }

    pub(super) fn is_below(self, floor: Room) -> bool {
        let is_short_of_files = matches!((self.files, floor.files), (Some(now), Some(least)) if now < least);
        self.bytes < floor.bytes || is_short_of_files
    }
}

/// The file systems below the mounts that can be written.
pub(super) fn of(mounts: &[PreparedMount<'_>]) -> Result<Vec<Disk>, Error> {
    let writable = mounts.iter().filter(|mount| mount.mount.access.is_writable());
    let look = |mount: &PreparedMount<'_>| {
        // What is written through layers goes into the topmost.
        let place = sys::open_real(mount.layers.first().unwrap_or(&mount.source))?;
        let floor = sys::room(&place)?.floor();
        Ok(Disk { place, floor })
    };
    writable.map(|mount| look(mount).map_err(|e: io::Error| mount.error(e))).collect()
}

pub(super) fn is_nearly_full(disks: &[Disk]) -> bool {
    // One that cannot be asked any more is not written to either.
    disks.iter().any(|disk| sys::room(&disk.place).is_ok_and(|room| room.is_below(disk.floor)))
}
