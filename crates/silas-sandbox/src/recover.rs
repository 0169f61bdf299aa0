//! After a crash: finishes what was committed, removes what was not, and tells what is now true.
//!
//! Running it again, or being killed inside it, changes nothing about the outcome.

use crate::clock;
use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::Ground;
use crate::journal::Journal;
use crate::memory::Record;
use crate::permit::Granted;
use crate::waiting::{self, Waiting};
use crate::{Error, KeptText, Recovered, Waits, apply, forget, merges, removal, stage, undo};
use silas_core::ExecutionId;
use silas_core::execution::ExecutionState;
use std::time::Duration;

/// Whoever was away longer than this reads the ledger; the answer stays small.
const TOLD_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

pub(crate) fn recover(ground: &Ground) -> Result<Vec<Recovered>, Error> {
    let mut told = Vec::new();
    for (execution, record) in ground.memory.all()? {
        if !record.is_work() {
            continue;
        }
        let result = one(ground, &execution);
        let record = ground.memory.record(&execution)?.unwrap_or(record);
        let is_old = clock::now().since(record.first_spent_at) > TOLD_FOR;
        let is_settled = match record.state {
            ExecutionState::Running | ExecutionState::Rehearsed => false,
            ExecutionState::Applied => record.is_forgotten,
            ExecutionState::Ended | ExecutionState::Undone => true,
        };
        if is_old && is_settled && result.is_ok() {
            continue;
        }
        told.push(tell(ground, execution, &record, result)?);
    }
    forget::forget_over(ground)?;
    remove_orphans(ground)?;
    merges::prune(&ground.memory)?;
    ground.memory.forget_settled(clock::now())?;
    ground.memory.forget_steps(clock::now());
    Ok(told)
}

fn tell(
    ground: &Ground,
    execution: ExecutionId,
    record: &Record,
    result: Result<Vec<KeptText>, Error>,
) -> Result<Recovered, Error> {
    let (conflicts, problem) = match result {
        Ok(conflicts) => (conflicts, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    let waits = match record.state {
        ExecutionState::Rehearsed => Waiting::load(&ground.memory, &execution)?.map(|waiting| Waits {
            changeset: waiting.changeset,
            files: record.files,
            findings: waiting.findings,
            until: waiting.until,
        }),
        ExecutionState::Running | ExecutionState::Applied | ExecutionState::Ended | ExecutionState::Undone => None,
    };
    Ok(Recovered {
        execution,
        state: record.state,
        waits,
        changeset: record.changeset,
        files: record.files,
        undo_until: record.undo_until,
        conflicts,
        problem,
    })
}

fn one(ground: &Ground, execution: &ExecutionId) -> Result<Vec<KeptText>, Error> {
    let memory = &ground.memory;
    let _lock = memory.lock_soon(execution)?;
    let Some(record) = memory.record(execution)? else { return Ok(Vec::new()) };
    let journal = Journal::load(&memory.journal(execution))?;
    let undo_journal = Journal::load(&memory.undo_journal(execution))?;
    match (record.state, journal, undo_journal) {
        (ExecutionState::Undone, Some(_), _) | (ExecutionState::Undone, _, Some(_)) => {
            undo::drop_journals(ground, execution)?;
            Ok(Vec::new())
        }
        (ExecutionState::Applied, _, Some(committed)) => {
            let _turn = memory.turn_to_apply()?;
            let (granted, applied) = undo::verify(ground, &committed)?;
            Ok(undo::finish(ground, committed, &applied, &granted)?.conflicts)
        }
        (ExecutionState::Running | ExecutionState::Rehearsed, Some(committed), _) => {
            let _turn = memory.turn_to_apply()?;
            let roots = apply::verify(ground, &committed)?;
            let granted: Vec<&Granted> = roots.iter().map(|root| &root.granted).collect();
            Ok(apply::finish(ground, committed, &granted)?.conflicts)
        }
        (ExecutionState::Rehearsed, None, _) => {
            remove_stages(execution, &record)?;
            if waiting::is_over(memory, execution)? {
                waiting::end(memory, execution)?;
            }
            Ok(Vec::new())
        }
        (ExecutionState::Running | ExecutionState::Ended, None, _) => {
            waiting::forget(memory, execution)?;
            remove_stages(execution, &record)?;
            Ok(Vec::new())
        }
        (ExecutionState::Applied, Some(journal), None) => Ok(journal.conflicts()),
        (ExecutionState::Applied | ExecutionState::Ended | ExecutionState::Undone, _, _) => Ok(Vec::new()),
    }
}

/// What an apply had staged before it was committed. A directory that is no longer there holds nothing of ours.
fn remove_stages(execution: &ExecutionId, record: &Record) -> Result<(), Error> {
    for granted in record.places.iter().filter_map(|place| Granted::at(place).ok()) {
        stage::remove(&granted.dir, execution)?;
    }
    Ok(())
}

/// Copies of work that nobody is at, and that wait for nobody.
fn remove_orphans(ground: &Ground) -> Result<(), Error> {
    let doing = || "Removing copies that are left over".to_owned();
    let works = Dir::open(&ground.memory.works()).doing(doing)?;
    for name in works.names(usize::MAX).doing(doing)? {
        let execution = String::from_utf8_lossy(&name);
        let Ok(execution) = ExecutionId::parse(&execution) else { continue };
        let Ok(_lock) = ground.memory.lock(&execution) else { continue };
        let waits = ground.memory.record(&execution)?.is_some_and(|record| record.state == ExecutionState::Rehearsed);
        if !waits {
            removal::tree(&works, &name).doing(doing)?;
        }
    }
    Ok(())
}
