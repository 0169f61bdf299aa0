//! What a loss of power could leave of a directory: a recording of a program, and any number of crash images made of it.
//!
//! ```text
//! let recording = Recording::start(dir, log, Syncing::Claimed)?;
//! recording.watch(&mut command);              // then run it: it and its children are recorded
//! let log = Log::read(log)?;
//! let crash = log.crash(seed, &image)?;       // `image` is what the disk held; `crash.marks` is what was said before
//! ```
//!
//! # The model
//!
//! *Strict where POSIX is silent, fair where ordinary file systems (ext4, XFS, btrfs, with barriers) agree.*
//!
//! - The power fails between two recorded operations. Operations before are candidates, later ones never happened.
//! - **Data.** What was written to a file before a sync of that file is there. Of what was written since, each write is
//!   kept, lost, or torn: each of its 512-byte sectors is there or not, independently. A sector is never half new. A sector
//!   that reached the disk holds everything that had been written to it until then, as it does when a page cache is
//!   written back: of two unsynced writes to one sector the later cannot survive the earlier.
//! - **Sizes** are metadata: truncations and extensions since the last sync survive in order, up to some point. A file that
//!   is longer than its surviving data reads as zeros there; data behind the surviving end is gone.
//! - **Names.** Creating, renaming, linking and removing survive in order for each directory, up to some point. Syncing
//!   the directory makes all of them durable. Syncing a new file or directory makes its creation durable, with what its
//!   parent saw before, as all of these file systems do; it does not make a later rename durable. A rename is atomic, also
//!   between two directories and over a file that is replaced.
//! - Different files and directories are independent of each other. A journal would order them; nobody may rely on it.
//!
//! # What it leaves out
//!
//! What a failed sync did to the cache (some kernels drop what they could not write and report success the next time; here
//! a later sync makes up for it); disks that lie about flushing or lose what was synced; sectors that go bad or hold garbage; stale content of reused blocks
//! (file systems that do not journal or order data show it after a lost extension; here it is zeros); permissions, owners,
//! times; stores through shared mappings, which are refused as a blind spot except in SQLite's `-shm` file, which is
//! rebuilt after a crash; and whatever does not go through the C library, which [`Log::compare`] finds out.

mod chance;
mod disk;
mod error;
#[allow(dead_code, reason = "the other half of it is used by the recorder")]
mod format;
mod image;
mod log;
mod recording;

pub use chance::Chance;
pub use error::Error;
pub use image::Crash;
pub use log::Log;
pub use recording::{Fault, On, Recording, Syncing};
