//! Whether somebody has changed what an undo would put back, and how the two texts differ.
//!
//! It only looks, only while the undo is open, and only where the owner still allows plans. The undo itself does not rely on
//! it: that looks again and refuses by name ([`crate::undo`]).

use crate::clock;
use crate::diff::{self, Room, Side};
use crate::error::Doing;
use crate::ground::Ground;
use crate::journal::{Fate, Journal, Op};
use crate::memory::Record;
use crate::observe::{self, Seen};
use crate::permit::Granted;
use crate::stage::{self, Site};
use crate::{Error, commits};
use silas_core::ExecutionId;
use silas_core::changeset::FileDiff;
use silas_core::evidence;
use silas_core::execution::ExecutionState;
use silas_core::relpath::RelPath;

/// Edited files that are shown; one is enough to know that an undo would overwrite something.
const EDITS_MAX: usize = 20;
/// Files that are looked at, and their sizes together: this is asked again and again while somebody looks at a card. What
/// lies beyond is found by the undo itself.
const FILES_MAX: usize = 500;
const BYTES_MAX: u64 = 32 << 20;

/// What is there now against what the undo would put there, for each file that somebody has changed since.
pub(crate) fn find(ground: &Ground, execution: &ExecutionId) -> Result<Vec<FileDiff>, Error> {
    let memory = &ground.memory;
    let record = memory.record(execution)?.filter(|record| record.is_work() && is_open(record));
    let journal = Journal::load(&memory.journal(execution))?.filter(|journal| journal.fates.is_some());
    let (Some(record), Some(applied)) = (record, journal) else {
        return Err(Error::UndoClosed("there is nothing to undo any more".to_owned()));
    };
    let paths = applied.places.iter().map(|place| place.path.as_str());
    evidence::verify_roots(&applied.evidence, paths, &ground.anchor, &memory.revocations(&ground.anchor)?)?;
    let granted = Granted::all(&record.places)?;
    let sites = stage::open_all(&granted.iter().collect::<Vec<_>>(), execution)?;
    let (mut edits, mut bytes) = (Vec::new(), 0u64);
    let in_place =
        applied.ended().filter(|(op, fate)| *fate != Fate::NotApplied && !commits::is_in_repository(&op.path));
    for (op, _) in in_place.take(FILES_MAX) {
        let Some(site) = sites.get(op.root) else { continue };
        bytes = bytes.saturating_add(size_of(site, op)?);
        if bytes > BYTES_MAX || edits.len() >= EDITS_MAX {
            break;
        }
        let directory = match applied.places.as_slice() {
            [_] => String::new(),
            places => places.get(op.root).map_or_else(String::new, |place| place.path.clone()),
        };
        edits.extend(edit_of(site, op, directory)?);
    }
    Ok(edits)
}

fn is_open(record: &Record) -> bool {
    let is_in_time = record.undo_until.is_some_and(|until| clock::now() < until);
    record.state == ExecutionState::Applied && !record.is_forgotten && is_in_time
}

fn size_of(site: &Site<'_>, op: &Op) -> Result<u64, Error> {
    let doing = || format!("Looking at {}", op.path);
    match site.root.parent_of(&op.path) {
        Ok((parent, name)) => Ok(parent.stat(name).doing(doing)?.map_or(0, |stat| stat.size)),
        Err(e) if observe::leads_nowhere(&e) => Ok(0),
        Err(e) => Err(e).doing(doing),
    }
}

fn edit_of(site: &Site<'_>, op: &Op, directory: String) -> Result<Option<FileDiff>, Error> {
    let doing = || format!("Looking at {}", op.path);
    let now = observe::path_below(site.root, &op.path).doing(doing)?;
    if now.is(&op.staged) {
        return Ok(None);
    }
    let odd = |_| Error::Damaged("a staged file with an unusual name".to_owned());
    let kept = RelPath::from_bytes(op.stage.as_bytes()).map_err(odd)?;
    let is_readable = now != Seen::Other;
    let now = now.state();
    let now = Side { root: site.root, path: &op.path, state: now.as_ref(), kept: None };
    let then = Side { root: &site.stage.dir, path: &kept, state: op.there.as_ref(), kept: None };
    let shown = diff::between(directory, &op.path, &now, &then, &mut Room::for_one())?;
    Ok(Some(if is_readable { shown } else { FileDiff { lines: None, added: 0, removed: 0, ..shown } }))
}
