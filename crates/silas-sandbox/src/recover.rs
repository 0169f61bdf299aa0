//! After a crash: finishes what was committed or takes it back, removes what was not, and tells what is now true.
//!
//! Nothing is moved for work that somebody was told has ended: that stays as it was told.
//!
//! Running it again, or being killed inside it, changes nothing about the outcome.

use crate::apply::Aim;
use crate::clock;
use crate::dir::Dir;
use crate::error::Doing;
use crate::ground::Ground;
use crate::journal::Journal;
use crate::memory::Record;
use crate::permit::Granted;
use crate::waiting::{self, Waiting};
use crate::{Error, InPart, KeptText, Recovered, Waits, apply, forget, merges, removal, stage, undo};
use silas_core::ExecutionId;
use silas_core::execution::ExecutionState;
use std::time::Duration;

/// Whoever was away longer than this reads the ledger; the answer stays small.
const TOLD_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

pub(crate) fn recover(ground: &Ground, held: Option<&[ExecutionId]>) -> Result<Vec<Recovered>, Error> {
    let mut told = Vec::new();
    for (execution, record) in ground.memory.all()? {
        if !record.is_work() {
            continue;
        }
        let result = one(ground, &execution, held);
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
    result: Result<Found, Error>,
) -> Result<Recovered, Error> {
    let (found, problem) = match result {
        Ok(found) => (found, None),
        Err(problem) => (Found::default(), Some(problem)),
    };
    let memory = &ground.memory;
    let is_begun = match record.state {
        ExecutionState::Running | ExecutionState::Rehearsed => memory.journal(&execution).exists(),
        ExecutionState::Applied => memory.undo_journal(&execution).exists(),
        ExecutionState::Ended | ExecutionState::Undone => false,
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
        conflicts: found.conflicts,
        in_part: found.in_part,
        taken_back: found.taken_back,
        is_open: is_begun,
        problem,
    })
}

/// What was found of one execution, or came of finishing it.
#[derive(Default)]
struct Found {
    conflicts: Vec<KeptText>,
    in_part: Option<InPart>,
    taken_back: Option<Error>,
}

impl Found {
    fn applied(journal: &Journal) -> Self {
        Found { conflicts: journal.conflicts(), in_part: journal.in_part(), taken_back: None }
    }

    /// What an error means that comes after a commit point: it went back, unless nobody knows how far it came.
    fn went_back(why: Error) -> Result<Self, Error> {
        match why {
            why @ Error::Unfinished { .. } => Err(why),
            why => Ok(Found { taken_back: Some(why), ..Found::default() }),
        }
    }
}

fn one(ground: &Ground, execution: &ExecutionId, held: Option<&[ExecutionId]>) -> Result<Found, Error> {
    let memory = &ground.memory;
    let _lock = memory.lock_soon(execution)?;
    let Some(record) = memory.record(execution)? else { return Ok(Found::default()) };
    let journal = Journal::load(&memory.journal(execution))?;
    let undo_journal = Journal::load(&memory.undo_journal(execution))?;
    match (record.state, journal, undo_journal) {
        (ExecutionState::Undone, Some(_), _) | (ExecutionState::Undone, _, Some(_)) => {
            undo::drop_journals(ground, execution)?;
            Ok(Found::default())
        }
        (ExecutionState::Applied, Some(journal), Some(committed)) if !is_held(&committed, held) => {
            Ok(Found::applied(&journal))
        }
        (ExecutionState::Applied, _, Some(committed)) => {
            let _turn = memory.turn_to_apply()?;
            let (granted, applied) = undo::verify(ground, &committed)?;
            match undo::finish(ground, committed, applied, &granted) {
                Ok(undone) => Ok(Found { conflicts: undone.conflicts, ..Found::default() }),
                Err(why) => {
                    let applied = Journal::load(&memory.journal(execution))?;
                    let found = applied.as_ref().map(Found::applied).unwrap_or_default();
                    Ok(Found { taken_back: Found::went_back(why)?.taken_back, ..found })
                }
            }
        }
        (ExecutionState::Running | ExecutionState::Rehearsed, Some(committed), _) if !is_held(&committed, held) => {
            Ok(Found::default())
        }
        (ExecutionState::Running | ExecutionState::Rehearsed, Some(committed), _) => {
            let _turn = memory.turn_to_apply()?;
            let roots = apply::verify(ground, &committed)?;
            let granted: Vec<&Granted> = roots.iter().map(|root| &root.granted).collect();
            let aim = match apply::still_counts(ground, &committed.evidence) {
                Ok(()) => Aim::Forward,
                Err(_) => Aim::Back,
            };
            match apply::finish(ground, committed, &granted, aim) {
                Ok(applied) => Ok(Found { conflicts: applied.conflicts, in_part: applied.in_part, taken_back: None }),
                Err(why) => Found::went_back(why),
            }
        }
        (ExecutionState::Rehearsed, None, _) => {
            remove_stages(execution, &record)?;
            if waiting::is_over(memory, execution)? {
                waiting::end(memory, execution)?;
            }
            Ok(Found::default())
        }
        (ExecutionState::Running | ExecutionState::Ended, None, _) => {
            waiting::forget(memory, execution)?;
            remove_stages(execution, &record)?;
            Ok(Found::default())
        }
        (ExecutionState::Applied, Some(journal), None) => Ok(Found::applied(&journal)),
        (ExecutionState::Applied | ExecutionState::Ended | ExecutionState::Undone, _, _) => Ok(Found::default()),
    }
}

/// Whether whoever asks still has it under way. The spending of the decision that a journal is about is what counts.
fn is_held(journal: &Journal, held: Option<&[ExecutionId]>) -> bool {
    held.is_none_or(|held| held.contains(&journal.evidence.execution))
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
