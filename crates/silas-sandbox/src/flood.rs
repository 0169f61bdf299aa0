//! What a flooded copy is spared: being read. The sizes of what counts are added up from outside before anything is hashed,
//! and a copy whose command was ended because the disk was nearly full is removed at once, unread. What git ignores is not
//! read either way, so there may be any amount of it.

use crate::cell::CellOutcome;
use crate::dir::{Dir, Kind, Stat};
use crate::extent::{Extent, MadeBy};
use crate::lifeline::Lifeline;
use crate::private_copy::PrivateCopy;
use crate::workspace::{self, Ran};
use crate::{Error, tree};
use silas_core::relpath::RelPath;
use std::path::Path;

/// Whether what counts in this copy is small enough to be read. Takes as long as looking at names.
pub(crate) fn is_readable(copy: &PrivateCopy, lifeline: Lifeline<'_>) -> Result<(), Error> {
    let extent = Extent { made_by: MadeBy::Work, ..copy.extent(lifeline) };
    let (mut bytes, bytes_max) = (0_u64, extent.bounds.bytes_max);
    let mut visit = |_: &Dir, _: RelPath, stat: &Stat| {
        lifeline.holds()?;
        bytes = bytes.saturating_add(if stat.kind == Kind::File { stat.size } else { 0 });
        if bytes > bytes_max { Err(extent.too_much()) } else { Ok(()) }
    };
    tree::walk_by(copy.changed(), &extent, &mut visit, &mut |_, _, _| Ok(()))
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
