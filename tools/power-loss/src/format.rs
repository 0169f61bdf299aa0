//! The log as bytes: one header page that all recorded processes share, then records one after another.
//!
//! Compiled into the recorder and into the library, which cannot depend on each other: the recorder's functions would take
//! the place of the C library's in whatever links them.
//!
//! A record is `len u32, kind u32, a u64, b u64, c u64, first_len u32, first, second`; `len` counts all of it. What the
//! fields mean is said at each kind. Numbers are little-endian.

/// Where the records begin. The page before is mapped and changed by every recorded process.
pub(crate) const HEADER_BYTES: usize = 4096;
pub(crate) const MAGIC: u64 = 0x3130_474f_4c52_5750;
pub(crate) const AT_MAGIC: usize = 0;
/// Thread id of whoever appends, 0 if nobody; a futex.
pub(crate) const AT_LOCK: usize = 8;
/// Bytes of records. Moved after a record is complete, so a process killed in the middle leaves no half of one.
pub(crate) const AT_USED: usize = 16;
/// Writes and syncs so far, by which faults are timed.
pub(crate) const AT_WRITES: usize = 24;
pub(crate) const AT_SYNCS: usize = 32;
/// Not 0 once a record did not fit: the log is worthless then.
pub(crate) const AT_OVERFLOW: usize = 40;
/// Inode of the directory that is watched.
pub(crate) const AT_ROOT: usize = 48;

pub(crate) const RECORD_HEAD_BYTES: usize = 36;

/// Absolute path of the log. Without it the recorder does nothing.
pub(crate) const ENV_LOG: &str = "POWER_LOSS_LOG";
/// Absolute path without symbolic links; what lies beneath is recorded.
pub(crate) const ENV_DIR: &str = "POWER_LOSS_DIR";
/// Absolute paths beneath it, joined by colons, where nothing is recorded; may be missing.
pub(crate) const ENV_EXCEPT: &str = "POWER_LOSS_EXCEPT";
/// Absolute path of a file outside; every write to it becomes a mark in the log.
pub(crate) const ENV_MARKS: &str = "POWER_LOSS_MARKS";
/// `real`, `claimed` or `off`.
pub(crate) const ENV_SYNC: &str = "POWER_LOSS_SYNC";
/// `write FROM UNTIL ERRNO` or `sync FROM UNTIL ERRNO`, counted from 0; `UNTIL` is not included.
pub(crate) const ENV_FAULT: &str = "POWER_LOSS_FAULT";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A new file, directory or symbolic link: a = parent (0: none yet), b = inode, c = mode; name, link target.
    Create = 1,
    /// a = inode, b = offset; data.
    Write = 2,
    /// a = inode, b = size.
    Truncate = 3,
    /// a = parent before, b = parent after, c = flags; name before, name after.
    Rename = 4,
    /// A further name: a = parent, b = inode; name.
    Link = 5,
    /// File or directory: a = parent; name.
    Unlink = 6,
    /// a = inode.
    Sync = 7,
    /// Everything beneath the directory.
    SyncAll = 8,
    /// The recorded program says something; text.
    Mark = 9,
    /// Something may change without being recorded: a = inode; path, how.
    Blind = 10,
    /// A sync that was made to fail: a = inode; path.
    FailedSync = 11,
}
