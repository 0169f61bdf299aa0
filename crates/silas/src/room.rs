//! How much room a disk has, in words: a full one is named, not guessed at from a failure.

use std::path::Path;

/// Below this it is worth a word: a private copy of a middling repository does not fit any more.
pub(crate) const LOW_BYTES: u64 = 500 << 20;
/// Below this the databases themselves may fail.
pub(crate) const BAD_BYTES: u64 = 20 << 20;

/// What this account can still write there; `None` where the system does not say.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// "3.4 GB", "12.0 MB".
pub(crate) fn in_words(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{}.{} GB", bytes / 1_000_000_000, bytes % 1_000_000_000 / 100_000_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// What is full, and how much is left.
pub(crate) fn full(path: &Path) -> String {
    let free = free_bytes(path).map_or_else(String::new, |free| format!(" {} are free.", in_words(free)));
    format!("The disk that holds {} is full.{free}", path.display())
}
