//! Drops what an apply replaced, once it can no longer be undone by the launcher's own record and clock. A text that
//! nobody else has is never dropped: it stays in the staging directory.

use crate::error::Doing;
use crate::ground::{self, Ground};
use crate::journal::{Fate, Journal};
use crate::permit::Granted;
use crate::stage::{self, Stage};
use crate::{Error, durable};
use silas_core::ExecutionId;
use silas_core::changeset::FileState;
use silas_core::execution::ExecutionState;

pub(crate) fn forget(ground: &Ground, execution: &ExecutionId) -> Result<(), Error> {
    let memory = &ground.memory;
    let _lock = memory.lock(execution)?;
    let Some(mut record) = memory.record(execution)? else {
        return Err(Error::UndoClosed("the launcher knows of no such work".to_owned()));
    };
    match record.state {
        ExecutionState::Running => return Err(Error::Busy),
        ExecutionState::Applied if record.undo_until.is_some_and(|until| ground::now() < until) => {
            return Err(Error::UndoOpen);
        }
        ExecutionState::Applied => {}
        ExecutionState::Ended | ExecutionState::Undone => return Ok(()),
    }
    let _turn = memory.turn_to_apply()?;
    if let Some(journal) = Journal::load(&memory.journal(execution))? {
        let granted = Granted::at(&record.place)?;
        let name = stage::name(execution);
        if granted.dir.stat(name.as_bytes()).doing(|| format!("Looking for {name}"))?.is_some() {
            Stage::open(&granted.dir, execution)?.clear(&granted.dir, execution, &removable(&journal))?;
        }
    }
    record.is_forgotten = true;
    memory.update(execution, &record)?;
    durable::remove(&memory.journal(execution)).doing(|| "Removing a journal that has served".to_owned())
}

/// Exactly what was there before, or what Silas had staged and could not apply. Anything else is somebody's.
fn removable(journal: &Journal) -> Vec<(String, FileState)> {
    let state = |(op, fate): (&crate::journal::Op, Fate)| {
        let state = match fate {
            Fate::InPlace => op.there.clone(),
            Fate::OwnersKept => None,
            Fate::NotApplied => op.staged.clone(),
        };
        Some((op.stage.clone(), state?))
    };
    journal.ended().filter_map(state).collect()
}
