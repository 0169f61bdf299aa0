//! Clears away what an apply replaced, once it can no longer be undone by the launcher's own record and clock; a copy of it
//! is kept for plans that put it back ([`crate::kept`]). A text that
//! nobody else has is never dropped: it stays in the staging directory.

use crate::clock;
use crate::error::Doing;
use crate::ground::Ground;
use crate::journal::{Fate, Journal};
use crate::permit::Granted;
use crate::{Error, durable, kept, stage};
use silas_core::ExecutionId;
use silas_core::changeset::FileState;
use silas_core::execution::ExecutionState;

/// Clears away whatever can no longer be undone. Whoever cannot be asked now, or fails, is asked at the next start.
pub(crate) fn forget_over(ground: &Ground) -> Result<(), Error> {
    let now = clock::now();
    for execution in ground.memory.with_journal()? {
        let Some(record) = ground.memory.record(&execution)? else { continue };
        let is_over = record.undo_until.is_some_and(|until| now >= until);
        if record.state == ExecutionState::Applied && is_over && !record.is_forgotten {
            let _ = forget(ground, &execution);
        }
    }
    Ok(())
}

pub(crate) fn forget(ground: &Ground, execution: &ExecutionId) -> Result<(), Error> {
    let memory = &ground.memory;
    let _lock = memory.lock(execution)?;
    let Some(mut record) = memory.record(execution)? else {
        return Err(Error::UndoClosed("the launcher knows of no such work".to_owned()));
    };
    match record.state {
        ExecutionState::Running | ExecutionState::Rehearsed => return Err(Error::Busy),
        ExecutionState::Applied if record.undo_until.is_some_and(|until| clock::now() < until) => {
            return Err(Error::UndoOpen);
        }
        ExecutionState::Applied => {}
        ExecutionState::Ended | ExecutionState::Undone => return Ok(()),
    }
    let _turn = memory.turn_to_apply()?;
    if let Some(journal) = Journal::load(&memory.journal(execution))? {
        let mut roots = Vec::with_capacity(record.places.len());
        for place in &record.places {
            roots.push(match Granted::at(place) {
                Ok(granted) => Some(granted.dir),
                // Whoever removed the directory, or put another in its place, has removed what was kept in it.
                Err(Error::Place { .. }) => None,
                Err(why) => return Err(why),
            });
        }
        kept::keep(ground, &journal, &roots)?;
        for (n, root) in roots.iter().enumerate() {
            if let Some(root) = root {
                stage::clear(root, execution, &removable(&journal, n))?;
            }
        }
    }
    record.is_forgotten = true;
    memory.update(execution, &record)?;
    durable::remove(&memory.journal(execution)).doing(|| "Removing a journal that has served".to_owned())
}

/// Exactly what was there before, or what Silas had staged and could not apply. Anything else is somebody's.
fn removable(journal: &Journal, root: usize) -> Vec<(String, FileState)> {
    let state = |(op, fate): (&crate::journal::Op, Fate)| {
        let state = match fate {
            Fate::InPlace => op.there.clone(),
            Fate::OwnersKept => None,
            Fate::NotApplied => op.staged.clone(),
        };
        Some((op.stage.clone(), state?))
    };
    let stayed = journal.ended().filter(|(op, _)| op.root == root).filter_map(state);
    stayed.chain(journal.between_steps(root)).collect()
}
