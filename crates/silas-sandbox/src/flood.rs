//! What a flooded copy is spared: being read. Sizes are added up from outside before anything is hashed, and a copy whose
//! command was ended because the disk was nearly full is removed at once, unread.

use crate::cell::CellOutcome;
use crate::extent::Bounds;
use crate::workspace::{self, Ran};
use crate::{Error, lifeline::Lifeline};
use silas_core::number::grouped;
use std::path::{Path, PathBuf};

/// Whether everything below a directory of ours is small enough to be read: not more than so many copies may hold. Takes as
/// long as looking at names.
pub(crate) fn is_readable(dir: &Path, n_copies: usize, bounds: Bounds, lifeline: Lifeline<'_>) -> Result<(), Error> {
    let bytes_max = bounds.bytes_max.saturating_mul(u64::try_from(n_copies).unwrap_or(u64::MAX));
    let (mut bytes, mut pending) = (0_u64, vec![PathBuf::from(dir)]);
    while let Some(dir) = pending.pop() {
        lifeline.holds()?;
        // What cannot be looked into is met again, and named, when it is read.
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => pending.push(entry.path()),
                Ok(found) if found.is_file() => bytes = bytes.saturating_add(found.len()),
                Ok(_) | Err(_) => {}
            }
        }
        if bytes > bytes_max {
            let mb = usize::try_from(bytes_max >> 20).unwrap_or(usize::MAX);
            return Err(Error::TooLarge(format!(
                "The private copy came to hold more than {} MB, so it was thrown away unread.",
                grouped(mb)
            )));
        }
    }
    Ok(())
}

/// Removes the copy if this run had to be ended because of it. Whether it was.
pub(crate) fn is_discarded(ran: &Ran, home: &Path) -> bool {
    let is_flooded = matches!(ran, Ran::Ended(outcome) if outcome.is_disk_nearly_full);
    if is_flooded {
        discard(home);
    }
    is_flooded
}

/// The same for a command without a plan.
pub(crate) fn is_thrown_away(outcome: &CellOutcome, home: &Path) -> bool {
    if outcome.is_disk_nearly_full {
        discard(home);
    }
    outcome.is_disk_nearly_full
}

fn discard(home: &Path) {
    // Recovery removes what cannot be removed now.
    let _ = workspace::remove(home);
}
