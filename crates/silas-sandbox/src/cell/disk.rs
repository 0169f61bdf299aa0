//! Room on the disks that a program may write to: what is left of it when a program floods the copy.
//!
//! A limit of each file bounds no number of files, and quotas belong to whoever set up the file system. So the supervisor
//! looks at what is free, before the start and from then on, and ends the cell while the rest of the machine still has some.
//! Room can be taken by writing only (the filter refuses `fallocate`), so how soon the reserve can be reached is known, and
//! the next look comes before that. Not here: who used it up. A disk that others fill ends the cell as well, which is what
//! one would want of it.

use super::prepared::PreparedMount;
use super::{Error, sys};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// What stays free for everybody else, where there was as much.
const BYTES_KEPT: u64 = 1 << 30;
const FILES_KEPT: u64 = 10_000;
/// Between two looks: at most, and when there is little left.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOK_SOON: Duration = Duration::from_millis(5);
/// More than all processors of a large machine write to memory, and make files, in a second.
const BYTES_PER_SECOND: u64 = 16 << 30;
const FILES_PER_SECOND: u64 = 1_000_000;

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

    /// When to look again, so that the floor is not far behind by then.
    pub(super) fn next_look(self, floor: Room) -> Duration {
        let time =
            |left: u64, per_second: u64| Duration::from_micros(left.saturating_mul(1_000) / (per_second / 1_000));
        let bytes = time(self.bytes.saturating_sub(floor.bytes), BYTES_PER_SECOND);
        let files = self.files.zip(floor.files).map(|(now, least)| time(now.saturating_sub(least), FILES_PER_SECOND));
        files.map_or(bytes, |files| files.min(bytes)).clamp(LOOK_SOON, LOOK_EVERY)
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

/// When to look again, or `None` if one of them is nearly full.
pub(super) fn look(disks: &[Disk]) -> Option<Duration> {
    let mut next = LOOK_EVERY;
    for disk in disks {
        // One that cannot be asked any more is not written to either.
        let Ok(room) = sys::room(&disk.place) else { continue };
        if room.is_below(disk.floor) {
            return None;
        }
        next = next.min(room.next_look(disk.floor));
    }
    Some(next)
}
