//! What a restored backup means for the launcher's memory, before any launcher is started on it.
//!
//! A backup carries which approvals were used, and no journals: those name files that were staged in the owner's
//! directories, which are as they are now and not as they were then. So nothing of that time is resumed, finished or
//! undone, and no directory is touched.

use crate::Error;
use crate::ground;
use crate::memory::Memory;
use silas_core::evidence::Anchor;
use silas_core::execution::ExecutionState;
use silas_core::{ExecutionId, Timestamp};
use std::path::Path;

/// Whether an apply or an undo was cut off in this data directory and waits for the next start to finish it.
pub fn has_unfinished(data_dir: &Path) -> Result<bool, Error> {
    let memory = Memory::open(&ground::launcher(data_dir))?;
    let is_unfinished = |(execution, record): &(_, crate::memory::Record)| match record.state {
        ExecutionState::Running | ExecutionState::Rehearsed => memory.journal(execution).exists(),
        ExecutionState::Applied => memory.undo_journal(execution).exists(),
        ExecutionState::Ended | ExecutionState::Undone => false,
    };
    Ok(memory.all()?.iter().any(is_unfinished))
}

/// Ends what was running when the backup was made, and closes what could still be undone then.
pub fn settle_restored(data_dir: &Path) -> Result<(), Error> {
    let memory = Memory::open(&ground::launcher(data_dir))?;
    for (execution, mut record) in memory.all()? {
        match record.state {
            // A backup carries no private copies, so nothing waits in one.
            ExecutionState::Running | ExecutionState::Rehearsed => record.state = ExecutionState::Ended,
            ExecutionState::Applied => record.is_forgotten = true,
            ExecutionState::Ended | ExecutionState::Undone => continue,
        }
        memory.update(&execution, &record)?;
    }
    Ok(())
}

/// Every approval that was used here, and when, as the launcher remembers it. The front cannot write this memory, so a
/// ledger that knows less than this was cut.
pub fn spent(data_dir: &Path) -> Result<Vec<(ExecutionId, Timestamp)>, Error> {
    let memory = Memory::open(&ground::launcher(data_dir))?;
    Ok(memory.all()?.into_iter().map(|(execution, record)| (execution, record.first_spent_at)).collect())
}

/// The files of the launcher's memory that a backup needs: one for each approval that was used.
pub const SPENT: &str = "launcher/spent";

/// The list of what is revoked, in a data directory. A backup needs it, and a restore must not go back behind it.
pub const REVOCATIONS: &str = "launcher/revocations.json";

/// Carries over what was revoked in the data directory that is being replaced, if it is the same installation and knows
/// more: bringing back old data must not bring back a device that was lost since.
pub fn keep_revocations(restored: &Path, replaced: &Path, anchor: &Anchor) -> Result<(), Error> {
    let known = Memory::open(&ground::launcher(replaced))?.revocations(anchor);
    // A list of another installation says nothing about this one.
    let Some(list) = known.ok().and_then(|known| known.list().cloned()) else { return Ok(()) };
    let memory = Memory::open(&ground::launcher(restored))?;
    if memory.revocations(anchor)?.number() < list.body.number {
        memory.adopt(list, anchor)?;
    }
    Ok(())
}
